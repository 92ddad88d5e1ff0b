// The error of each element, counted; and where a function breaks its own direction.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "fuzz/exhaust.hpp"

namespace assay {

namespace {

/// The exact values rise and the outputs fall, or the reverse.
bool is_break(DType type, const InputPoint& lower, const InputPoint& upper) {
  const double rise = upper.exact - lower.exact;
  const double got_rise = value_of(type, upper.got_bits) - value_of(type, lower.got_bits);
  const double unit =
      is_floating(type) ? std::max(ulp(type, lower.exact), ulp(type, upper.exact)) : 1;
  if (!(std::fabs(rise) > 2 * kObservedUlps * unit)) return false;  // its direction is not known
  return rise > 0 ? got_rise < 0 : got_rise > 0;
}

}  // namespace

double value_of(DType type, uint64_t bits) {
  return is_floating(type) ? to_double(type, bits) : static_cast<double>(to_integer(type, bits));
}

void count_error(ErrorStats& stats, const InputPoint& point, bool bounded) {
  const bool floating = is_floating(stats.type);
  const double got = value_of(stats.type, point.got_bits);
  const double exact = point.exact;
  bool rounded = floating ? round_to_bits(stats.type, exact) == point.got_bits : got == exact;
  if (floating && got == 0 && value_of(stats.type, round_to_bits(stats.type, exact)) == 0) {
    rounded = true;  // of either sign
  }
  const bool comparable = std::isfinite(got) && std::isfinite(exact);
  double error = 0;
  if (comparable) {
    error = std::fabs(got - exact) / (floating ? ulp(stats.type, exact) : 1);
    // The exact value is known to a fraction of an ulp: a tie stays half of one.
    if (rounded) error = std::min(error, 0.5);
  }
  if (!bounded) {
    ++stats.no_bound;
    if (comparable && error > stats.max_unbounded_ulps) {
      stats.max_unbounded_ulps = error;
      stats.max_unbounded_at = point;
    }
    return;
  }
  if (!comparable) {
    const bool both_nan = std::isnan(got) && std::isnan(exact);
    ++(both_nan || got == exact || rounded ? stats.special : stats.incomparable);
    return;
  }
  stats.correctly_rounded += rounded || (!floating && error <= 0.5) ? 1 : 0;
  const auto edge = std::lower_bound(kErrorEdges.begin(), kErrorEdges.end(), error);
  ++stats.classes[static_cast<size_t>(edge - kErrorEdges.begin())];
  if (error > stats.max_ulps) {
    stats.max_ulps = error;
    stats.max_at = point;
  }
}

void find_breaks(DType operand, std::vector<InputPoint>& points, ErrorStats& stats) {
  const auto argument = [&](const InputPoint& point) { return value_of(operand, point.inputs[0]); };
  std::stable_sort(points.begin(), points.end(), [&](const InputPoint& a, const InputPoint& b) {
    return argument(a) < argument(b);
  });
  stats.ordered = true;
  const auto end_of_place = [&](auto at) {
    return std::find_if(at, points.end(),
                        [&](const InputPoint& point) { return argument(point) != argument(*at); });
  };
  for (auto place = points.begin(); place != points.end();) {
    const auto next = end_of_place(place);
    const auto last = next == points.end() ? next : end_of_place(next);
    for (auto lower = place; lower != next; ++lower) {
      for (auto upper = next; upper != last; ++upper) {
        if (!is_break(stats.type, *lower, *upper)) continue;
        ++stats.breaks;
        if (stats.first_breaks.size() < kBreaksShown)
          stats.first_breaks.push_back({*lower, *upper});
      }
    }
    place = next;
  }
}

std::string error_class_name(size_t position) {
  static const std::array<const char*, kErrorClasses> names{
      "0", "1/8", "1/4", "3/8", "1/2", "3/4", "1", "2", "4", "16", "256", "4096", "65536", "more"};
  return names[position];
}

int64_t ErrorStats::measured() const {
  return std::accumulate(classes.begin(), classes.end(), int64_t{0});
}

void ErrorStats::add(const ErrorStats& later) {
  for (const auto& [name, count] : kErrorCounts) this->*count += later.*count;
  for (size_t i = 0; i < classes.size(); ++i) classes[i] += later.classes[i];
  if (later.max_ulps > max_ulps) {
    max_ulps = later.max_ulps;
    max_at = later.max_at;
  }
  if (later.max_unbounded_ulps > max_unbounded_ulps) {
    max_unbounded_ulps = later.max_unbounded_ulps;
    max_unbounded_at = later.max_unbounded_at;
  }
  ordered |= later.ordered;
  breaks += later.breaks;
  for (const MonotonicityBreak& one : later.first_breaks) {
    if (first_breaks.size() < kBreaksShown) first_breaks.push_back(one);
  }
}

}  // namespace assay
