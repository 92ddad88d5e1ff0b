// What a correct kernel's element may hold once some operation of the declared form has overflowed:
// not all that lies between the exact value and infinity (docs/judging/overflow.md, rule R7).
#pragma once

#include <cmath>

#include "oracles/accept.hpp"

namespace assay {

/// The reals of one interval, infinities, NaN: each of them, or none.
struct OverflowSet {
  double low = HUGE_VAL;  ///< above `high`: no real; an infinite end: without limit
  double high = -HUGE_VAL;
  bool up = false;
  bool down = false;
  bool nan = false;

  static OverflowSet anything() { return {-HUGE_VAL, HUGE_VAL, true, true, true}; }
  bool reals() const { return low <= high; }
  bool empty() const { return !reals() && !up && !down && !nan; }
  void join(const OverflowSet& other);
  /// This is what a sum with this term may be: an infinite term leaves that infinity or NaN.
  void add_term(const OverflowSet& term);
  OverflowSet negated() const { return {-high, -low, down, up, nan}; }
};

/// One element of a node's arrays: v within e of the exact value, which a correct kernel's is at
/// most lo below and hi above. An infinite end holds that infinity and every real up to it.
OverflowSet set_of(double v, double e, double lo, double hi);

/// What an operation adds where it overflows: the infinity of each end that is infinite in `wide`,
/// the widened reading of an element that the plain one has as `plain`, and what `wide` has
/// besides. `sums`: where only `wide` has no bound, partial sums may overflow both ways, and
/// nothing finite follows from that.
struct Deviations {
  double lo = 0;
  double hi = 0;
};
OverflowSet overflow_of(double v, double e, Deviations plain, Deviations wide, bool sums);

/// The set tells alone. Of a number that the first tier barely knows (beyond double, divided by
/// such a one, or all but cancelled) its ends are no nearer than that, and the tiers above have to
/// agree. An exact NaN (e is 0) is known.
inline bool tells_alone(double v, double e) { return e == 0 || e <= std::fabs(v) * 0x1p-20; }

/// Some member rounds to what the kernel wrote.
bool holds(const OverflowSet& set, DType type, const Cell& cell, bool saturates);

}  // namespace assay
