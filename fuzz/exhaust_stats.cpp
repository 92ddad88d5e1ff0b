// The error of each element, counted; and where a function breaks its own direction.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "fuzz/exhaust.hpp"

namespace assay {

namespace {

/// Where numbers of one operand lie among its numbers: the two zeros at one place.
class Places {
 public:
  explicit Places(DType type)
      : type_(type), floating_(is_floating(type)), sign_(uint64_t{1} << (bit_width(type) - 1)) {}

  int64_t of(uint64_t bits) const {
    if (!floating_) return static_cast<int64_t>(to_integer(type_, bits));
    const auto magnitude = static_cast<int64_t>(bits & (sign_ - 1));
    return (bits & sign_) != 0 ? -magnitude : magnitude;
  }
  int64_t of(const OrderedPoint& point) const { return of(point.input); }
  bool before(const OrderedPoint& a, const OrderedPoint& b) const { return of(a) < of(b); }

 private:
  DType type_;
  bool floating_;
  uint64_t sign_;
};

/// The exact values rise and the outputs fall, or the reverse.
bool is_break(DType type, const OrderedPoint& lower, const OrderedPoint& upper) {
  const double rise = upper.exact - lower.exact;
  const double got_rise = value_of(type, upper.got_bits) - value_of(type, lower.got_bits);
  if (!(got_rise < 0) && !(got_rise > 0)) return false;
  const double unit =
      is_floating(type) ? std::max(ulp(type, lower.exact), ulp(type, upper.exact)) : 1;
  if (!(std::fabs(rise) > 2 * kObservedUlps * unit)) return false;  // its direction is not known
  return rise > 0 ? got_rise < 0 : got_rise > 0;
}

InputPoint shown(const OrderedPoint& point) { return {{point.input}, point.got_bits, point.exact}; }

void count_break(const OrderedPoint& lower, const OrderedPoint& upper, ErrorStats& stats) {
  if (!is_break(stats.type, lower, upper)) return;
  ++stats.breaks;
  stats.first_breaks.push_back({shown(lower), shown(upper)});
}

/// Those of the smallest arguments.
void cut_breaks(const Places& places, ErrorStats& stats) {
  std::stable_sort(stats.first_breaks.begin(), stats.first_breaks.end(),
                   [&](const MonotonicityBreak& a, const MonotonicityBreak& b) {
                     return places.of(a.lower.inputs[0]) < places.of(b.lower.inputs[0]);
                   });
  if (stats.first_breaks.size() > kBreaksShown) stats.first_breaks.resize(kBreaksShown);
}

/// By ascending argument. Units of many inputs come so, or the other way round (negative numbers).
void sort_points(const Places& places, std::vector<OrderedPoint>& points) {
  const auto before = [&](const OrderedPoint& a, const OrderedPoint& b) {
    return places.before(a, b);
  };
  if (std::is_sorted(points.begin(), points.end(), before)) return;
  const auto after = [&](const OrderedPoint& a, const OrderedPoint& b) { return !before(a, b); };
  if (std::adjacent_find(points.begin(), points.end(), std::not_fn(after)) == points.end())
    return std::reverse(points.begin(), points.end());
  std::stable_sort(points.begin(), points.end(), before);
}

/// Calls `visit(lower, upper)` for the points of neighbouring places.
template <typename Visit>
void each_neighbours(const Places& places, const std::vector<OrderedPoint>& points,
                     const Visit& visit) {
  const auto end_of_place = [&](size_t at) {
    size_t end = at + 1;
    while (end < points.size() && places.of(points[end]) == places.of(points[at])) ++end;
    return end;
  };
  for (size_t place = 0; place < points.size();) {
    const size_t next = end_of_place(place);
    const size_t last = next < points.size() ? end_of_place(next) : next;
    for (size_t lower = place; lower < next; ++lower)
      for (size_t upper = next; upper < last; ++upper) visit(points[lower], points[upper]);
    place = next;
  }
}

/// What is at the first two places of sorted points, or with reverse iterators at the last two.
template <typename Iterator>
std::vector<OrderedPoint> at_two_places(const Places& places, Iterator at, Iterator end) {
  std::vector<OrderedPoint> out;
  int seen = 0;
  for (; at != end; ++at) {
    const bool same = !out.empty() && places.of(out.back()) == places.of(*at);
    if (!same && ++seen > 2) break;
    out.push_back(*at);
  }
  return out;
}

std::vector<OrderedPoint> highest_of(const Places& places,
                                     const std::vector<OrderedPoint>& points) {
  auto highest = at_two_places(places, points.rbegin(), points.rend());
  std::reverse(highest.begin(), highest.end());
  return highest;
}

/// Counts breaks between neighbours of different units, from what is at the units' ends.
void count_across(const Places& places, std::vector<const ErrorStats*> units, ErrorStats& total) {
  std::erase_if(units, [](const ErrorStats* unit) { return unit->lowest.empty(); });
  const auto ends = [&](const ErrorStats* unit) {
    return std::pair(places.of(unit->lowest.front()), places.of(unit->highest.back()));
  };
  std::sort(units.begin(), units.end(),
            [&](const ErrorStats* a, const ErrorStats* b) { return ends(a) < ends(b); });
  std::vector<OrderedPoint> below;  // at the two highest places so far
  for (const ErrorStats* unit : units) {
    const auto is_below = [&](const OrderedPoint& point) {
      return std::any_of(below.begin(), below.end(),
                         [&](const OrderedPoint& one) { return one.input == point.input; });
    };
    std::vector<OrderedPoint> both = below;
    both.insert(both.end(), unit->lowest.begin(), unit->lowest.end());
    sort_points(places, both);
    each_neighbours(places, both, [&](const OrderedPoint& lower, const OrderedPoint& upper) {
      if (is_below(lower) != is_below(upper)) count_break(lower, upper, total);
    });
    below.insert(below.end(), unit->highest.begin(), unit->highest.end());
    sort_points(places, below);
    below = highest_of(places, below);
  }
}

}  // namespace

double value_of(DType type, uint64_t bits) {
  return is_floating(type) ? to_double(type, bits) : static_cast<double>(to_integer(type, bits));
}

InputPoint* ErrorCounter::count(uint64_t got_bits, double exact, bool bounded) {
  const double got = value_of(type_, got_bits);
  bool rounded = floating_ ? round_to_bits(type_, exact) == got_bits : got == exact;
  if (floating_ && got == 0 && value_of(type_, round_to_bits(type_, exact)) == 0) {
    rounded = true;  // of either sign
  }
  const bool comparable = std::isfinite(got) && std::isfinite(exact);
  double error = 0;
  if (comparable) {
    error = std::fabs(got - exact) / (floating_ ? ulp(type_, exact) : 1);
    // The exact value is known to a fraction of an ulp: a tie stays half of one.
    if (rounded) error = std::min(error, 0.5);
  }
  if (!bounded) {
    ++stats_.no_bound;
    if (!comparable || !(error > stats_.max_unbounded_ulps)) return nullptr;
    stats_.max_unbounded_ulps = error;
    return &stats_.max_unbounded_at;
  }
  if (!comparable) {
    const bool both_nan = std::isnan(got) && std::isnan(exact);
    ++(both_nan || got == exact || rounded ? stats_.special : stats_.incomparable);
    return nullptr;
  }
  stats_.correctly_rounded += rounded || (!floating_ && error <= 0.5) ? 1 : 0;
  const auto edge = std::lower_bound(kErrorEdges.begin(), kErrorEdges.end(), error);
  ++stats_.classes[static_cast<size_t>(edge - kErrorEdges.begin())];
  if (!(error > stats_.max_ulps)) return nullptr;
  stats_.max_ulps = error;
  return &stats_.max_at;
}

void count_error(ErrorStats& stats, const InputPoint& point, bool bounded) {
  InputPoint* worst = ErrorCounter(stats).count(point.got_bits, point.exact, bounded);
  if (worst != nullptr) *worst = point;
}

void find_breaks(DType operand, std::vector<OrderedPoint>& points, ErrorStats& stats) {
  const Places places(operand);
  sort_points(places, points);
  stats.ordered = true;
  each_neighbours(places, points, [&](const OrderedPoint& lower, const OrderedPoint& upper) {
    count_break(lower, upper, stats);
    if (stats.first_breaks.size() > kBreaksShown) stats.first_breaks.pop_back();
  });
}

void keep_ends(DType operand, const std::vector<OrderedPoint>& points, ErrorStats& stats) {
  const Places places(operand);
  stats.lowest = at_two_places(places, points.begin(), points.end());
  stats.highest = highest_of(places, points);
}

ErrorStats joined(std::optional<DType> operand, const std::vector<const ErrorStats*>& units) {
  ErrorStats total;
  total.output = units.front()->output;
  total.type = units.front()->type;
  std::vector<MonotonicityBreak> breaks;
  for (const ErrorStats* unit : units) {
    total.add(*unit);
    breaks.insert(breaks.end(), unit->first_breaks.begin(), unit->first_breaks.end());
  }
  if (!operand) return total;
  // Units come in the order of bits: the first breaks of all may be those of later ones.
  total.first_breaks = std::move(breaks);
  const Places places(*operand);
  count_across(places, units, total);
  cut_breaks(places, total);
  return total;
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
