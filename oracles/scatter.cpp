#include "oracles/scatter.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "oracles/codes.hpp"
#include "oracles/number_text.hpp"
#include "oracles/scatter_sum.hpp"
#include "oracles/untouched.hpp"
#include "oracles/writers.hpp"

namespace assay {
namespace {

constexpr const char* kUnnamed = "no index names it";

/// Outputs that hold, where an index names them, what one of their writers gives.
class ScatterJudge {
 public:
  ScatterJudge(CaseState& state, const FormulaRoot& root, const Tensor& output)
      : state_(state),
        root_(root),
        output_(output),
        writers_(state, root, output),
        bytes_(byte_size(output.dtype)) {}

  void run() {
    writers_.each_value(root_.raw_node >= 0 ? root_.raw_node : root_.node,
                        [this](const Value& value, int64_t writer, int64_t k, int64_t at) {
                          judge(value, writer, k, at);
                        });
    for (const Doubt& doubt : doubts_) settle(doubt);
    for (const auto& [logical, shared] : shared_) conclude(logical, shared);
    if (root_.limits >= 0 && !rejected_.empty()) accept_limits();
    if (root_.raw_node < 0)
      for (const Reading& reading : other_readings(state_))
        if (!rejected_.empty()) judge_again(reading);
    for (const int64_t logical : rejected_) state_.tally.wrong(output_, logical, "R17", HUGE_VAL);
    judge_untouched(state_, output_, "R18", kUnnamed, [this](int64_t logical) {
      return writers_.may_be_named(writers_.place(logical).first);
    });
    for (const int64_t slot : writers_.doubtful()) forgo(slot);
  }

 private:
  struct Doubt {
    int64_t writer = 0, k = 0, logical = 0;
    double lo = 0, hi = 0;
    uint64_t bits = 0;
  };
  /// An element that several writers name: one of them must have won.
  struct Shared {
    bool accepted = false;
    bool undecided = false;
  };

  /// A writer whose index may go either way may have written it, or not.
  void forgo(int64_t slot) {
    for (int64_t k = 0; k < writers_.row_size(); ++k) {
      const int64_t logical = writers_.logical(slot, k);
      if (!written_bits(logical)) continue;
      state_.tally.judged(output_, 1);
      state_.tally.without_bound(output_, logical);
      if (state_.tally.watched(output_, logical))
        state_.tally.note = {"R17", Writers::kAnything, ""};
    }
  }

  void judge(const Value& value, int64_t writer, int64_t k, int64_t at) {
    const int64_t slot = writers_.slot(writer);
    if (writers_.in_doubt(slot)) return;
    const int64_t logical = writers_.logical(slot, k);
    const bool shared = writers_.writers_of(writers_.find(slot)) > 1;
    if (shared && shared_.contains(logical) && shared_[logical].accepted) return;
    const bool fresh = !shared || shared_.emplace(logical, Shared{}).second;
    const std::optional<uint64_t> bits = written_bits(logical);
    if (!bits) {
      if (fresh) state_.tally.unwritten(output_, logical);
      if (shared) shared_[logical].accepted = true;  // told once
      return;
    }
    if (fresh) state_.tally.judged(output_, 1);
    Doubt doubt{writer, k, logical, 0, 0, *bits};
    const Decision decision = decide_value(value, at, doubt);
    // Of several writers the one that won tells how much was used.
    if (is_real() && (!shared || decision == Decision::accepted))
      count_use(state_, output_, cell_of(*bits).value, value.v[at], element(value.e, at), doubt.lo,
                doubt.hi);
    if (decision == Decision::doubt)
      doubts_.push_back(doubt);
    else
      count(logical, shared, decision == Decision::accepted);
    if (state_.tally.watched(output_, logical)) note(value, at, shared);
  }

  /// Judged as a real number: neither moved bits nor an integer.
  bool is_real() const { return root_.raw_node < 0 && is_floating(output_.dtype); }

  /// What the kernel wrote; nullopt: nothing.
  std::optional<uint64_t> written_bits(int64_t logical) const {
    uint8_t element[8] = {};
    uint8_t written = 0;
    read_held(state_.outputs, output_, logical, 1, element, &written);
    if (written == 0) return std::nullopt;
    return packed_bits(element, 0, bytes_);
  }

  void count(int64_t logical, bool shared, bool accepted) {
    if (shared)
      shared_[logical].accepted |= accepted;
    else if (!accepted)
      wrong(logical);
  }

  void settle(const Doubt& doubt) {
    const bool shared = shared_.contains(doubt.logical);
    const Decision decision = decide_doubt(doubt, root_.node);
    if (decision != Decision::doubt)
      return count(doubt.logical, shared, decision == Decision::accepted);
    if (shared)
      shared_[doubt.logical].undecided = true;
    else
      state_.tally.undecided(output_, doubt.logical);
  }

  void conclude(int64_t logical, const Shared& shared) {
    if (shared.accepted) return;
    if (shared.undecided)
      state_.tally.undecided(output_, logical);
    else
      wrong(logical);
  }

  void wrong(int64_t logical) { rejected_.insert(logical); }

  /// Takes from `rejected_` what some writer gives in the limits of its definition (rule R5).
  void accept_limits() {
    const Verdict counts = state_.tally.verdict;
    std::set<int64_t> accepted;
    writers_.each_value(root_.limits,
                        [&](const Value& value, int64_t writer, int64_t k, int64_t at) {
                          const int64_t logical = writers_.logical(writers_.slot(writer), k);
                          if (!rejected_.contains(logical) || accepted.contains(logical)) return;
                          if (accepts_anything(element(value.lo, at), element(value.hi, at)))
                            return;
                          Doubt doubt{writer, k, logical, 0, 0, *written_bits(logical)};
                          Decision decision = decide_value(value, at, doubt);
                          if (decision == Decision::doubt)
                            decision = decide_doubt(doubt, root_.limits);
                          if (decision == Decision::accepted) accepted.insert(logical);
                        });
    state_.tally.verdict = counts;
    for (const int64_t logical : accepted) rejected_.erase(logical);
  }

  /// Keeps of `rejected_` what no writer gives in this reading either.
  void judge_again(const Reading& reading) {
    state_.formula.rows.restart(settings_in(reading, state_.settings));
    const Verdict counts = state_.tally.verdict;
    std::set<int64_t> accepted;
    std::vector<Doubt> doubts;
    writers_.each_value(root_.node, [&](const Value& value, int64_t writer, int64_t k, int64_t at) {
      const int64_t logical = writers_.logical(writers_.slot(writer), k);
      if (!rejected_.contains(logical) || accepted.contains(logical)) return;
      Doubt doubt{writer, k, logical, 0, 0, *written_bits(logical)};
      if (is_floating(output_.dtype) &&
          was_kept(reading, state_.settings, cell_of(doubt.bits).value))
        return;
      if (overflow_tells(reading, value, at, doubt)) {
        accepted.insert(logical);
        return;
      }
      const Decision decision = decide_value(value, at, doubt);
      if (decision == Decision::doubt) doubts.push_back(doubt);
      if (decision == Decision::accepted && follows(reading, doubt)) accepted.insert(logical);
    });
    state_.tally.verdict = counts;
    std::set<int64_t> open;
    for (const Doubt& doubt : doubts) {
      if (accepted.contains(doubt.logical)) continue;
      const Decision decision = decide_doubt(doubt, root_.node);
      if (decision == Decision::accepted && follows(reading, doubt)) accepted.insert(doubt.logical);
      if (decision == Decision::doubt) open.insert(doubt.logical);
    }
    for (const int64_t logical : accepted) {
      rejected_.erase(logical);
      accept_reading(state_, reading);
    }
    for (const int64_t logical : open)
      if (rejected_.erase(logical) > 0) state_.tally.undecided(output_, logical);
    state_.formula.rows.restart(state_.settings);
  }

  /// What a widened reading accepts follows from an overflow.
  bool follows(const Reading& reading, const Doubt& doubt) {
    if (!reading.widen || !is_floating(output_.dtype)) return true;
    const auto& sets = overflow_sets(state_, root_.node, writers_.single(doubt.writer, doubt.k));
    return follows_overflow(sets, 0, root_, output_.dtype, cell_of(doubt.bits));
  }

  /// What follows needs no widened interval to hold it, which knows no NaN.
  bool overflow_tells(const Reading& reading, const Value& value, int64_t at, const Doubt& doubt) {
    if (!reading.widen || !is_real()) return false;
    const auto& sets = overflow_sets(state_, root_.node, writers_.single(doubt.writer, doubt.k));
    const Cell cell = cell_of(doubt.bits);
    return follows_overflow(sets, 0, root_, output_.dtype, cell) &&
           tells_alone(sets[0], cell, value.v[at], element(value.e, at));
  }

  Cell cell_of(uint64_t bits) const {
    return output_cell(root_, output_.dtype, bits, state_.formula.rows.settings());
  }

  Decision decide_doubt(const Doubt& doubt, int node) {
    return decide_higher(state_, node, root_.saturates, output_.dtype, cell_of(doubt.bits),
                         writers_.single(doubt.writer, doubt.k), doubt.lo, doubt.hi);
  }

  Decision decide_value(const Value& value, int64_t at, Doubt& doubt) {
    const auto accepted = [](bool yes) { return yes ? Decision::accepted : Decision::rejected; };
    if (!is_real()) {
      const uint8_t status = status_of(value, at);
      IntegerExpectation expected{status == kKnown, static_cast<uint64_t>(value.i[at])};
      if (root_.raw_node < 0)
        expected = expected_integer(state_.contract, state_.formula.graph, root_.node,
                                    output_.dtype, value.i[at], status);
      if (expected.missing_policy) state_.tally.ask(kAskCast);
      if (!expected.bounded) state_.tally.without_bound(output_, doubt.logical);
      return accepted(!expected.bounded || expected.bits == doubt.bits);
    }
    doubt.lo = element(value.lo, at);
    doubt.hi = element(value.hi, at);
    if (accepts_anything(doubt.lo, doubt.hi)) state_.tally.without_bound(output_, doubt.logical);
    const Cell cell = cell_of(doubt.bits);
    const Margins m = margins_of(cell, value.v[at], element(value.e, at), doubt.lo, doubt.hi);
    return root_.saturates ? decide_saturated(output_.dtype, cell, m, doubt.lo, doubt.hi)
                           : decide(output_.dtype, cell, m, doubt.lo, doubt.hi);
  }

  void note(const Value& value, int64_t at, bool shared) {
    ElementNote& note = state_.tally.note;
    note.rule = "R17";
    std::string text;
    if (value.i != nullptr && root_.raw_node >= 0)
      text = element_text(output_.dtype, static_cast<uint64_t>(value.i[at]));
    else
      text = value.i != nullptr ? wide_text(value.i[at]) : shortest(value.v[at]);
    note.accepted += (note.accepted.empty() ? (shared ? "one of " : "") : ", ") + text;
    note.error = shared ? "what none of its writers gives" : "not what its writer gives";
  }

  CaseState& state_;
  const FormulaRoot& root_;
  const Tensor& output_;
  Writers writers_;
  const int bytes_;
  std::map<int64_t, Shared> shared_;
  std::vector<Doubt> doubts_;
  std::set<int64_t> rejected_;  ///< by the plain reading of the policies
};

}  // namespace

void judge_scatter(CaseState& state, const FormulaRoot& root, const Tensor& output) {
  if (root.accumulates)
    judge_scatter_sum(state, root, output);
  else
    ScatterJudge(state, root, output).run();
}

}  // namespace assay
