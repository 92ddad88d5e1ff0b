// What a correct kernel's element may hold once some operation of the declared form has overflowed:
// not all that lies between the exact value and infinity (docs/judging/overflow.md, rule R7).
#pragma once

#include <cmath>
#include <cstdint>

#include "oracles/accept.hpp"

namespace assay {

/// The reals of one interval, infinities, NaN: each of them, or none.
struct OverflowSet {
  double low = HUGE_VAL;  ///< above `high`: no real; an infinite end: without limit
  double high = -HUGE_VAL;
  bool up = false;
  bool down = false;
  bool nan = false;
  /// Bits of Told: which of the flags follow from overflows themselves. Others stand for what the
  /// first tier does not know of the exact value.
  uint8_t told = 0;

  enum Told : uint8_t { kUp = 1, kDown = 2, kNan = 4 };
  static OverflowSet anything() { return {-HUGE_VAL, HUGE_VAL, true, true, true}; }
  bool reals() const { return low <= high; }
  bool empty() const { return !reals() && !up && !down && !nan; }
  void join(const OverflowSet& other);
  /// This is what a sum with this term may be: an infinite term leaves that infinity or NaN.
  void add_term(const OverflowSet& term);
  OverflowSet negated() const;
  OverflowSet flags() const { return {HUGE_VAL, -HUGE_VAL, up, down, nan, told}; }
  void add_nan(bool follows) {
    nan = true;
    if (follows) told |= kNan;
  }
  bool tells(Told flag) const { return (told & flag) != 0; }
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

/// The first tier knows the exact value: the set tells alone. Of another (beyond double, divided by
/// such a one, or all but cancelled) the set's ends are no nearer than what is known, and the tiers
/// above have to agree. An exact NaN (e is 0) is known.
inline bool is_well_known(double v, double e) { return e == 0 || e <= std::fabs(v) * 0x1p-20; }

/// The same, or what the kernel wrote is an infinity or NaN that follows from overflows whatever
/// the exact value is, as NaN does of `exp(x) - exp(z)`.
bool tells_alone(const OverflowSet& set, const Cell& cell, double v, double e);

/// Some member rounds to what the kernel wrote.
bool holds(const OverflowSet& set, DType type, const Cell& cell, bool saturates);

}  // namespace assay
