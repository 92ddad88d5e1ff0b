// Private to the judge: the judging of one case, box by box.
//
// Matches cheaply in the first tier, decides what is left element by element, goes up a tier only
// for doubts (oracles/RULES.md). `case_judge.cpp` walks outputs and keeps the verdict; integers and
// reals have a file each.
#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include "oracles/accept.hpp"
#include "oracles/judge_impl.hpp"
#include "oracles/tally.hpp"
#include "oracles/walk.hpp"

namespace assay {

/// What all that judge one case share.
struct CaseState {
  const Contract& contract;
  CompiledFormula& formula;
  const Instance& instance;
  const OutputReader& outputs;
  const JudgeOptions& options;
  const EvaluationSettings settings;
  Tally tally;
};

/// What else a contract's policies, stated or missing, leave open.
struct Reading {
  bool widen = false;  ///< intermediates of the declared form may overflow (rule R7)
  bool flush = false;  ///< subnormals may be flushed (rule R12)
};
std::vector<Reading> other_readings(const CaseState& state);
EvaluationSettings settings_in(const Reading& reading, const EvaluationSettings& plain);
/// A value that is subnormal itself was not flushed.
bool was_kept(const Reading& reading, const EvaluationSettings& plain, double got);
/// An element passed by this reading alone: counts it, and asks for the policies that would have
/// told.
void accept_reading(CaseState& state, const Reading& reading);

/// What elements of a node may hold over a chunk after an overflow, in the widened reading that the
/// rows have; empty where none is possible.
const std::vector<OverflowSet>& overflow_sets(CaseState& state, int node, const Chunk& chunk);
/// Of such an element: what the kernel wrote follows from an overflow.
bool follows_overflow(const std::vector<OverflowSet>& sets, int64_t at, const FormulaRoot& root,
                      DType type, const Cell& got);

/// Counts what an element that is judged by itself makes of its allowance, as the match of a whole
/// box does: that it is weak, or the share that it used.
void count_use(CaseState& state, const Tensor& output, double got, double v, double e, double lo,
               double hi);

/// Judges every output of a case.
Verdict judge_case(CaseState& state);

/// In the tiers above the first: one element whose exact value is `node` at `single`.
Decision decide_higher(CaseState& state, int node, bool saturates, DType type, const Cell& cell,
                       const Chunk& single, double lo, double hi);

/// Judges what the case's blocks own of every output.
class CaseJudge {
 public:
  explicit CaseJudge(CaseState& state)
      : state_(state),
        contract_(state.contract),
        formula_(state.formula),
        rows_(state.formula.rows),
        instance_(state.instance),
        outputs_(state.outputs),
        options_(state.options),
        settings_(state.settings),
        verdict_(state.tally.verdict) {}

  void run();

 private:
  /// An element that the fast match left.
  struct Open {
    int64_t place = 0;  ///< in the chunk's output box, row-major
    int64_t at = 0;     ///< in the root's array
    double v = 0, e = 0, lo = 0, hi = 0;
  };
  static Open open_at(int64_t place, const Value& value, int64_t at) {
    return {
        place, at, value.v[at], element(value.e, at), element(value.lo, at), element(value.hi, at)};
  }
  class ArgumentView;

  // Boxes and chunks.
  void judge_output(const Tensor& tensor);
  /// Halves the outermost dimension until the largest array of a chunk fits.
  void split(std::vector<int64_t> low, std::vector<int64_t> extent);
  /// A reduction runs over it, so every chunk evaluates it whole: splitting would repeat the work.
  bool fixed_whole(size_t axis) const;
  int64_t largest_array(const std::vector<int64_t>& low, const std::vector<int64_t>& extent) const;
  void judge_chunk(const std::vector<int64_t>& low, const std::vector<int64_t>& extent);

  // Places, and what is wrong there.
  std::vector<int64_t> coordinates(int64_t place) const;
  /// The chunk's output box as a grid over the graph's dimensions; unnamed axes have extent 1.
  Grid output_grid() const;
  uint64_t got_bits(int64_t place) const {
    return packed_bits(bits_.data(), place, byte_size(output_->dtype));
  }
  void ask(const char* line) { state_.tally.ask(line); }
  void list_unwritten();
  /// `times`: its distance from the exact value as a multiple of what is allowed.
  void wrong(int64_t place, const char* rule, double times) {
    state_.tally.wrong(*output_, output_->linear(coordinates(place)), rule, times);
  }
  void undecided(int64_t place) {
    state_.tally.undecided(*output_, output_->linear(coordinates(place)));
  }
  void without_bound(int64_t place) {
    state_.tally.without_bound(*output_, output_->linear(coordinates(place)));
  }

  double share_ = 0;  ///< OutputCounts::share of the output under way

  // What an observer sees (JudgeOptions::observer).
  bool observing_ = false;  ///< integers: in the first reading of a chunk
  void observe(int64_t place, double exact, bool bounded) const;
  double element_value(uint64_t bits) const;
  void observe_reals(const Value& value);
  /// Values of the root's forms that are equal to its exact value (FormulaDefinition::forms, "#").
  std::vector<const Value*> equal_forms();
  /// The exact value, from the last tier where the first one's error would show in each of `forms`.
  double sharp_value(const Open& open, const std::vector<const Value*>& forms);
  /// Of an exact value that is known to round to infinity, where the kernel wrote that: a double
  /// near it, though not to a fraction of an ulp of the type's last binade.
  std::optional<double> beyond_type(const Open& open) const;

  // Bits and integers.
  template <typename Check>
  void each_written(const Value& value, Check check) {
    const Grid out = output_grid();
    std::vector<int64_t> first(*low_);
    const int64_t base = position_in(formula_.graph, value.grid, *output_, first);
    for_runs<1>(out, {&value.grid},
                [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                  for (int64_t k = 0; k < n; ++k)
                    if (written_[static_cast<size_t>(done + k)] != 0)
                      check(done + k, base + offset[0] + k * stride[0]);
                });
  }
  void judge_bits();
  void judge_integers();
  /// Integers, indices or codes, in the settings that `rows_` has: `suspects_` take what is wrong.
  void compare_integers();
  struct Suspect {
    int64_t place = 0;
    const char* rule = "";
  };
  void suspect(int64_t place, const char* rule);
  /// An index is right if its score's upper limit reaches the greatest lower limit (rule R14).
  void judge_indices(const Node& node);
  /// A code is right if some point of the enclosure converts to it (rule R15).
  void judge_codes(const Node& node);

  // Reals.
  void judge_reals();
  void match(const Value& value);
  void match_block(const rows::Kernels& kernels, const rows::MatchFormat& constants,
                   ArgumentView& view, int64_t place, int64_t at, int64_t stride, int n);
  bool zero_rows_matter() const { return contract_.policy.empty == EmptyPolicy::zero; }
  Cell cell(const Open& open) const;
  Decision decided(const Cell& c, const Margins& m, const Open& open) const;
  double times_allowed(const Open& open) const;
  Decision first_decision(const Open& open) const;
  /// Of an element whose error is infinite, and its deviation on one side, the other side is a
  /// limit of what a correct kernel gives: e^x beyond double's range, and its logarithm.
  bool short_of_limit(const Cell& c, const Open& open) const;
  Decision higher_decision(const Open& open);
  /// Where a limit alone is known in the first tier and the last one knows the exact value: a
  /// finite number is right near it, as far off, relatively, as the limit's deviation is; with
  /// `range = "safe"` an infinity where that reaches it.
  std::optional<Decision> decide_vast(const Open& open, const Chunk& single);
  /// False: of e^x, x > 2^29, and what is made of it a limit alone is known, which may not decide.
  bool known_to_last_tier(const Open& open);
  void count_accepted(const Open& open);
  /// Zeros of the wrong sign, where the policy orders them (rule R9).
  void judge_zeros(const Value& value);
  /// Rejected by the plain reading: a policy may widen what is accepted.
  void judge_rejected(const std::vector<Open>& rejected);
  /// The formula gives NaN where its definition's limit is what the kernel wrote (rule R5).
  bool limit_accepts(const Open& open);
  /// The formula gives NaN although no input is NaN: an all-masked row, 0/0 (rule R8).
  bool empty_row_accepts(const Open& open, const std::vector<Open>& rejected);
  /// NaN by the formula, and zero by the kernel.
  bool looks_empty(const Open& open) const { return std::isnan(open.v) && cell(open).value == 0; }
  /// Among what the element is made from; what a `where` masks off is not.
  bool row_has_nan_or_infinity(const Open& open);
  /// The same of all that look empty, at once: mostly none has any.
  bool any_row_has_nan_or_infinity(const std::vector<Open>& rejected);
  /// Some maximum has nothing above -infinity, or what is divided by sums to 0, as the dividend.
  bool row_is_empty(const Open& open);
  /// Those of `rejected` that the reading rejects too.
  std::vector<Open> judge_again(const std::vector<Open>& rejected, const Reading& reading);

  void conclude();
  bool owned_without_formula() const;

  CaseState& state_;
  const Contract& contract_;
  CompiledFormula& formula_;
  RowEvaluator& rows_;
  const Instance& instance_;
  const OutputReader& outputs_;
  const JudgeOptions& options_;
  const EvaluationSettings& settings_;
  Verdict& verdict_;
  const FormulaRoot* root_ = nullptr;
  const Tensor* output_ = nullptr;
  const std::vector<int64_t>* low_ = nullptr;
  const std::vector<int64_t>* extent_ = nullptr;
  int64_t count_ = 0;
  Chunk chunk_;
  std::vector<uint8_t> bits_;
  std::vector<uint8_t> written_;
  std::vector<double> got_;
  std::vector<uint8_t> ok_;
  std::vector<Open> open_;
  std::optional<bool> any_nan_;  ///< any_row_has_nan_or_infinity() of what was rejected last
  std::vector<Suspect> suspects_;
};

}  // namespace assay
