// Runs a unit's cases and measures the error of every element.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>

#include "fuzz/exhaust.hpp"
#include "fuzz/findings.hpp"

namespace assay {

namespace {

constexpr int64_t kCaseInputs = 1 << 16;

/// One element as it was observed.
struct Seen {
  int64_t logical = 0;
  uint64_t got_bits = 0;
  double exact = 0;
  bool bounded = false;
};

/// What the cases of a unit showed of one output.
struct OutputPoints {
  ErrorStats stats;
  std::vector<InputPoint> points;  ///< kept for monotonicity: admitted, bounded, comparable
};

double value_of(DType type, uint64_t bits) {
  return is_floating(type) ? to_double(type, bits) : static_cast<double>(to_integer(type, bits));
}

/// Elements of an operand, with and without what the contract's domain and NaN policy replace.
std::vector<uint64_t> element_bits(const Instance& instance, const Tensor& tensor) {
  const int64_t count = tensor.elements();
  const int size = byte_size(tensor.dtype);
  std::vector<uint8_t> bytes(static_cast<size_t>(count * size));
  logical_values(instance, tensor, 0, count, bytes.data());
  std::vector<uint64_t> out(static_cast<size_t>(count), 0);
  for (size_t i = 0; i < out.size(); ++i) {
    std::memcpy(&out[i], bytes.data() + i * static_cast<size_t>(size), static_cast<size_t>(size));
  }
  return out;
}

std::vector<uint64_t> wanted_bits(const Instance& instance, Tensor tensor) {
  tensor.plan.domain.clear();
  tensor.plan.exclude_nan = false;
  return element_bits(instance, tensor);
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

/// Neighbours by the operand's value; equal ones (the two zeros) have no order.
void find_breaks(const OperandSpace& space, OutputPoints& output) {
  std::vector<InputPoint>& points = output.points;
  std::stable_sort(points.begin(), points.end(), [&](const InputPoint& a, const InputPoint& b) {
    return value_of(space.type, a.inputs[0]) < value_of(space.type, b.inputs[0]);
  });
  ErrorStats& stats = output.stats;
  stats.ordered = true;
  for (size_t i = 1; i < points.size(); ++i) {
    const InputPoint& lower = points[i - 1];
    const InputPoint& upper = points[i];
    if (value_of(space.type, lower.inputs[0]) == value_of(space.type, upper.inputs[0])) continue;
    const double rise = upper.exact - lower.exact;
    const double got_rise =
        value_of(stats.type, upper.got_bits) - value_of(stats.type, lower.got_bits);
    const double unit = is_floating(stats.type)
                            ? std::max(ulp(stats.type, lower.exact), ulp(stats.type, upper.exact))
                            : 1;
    if (!(std::fabs(rise) > 2 * kObservedUlps * unit)) continue;  // its direction is not known
    if (!(rise > 0 ? got_rise < 0 : got_rise > 0)) continue;
    ++stats.breaks;
    if (stats.first_breaks.size() < kBreaksShown) stats.first_breaks.push_back({lower, upper});
  }
}

class UnitRun {
 public:
  UnitRun(Checker& checker, const InputSpace& space, const ExhaustUnit& unit)
      : checker_(checker), space_(space) {
    result_.unit = unit;
    result_.variant = space.variant.text();
  }

  std::optional<UnitResult> run(const std::function<bool()>& stop) {
    const auto start = std::chrono::steady_clock::now();
    const int64_t end = result_.unit.first + result_.unit.count;
    for (int64_t first = result_.unit.first; first < end;) {
      if (stop()) return std::nullopt;
      const Case c =
          space_case(checker_.contract(), space_, first, std::min(kCaseInputs, end - first));
      first += check(c, first);
      if (!result_.skipped.empty()) break;
    }
    if (space_.operands.size() == 1 && result_.skipped.empty()) {
      for (OutputPoints& output : outputs_) find_breaks(space_.operands[0], output);
    }
    for (OutputPoints& output : outputs_) result_.outputs.push_back(std::move(output.stats));
    for (const FindingSet::Entry& entry : findings_.sorted()) {
      result_.findings.push_back(entry.finding);
    }
    result_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(result_);
  }

 private:
  /// Runs a case; returns its inputs.
  int64_t check(const Case& c, int64_t first) {
    std::map<const Tensor*, std::vector<Seen>> seen;
    JudgeOptions judging;
    judging.observer = [&](const Observation& o) {
      seen[&o.output].push_back({o.logical, o.got_bits, o.exact, o.bounded});
    };
    const CheckResult result = checker_.check(c, case_options(), judging);
    if (result.programs && !result.programs->empty()) {
      result_.program = result.programs->front().key;
    }
    if (result.run.status == RunStatus::unsupported) result_.skipped = result.skipped;
    const int64_t inputs = case_inputs(*result.instance, space_);
    measure(*result.instance, seen);
    for (const Finding& finding : result.findings) {
      if (findings_.contains(finding)) continue;
      findings_.add(small_finding(finding, result, first, inputs), first);
    }
    return inputs;
  }

  void measure(const Instance& instance, const std::map<const Tensor*, std::vector<Seen>>& seen) {
    std::vector<std::vector<uint64_t>> inputs;
    std::vector<bool> admitted(static_cast<size_t>(case_inputs(instance, space_)), true);
    for (const OperandSpace& operand : space_.operands) {
      const Tensor& tensor = instance.tensors[static_cast<size_t>(operand.operand)];
      inputs.push_back(element_bits(instance, tensor));
      const std::vector<uint64_t> wanted = wanted_bits(instance, tensor);
      for (size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i] != inputs.back()[i]) admitted[i] = false;
      }
    }
    size_t position = 0;
    for (const Tensor& tensor : instance.tensors) {
      if (!tensor.present || !tensor.is_judged()) continue;
      if (position == outputs_.size()) {
        outputs_.emplace_back();
        outputs_.back().stats.output = tensor.spec->name;
        outputs_.back().stats.type = tensor.dtype;
      }
      OutputPoints& output = outputs_[position++];
      output.stats.outside_domain += std::count(admitted.begin(), admitted.end(), false);
      output.stats.inputs += std::count(admitted.begin(), admitted.end(), true);
      const auto found = seen.find(&tensor);
      if (found == seen.end()) continue;
      for (const Seen& one : found->second) {
        const auto at = static_cast<size_t>(one.logical);
        if (!admitted[at]) continue;
        InputPoint point{{}, one.got_bits, one.exact};
        for (const auto& bits : inputs) point.inputs.push_back(bits[at]);
        count_error(output.stats, point, one.bounded);
        keep(output, std::move(point), one.bounded);
      }
    }
  }

  void keep(OutputPoints& output, InputPoint point, bool bounded) const {
    if (space_.operands.size() > 1 || !bounded) return;
    const bool numbers = !std::isnan(value_of(space_.operands[0].type, point.inputs[0])) &&
                         !std::isnan(value_of(output.stats.type, point.got_bits)) &&
                         !std::isnan(point.exact);
    if (numbers) output.points.push_back(std::move(point));
  }

  /// The finding with the smallest case around its element that shows it still.
  Finding small_finding(const Finding& finding, const CheckResult& result, int64_t first,
                        int64_t inputs) {
    Finding found = finding;
    found.the_case.recorded = recorded_of(finding, result);
    const int64_t element = shown_element(result.verdict).second;
    if (element < 0 || element >= inputs) return found;
    try {
      const Case small = space_case(checker_.contract(), space_, first + element, 1);
      const CheckResult again = checker_.check(small);
      for (const Finding& other : again.findings) {
        if (other.identity() != finding.identity()) continue;
        found.the_case = small;
        found.the_case.recorded = recorded_of(other, again);
        break;
      }
    } catch (const InputError&) {
      // The contract admits no case of one element: the whole one serves.
    }
    return found;
  }

  Checker& checker_;
  const InputSpace& space_;
  UnitResult result_;
  std::vector<OutputPoints> outputs_;
  FindingSet findings_;
};

}  // namespace

std::string error_class_name(size_t position) {
  static const std::array<const char*, kErrorClasses> names{
      "0", "1/8", "1/4", "3/8", "1/2", "3/4", "1", "2", "4", "16", "256", "4096", "65536", "more"};
  return names[position];
}

int64_t ErrorStats::measured() const {
  return std::accumulate(classes.begin(), classes.end(), int64_t{0});
}

void ErrorStats::add(const ErrorStats& later) {
  inputs += later.inputs;
  outside_domain += later.outside_domain;
  no_bound += later.no_bound;
  special += later.special;
  incomparable += later.incomparable;
  correctly_rounded += later.correctly_rounded;
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

std::optional<UnitResult> run_unit(Checker& checker, const InputSpace& space,
                                   const ExhaustUnit& unit, const std::function<bool()>& stop) {
  return UnitRun(checker, space, unit).run(stop);
}

}  // namespace assay
