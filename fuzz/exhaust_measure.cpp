// Runs a unit's cases and measures the error of every element.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <utility>

#include "fuzz/exhaust.hpp"

namespace assay {

namespace {

/// On a GPU a case costs some thirty calls of the driver, a fault the process that holds the card
/// (half a second), and a hang the 20 s that a launch may take: five inputs at fault stand alone.
constexpr UnitLimits kOfGpu{int64_t{1} << 18, 96, 48};

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
  std::vector<OrderedPoint> points;  ///< kept for monotonicity: admitted, bounded, comparable
};

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

bool is_restricted(const Tensor& tensor) {
  return !tensor.plan.domain.empty() || tensor.plan.exclude_nan;
}

std::vector<uint64_t> wanted_bits(const Instance& instance, Tensor tensor) {
  tensor.plan.domain.clear();
  tensor.plan.exclude_nan = false;
  return element_bits(instance, tensor);
}

/// The inputs of a case.
struct CaseInputs {
  std::vector<std::vector<uint64_t>> bits;  ///< an array an operand
  std::vector<uint8_t> admitted;            ///< 1: the contract admits it
  int64_t outside = 0;                      ///< those that it does not
};

/// What was observed of a case, output by output. Its memory is used again by the next one.
class SeenOutputs {
 public:
  void start() { used_ = 0; }
  void add(const Observation& o) {
    if (used_ == 0 || parts_[used_ - 1].output != &o.output) {
      if (used_ == parts_.size()) parts_.emplace_back();
      parts_[used_].output = &o.output;
      parts_[used_++].elements.clear();
    }
    parts_[used_ - 1].elements.push_back({o.logical, o.got_bits, o.exact, o.bounded});
  }
  template <typename Visit>
  void each(const Tensor& output, const Visit& visit) const {
    for (size_t part = 0; part < used_; ++part) {
      if (parts_[part].output != &output) continue;
      for (const Seen& one : parts_[part].elements) visit(one);
    }
  }

 private:
  struct Part {
    const Tensor* output = nullptr;
    std::vector<Seen> elements;
  };
  std::vector<Part> parts_;
  size_t used_ = 0;
};

/// A case in which the kernel faulted, hung or was refused.
struct FaultyCase {
  Case the_case;
  int64_t first = 0;
  int64_t inputs = 0;
};

/// A finding with the smallest case that showed it.
struct SmallFinding {
  Finding finding;
  int64_t first = 0;
  int64_t inputs = 0;
};

class UnitRun {
 public:
  UnitRun(Checker& checker, const InputSpace& space, const ExhaustUnit& unit,
          const std::function<bool()>& stop, const UnitLimits& limits)
      : checker_(checker), space_(space), stop_(stop), limits_(limits) {
    result_.unit = unit;
    result_.variant = space.variant.text();
    result_.space = space.text();
  }

  std::optional<UnitResult> run() {
    const auto start = std::chrono::steady_clock::now();
    const int64_t end = result_.unit.first + result_.unit.count;
    for (int64_t first = result_.unit.first; first < end && result_.skipped.empty();) {
      if (stop_()) return std::nullopt;
      first += check(first, std::min(limits_.case_inputs, end - first));
      if (!split_faulty()) return std::nullopt;
    }
    for (OutputPoints& output : outputs_) {
      if (space_.operands.size() == 1 && result_.skipped.empty()) {
        find_breaks(space_.operands[0].type, output.points, output.stats);
        if (result_.unit.count < space_.size)
          keep_ends(space_.operands[0].type, output.points, output.stats);
      }
      if (!output.stats.adds_up()) throw std::logic_error("exhaust counts an input twice");
      result_.outputs.push_back(std::move(output.stats));
    }
    take_findings();
    result_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(result_);
  }

 private:
  /// Runs the largest case from `first` on of at most `count` inputs; returns how many it has.
  int64_t check(int64_t first, int64_t count) {
    const Case c = space_case(checker_.contract(), space_, first, count);
    seen_.start();
    JudgeOptions judging;
    judging.observer = [this](const Observation& o) { seen_.add(o); };
    const CheckResult result = checker_.check(c, case_options(), judging);
    ++result_.cases;
    if (result.programs && !result.programs->empty()) {
      result_.program = result.programs->front().key;
    }
    const int64_t inputs = case_inputs(*result.instance, space_);
    if (result.run.status == RunStatus::unsupported) {
      result_.skipped = result.skipped;
      return inputs;
    }
    for (const Finding& finding : result.findings) note(finding, result, first, inputs);
    if (result.run.status == RunStatus::completed) {
      measure(*result.instance);
    } else {
      split_cost_ += result.run.status == RunStatus::hang ? limits_.hang_cost : 1;
      faulty_.push_back({c, first, inputs});
    }
    return inputs;
  }

  /// Halves faulty cases, the first ones first, until single inputs are at fault or it has cost
  /// enough. False: stopped.
  bool split_faulty() {
    for (; !faulty_.empty(); faulty_.pop_front()) {
      if (stop_()) return false;
      const FaultyCase faulty = faulty_.front();
      const bool whole = faulty.inputs == 1 || split_cost_ >= limits_.split_cost;
      if (whole || !result_.skipped.empty()) {
        count_faulty(faulty.the_case, faulty.inputs == 1);
        continue;
      }
      // Powers of two stay: a contract may admit multiples of one only.
      const auto half =
          static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(faulty.inputs - 1)));
      const int64_t end = faulty.first + faulty.inputs;
      if (!fits(faulty.first, half) || !fits(faulty.first + half, end - faulty.first - half)) {
        count_faulty(faulty.the_case, false);
        continue;
      }
      for (int64_t at = faulty.first; at < end;) {
        const int64_t part = at < faulty.first + half ? faulty.first + half : end;
        at += check(at, part - at);
      }
    }
    return true;
  }

  /// Whether one case holds exactly these inputs.
  bool fits(int64_t first, int64_t count) const {
    try {
      const Case c = space_case(checker_.contract(), space_, first, count);
      return case_inputs(instantiate(checker_.contract(), c), space_) == count;
    } catch (const InputError&) {
      return false;
    }
  }

  CaseInputs inputs_of(const Instance& instance) const {
    CaseInputs inputs;
    inputs.admitted.assign(static_cast<size_t>(case_inputs(instance, space_)), 1);
    for (const OperandSpace& operand : space_.operands) {
      const Tensor& tensor = instance.tensors[static_cast<size_t>(operand.operand)];
      inputs.bits.push_back(element_bits(instance, tensor));
      if (!is_restricted(tensor)) continue;
      const std::vector<uint64_t> wanted = wanted_bits(instance, tensor);
      for (size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i] != inputs.bits.back()[i]) inputs.admitted[i] = 0;
      }
    }
    inputs.outside = std::count(inputs.admitted.begin(), inputs.admitted.end(), 0);
    return inputs;
  }

  /// Calls `visit(tensor, output)` for the outputs of a case.
  template <typename Visit>
  void each_output(const Instance& instance, const Visit& visit) {
    size_t position = 0;
    for (const Tensor& tensor : instance.tensors) {
      if (!tensor.present || !tensor.is_judged()) continue;
      if (position == outputs_.size()) {
        outputs_.emplace_back();
        outputs_.back().stats.output = tensor.spec->name;
        outputs_.back().stats.type = tensor.dtype;
        if (space_.operands.size() == 1)
          outputs_.back().points.reserve(static_cast<size_t>(result_.unit.count));
      }
      visit(tensor, outputs_[position++]);
    }
  }

  void count_faulty(const Case& c, bool alone) {
    const Instance instance = instantiate(checker_.contract(), c);
    const CaseInputs inputs = inputs_of(instance);
    each_output(instance, [&](const Tensor&, OutputPoints& output) {
      ErrorStats& stats = output.stats;
      stats.outside_domain += inputs.outside;
      (alone ? stats.faulted : stats.not_alone) += std::ssize(inputs.admitted) - inputs.outside;
    });
  }

  void measure(const Instance& instance) {
    const CaseInputs inputs = inputs_of(instance);
    each_output(instance, [&](const Tensor& tensor, OutputPoints& output) {
      ErrorStats& stats = output.stats;
      stats.outside_domain += inputs.outside;
      std::vector<uint8_t> left = inputs.admitted;
      ErrorCounter counter(stats);
      seen_.each(tensor, [&](const Seen& one) {
        const auto at = static_cast<size_t>(one.logical);
        if (left[at] == 0) return;
        left[at] = 0;
        ++stats.inputs;
        InputPoint* worst = counter.count(one.got_bits, one.exact, one.bounded);
        if (worst != nullptr) {
          *worst = {{}, one.got_bits, one.exact};
          for (const auto& bits : inputs.bits) worst->inputs.push_back(bits[at]);
        }
        if (space_.operands.size() == 1 && one.bounded)
          keep(output, {inputs.bits[0][at], one.got_bits, one.exact});
      });
      stats.unwritten += std::count(left.begin(), left.end(), 1);
    });
  }

  void keep(OutputPoints& output, const OrderedPoint& point) const {
    const bool numbers = !std::isnan(value_of(space_.operands[0].type, point.input)) &&
                         !std::isnan(value_of(output.stats.type, point.got_bits)) &&
                         !std::isnan(point.exact);
    if (numbers) output.points.push_back(point);
  }

  /// Keeps a finding when no smaller case has shown it.
  void note(const Finding& finding, const CheckResult& result, int64_t first, int64_t inputs) {
    const auto [at, fresh] = findings_.try_emplace(finding.identity());
    SmallFinding& kept = at->second;
    if (!fresh && kept.inputs <= inputs) return;
    kept = {finding, first, inputs};
    checker_.locate(result, kept.finding);
    kept.finding.the_case.recorded = recorded_of(finding, result);
    const int64_t element = shown_element(result.verdict).second;
    if (element >= 0 && element < inputs) show_alone(first + element, kept);
  }

  /// Makes the finding's case the one of a single input, where that shows it too.
  void show_alone(int64_t input, SmallFinding& kept) {
    if (!fits(input, 1)) return;
    const Case small = space_case(checker_.contract(), space_, input, 1);
    const CheckResult again = checker_.check(small);
    for (const Finding& other : again.findings) {
      if (other.identity() != kept.finding.identity()) continue;
      kept.finding.the_case = small;
      kept.finding.the_case.recorded = recorded_of(other, again);
      kept.first = input;
      kept.inputs = 1;
      return;
    }
  }

  void take_findings() {
    std::vector<SmallFinding> sorted;
    for (auto& [identity, one] : findings_) sorted.push_back(std::move(one));
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first, cause_rank(a.finding.kind)) <
             std::pair(b.first, cause_rank(b.finding.kind));
    });
    for (SmallFinding& one : sorted) result_.findings.push_back(std::move(one.finding));
  }

  Checker& checker_;
  const InputSpace& space_;
  const std::function<bool()>& stop_;
  const UnitLimits limits_;
  UnitResult result_;
  std::vector<OutputPoints> outputs_;
  SeenOutputs seen_;
  std::map<std::string, SmallFinding> findings_;
  std::deque<FaultyCase> faulty_;
  int64_t split_cost_ = 0;
};

}  // namespace

UnitLimits unit_limits(const std::string& device) {
  return device == "cuda" ? kOfGpu : UnitLimits{};
}

std::optional<UnitResult> run_unit(Checker& checker, const InputSpace& space,
                                   const ExhaustUnit& unit, const std::function<bool()>& stop,
                                   const UnitLimits& limits) {
  return UnitRun(checker, space, unit, stop, limits).run();
}

}  // namespace assay
