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
  told |= other.told;
}

OverflowSet OverflowSet::negated() const {
  OverflowSet out{-high, -low, down, up, nan};
  if (tells(kUp)) out.told |= kDown;
  if (tells(kDown)) out.told |= kUp;
  out.told |= told & kNan;
  return out;
}

void OverflowSet::add_term(const OverflowSet& term) {
  if (term.reals() || term.empty() || empty()) return;
  if (reals()) {
    (term.up ? up : term.down ? down : nan) = true;
    told |= term.told & (term.up ? kUp : term.down ? kDown : kNan);
  }
  low = HUGE_VAL;
  high = -HUGE_VAL;
  if (term.nan) add_nan(term.tells(kNan));
  if (term.up && down) add_nan(term.tells(kUp) && tells(kDown));
  if (term.down && up) add_nan(term.tells(kDown) && tells(kUp));
  up &= term.up;
  down &= term.down;
  if (!up) told &= ~kUp;
  if (!down) told &= ~kDown;
}

OverflowSet set_of(double v, double e, double lo, double hi) {
  OverflowSet set;
  if (std::isnan(lo) || std::isnan(hi) || std::isnan(e)) return OverflowSet::anything();
  if (std::isnan(v)) {
    set.add_nan(true);
  } else if (std::isinf(v)) {
    (v > 0 ? set.up : set.down) = true;
    set.told = v > 0 ? OverflowSet::kUp : OverflowSet::kDown;
  } else {
    // An infinite error and one infinite end: the other is a limit of both (rows.hpp, vast_limit).
    const bool limited = std::isinf(e) && std::isinf(lo) != std::isinf(hi);
    const double known = limited ? 0 : e;
    set.low = known + lo == 0 ? v : outwards(v - (known + lo), -1);
    set.high = known + hi == 0 ? v : outwards(v + (known + hi), 1);
    set.up = std::isinf(set.high);
    set.down = std::isinf(set.low);
    set.nan = set.up && set.down;
    if (limited) set.told = set.up ? OverflowSet::kUp : OverflowSet::kDown;
  }
  return set;
}

OverflowSet overflow_of(double v, double e, Deviations plain, Deviations wide, bool sums) {
  OverflowSet set;
  if (std::isnan(wide.lo) || std::isnan(wide.hi)) {
    if (!sums || std::isnan(plain.lo) || std::isnan(plain.hi)) return OverflowSet::anything();
    set.up = set.down = set.nan = true;
    set.told = OverflowSet::kUp | OverflowSet::kDown | OverflowSet::kNan;
    return set;
  }
  if (std::isnan(v)) return set;  // NaN it stays
  set.up = std::isinf(wide.hi);
  set.down = std::isinf(wide.lo);
  set.nan = set.up && set.down;
  const bool one_way = set.up != set.down && (is_well_known(v, e) || std::isinf(e));
  if (set.up && (sums || one_way)) set.told |= OverflowSet::kUp;
  if (set.down && (sums || one_way)) set.told |= OverflowSet::kDown;
  if (set.nan && sums) set.told |= OverflowSet::kNan;
  const bool farther = (!set.up && wide.hi > plain.hi) || (!set.down && wide.lo > plain.lo);
  if (farther) set.join(set_of(v, e, set.down ? plain.lo : wide.lo, set.up ? plain.hi : wide.hi));
  return set;
}

bool tells_alone(const OverflowSet& set, const Cell& cell, double v, double e) {
  if (is_well_known(v, e)) return true;
  if (std::isnan(cell.value)) return set.tells(OverflowSet::kNan);
  return std::isinf(cell.value) &&
         set.tells(cell.value > 0 ? OverflowSet::kUp : OverflowSet::kDown);
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
