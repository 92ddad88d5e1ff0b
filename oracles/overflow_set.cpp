#include "oracles/overflow_set.hpp"

#include <algorithm>

namespace assay {
namespace {

/// Covers the roundings of an end point and of what is compared with it.
double outwards(double x, double sign) {
  return std::isfinite(x) ? x + sign * (std::fabs(x) * 0x1p-50 + 0x1p-1074) : x;
}

}  // namespace

void OverflowSet::join(const OverflowSet& other) {
  low = std::min(low, other.low);
  high = std::max(high, other.high);
  up |= other.up;
  down |= other.down;
  nan |= other.nan;
}

void OverflowSet::add_term(const OverflowSet& term) {
  if (term.reals() || term.empty() || empty()) return;
  if (reals()) (term.up ? up : term.down ? down : nan) = true;
  low = HUGE_VAL;
  high = -HUGE_VAL;
  nan |= term.nan || (term.up && down) || (term.down && up);
  up &= term.up;
  down &= term.down;
}

OverflowSet set_of(double v, double e, double lo, double hi) {
  OverflowSet set;
  if (std::isnan(lo) || std::isnan(hi) || std::isnan(e)) return OverflowSet::anything();
  if (std::isnan(v)) {
    set.nan = true;
  } else if (std::isinf(v)) {
    (v > 0 ? set.up : set.down) = true;
  } else {
    // An infinite error and one infinite end: the other is a limit of both (rows.hpp, vast_limit).
    const bool limited = std::isinf(e) && std::isinf(lo) != std::isinf(hi);
    const double known = limited ? 0 : e;
    set.low = known + lo == 0 ? v : outwards(v - (known + lo), -1);
    set.high = known + hi == 0 ? v : outwards(v + (known + hi), 1);
    set.up = std::isinf(set.high);
    set.down = std::isinf(set.low);
    set.nan = set.up && set.down;
  }
  return set;
}

OverflowSet overflow_of(double v, double e, Deviations plain, Deviations wide, bool sums) {
  OverflowSet set;
  if (std::isnan(wide.lo) || std::isnan(wide.hi)) {
    if (!sums || std::isnan(plain.lo) || std::isnan(plain.hi)) return OverflowSet::anything();
    set.up = set.down = set.nan = true;
    return set;
  }
  if (std::isnan(v)) return set;  // NaN it stays
  set.up = std::isinf(wide.hi);
  set.down = std::isinf(wide.lo);
  set.nan = set.up && set.down;
  const bool farther = (!set.up && wide.hi > plain.hi) || (!set.down && wide.lo > plain.lo);
  if (farther) set.join(set_of(v, e, set.down ? plain.lo : wide.lo, set.up ? plain.hi : wide.hi));
  return set;
}

bool holds(const OverflowSet& set, DType type, const Cell& cell, bool saturates) {
  const FloatFormat format = format_of(type);
  const double threshold = format.largest * (1 - 2 * format.unit_roundoff());
  const bool beyond = set.up || set.high >= threshold;
  const bool below = set.down || set.low <= -threshold;
  const double got = cell.value;
  if (std::isnan(got)) return set.nan || (!format.has_infinity && !saturates && (beyond || below));
  if (std::isinf(got)) return got > 0 ? beyond : below;
  if (saturates && std::fabs(got) == format.largest && (got > 0 ? beyond : below)) return true;
  return set.reals() && outwards(got + cell.above, 1) >= set.low &&
         outwards(got - cell.below, -1) <= set.high;
}

}  // namespace assay
