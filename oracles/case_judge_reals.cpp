// Floating-point outputs: the fast match, then decisions element by element (rules R4 to R8).
#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/case_judge.hpp"
#include "oracles/codes.hpp"
#include "oracles/selected.hpp"
#include "oracles/zero_signs.hpp"

namespace assay {

/// Contiguous views of a run of the root's array.
class CaseJudge::ArgumentView {
 public:
  explicit ArgumentView(const Value& value) : value_(value) {}
  rows::In block(int64_t at, int64_t stride, int n) {
    return {one(value_.v, 0, at, stride, n), one(value_.e, 1, at, stride, n),
            one(value_.lo, 2, at, stride, n), one(value_.hi, 3, at, stride, n)};
  }

 private:
  const double* one(const double* array, int which, int64_t at, int64_t stride, int n) {
    static constexpr double zeros[rows::kBlock] = {};
    if (array == nullptr) return zeros;
    if (stride == 1) return array + at;
    for (int k = 0; k < n; ++k) lane_[which][k] = array[at + k * stride];
    return lane_[which];
  }
  const Value& value_;
  double lane_[4][rows::kBlock];
};

void CaseJudge::judge_reals() {
  const Value& value = rows_.at(root_->node, chunk_);
  open_.clear();
  match(value);
  if (options_.observer) observe_reals(value);
  if (contract_.policy.zero_order == ZeroOrderPolicy::signed_zero) judge_zeros(value);
  if (open_.empty()) return;
  std::vector<Open> doubts;
  std::vector<Open> rejected;
  for (const Open& open : open_) {
    const Decision decision = first_decision(open);
    if (decision == Decision::accepted)
      count_accepted(open);
    else
      (decision == Decision::doubt ? doubts : rejected).push_back(open);
  }
  for (const Open& open : doubts) {
    const Decision decision = higher_decision(open);
    if (decision == Decision::accepted) count_accepted(open);
    if (decision == Decision::rejected) rejected.push_back(open);
    if (decision == Decision::doubt)
      known_to_last_tier(open) ? undecided(open.place) : without_bound(open.place);
  }
  if (!rejected.empty()) judge_rejected(rejected);
}

void CaseJudge::match(const Value& value) {
  got_.resize(static_cast<size_t>(count_));
  ok_.resize(static_cast<size_t>(count_));
  const rows::Kernels& kernels =
      settings_.kernels != nullptr ? *settings_.kernels : rows::kernels();
  to_doubles(kernels, output_->dtype, count_, bits_.data(), got_.data());
  const rows::MatchFormat constants = match_format(output_->dtype, settings_);
  const Grid out = output_grid();
  const int64_t base = position_in(formula_.graph, value.grid, *output_, *low_);
  ArgumentView view(value);
  for_runs<1>(out, {&value.grid},
              [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                for (int64_t k = 0; k < n; k += rows::kBlock) {
                  const int m = static_cast<int>(std::min<int64_t>(rows::kBlock, n - k));
                  const int64_t at = base + offset[0] + k * stride[0];
                  match_block(kernels, constants, view, done + k, at, stride[0], m);
                }
              });
}

void CaseJudge::judge_zeros(const Value& value) {
  ZeroSigns zeros(formula_.graph, rows_, chunk_);
  each_written(value, [&](int64_t place, int64_t at) {
    const Open zero = open_at(place, value, at);
    const double got = got_[static_cast<size_t>(place)];
    if (got != 0 || zero.v != 0 || zero.e != 0 || zero.lo != 0 || zero.hi != 0) return;
    const uint8_t sign = std::signbit(got) ? kMinusZero : kPlusZero;
    if ((zeros.of(root_->node)[static_cast<size_t>(at)] & sign) == 0) wrong(place, "R9", HUGE_VAL);
  });
}

void CaseJudge::match_block(const rows::Kernels& kernels, const rows::MatchFormat& constants,
                            ArgumentView& view, int64_t place, int64_t at, int64_t stride, int n) {
  const rows::In a = view.block(at, stride, n);
  uint8_t* ok = ok_.data() + place;
  const rows::MatchTotals totals = kernels.match(n, a, got_.data() + place, constants, ok);
  share_ = std::max(share_, totals.share);
  verdict_.weak += totals.weak;
  const bool start_higher = options_.first_tier != Tier::running_double;
  if (totals.all && !start_higher && !zero_rows_matter()) return;
  for (int k = 0; k < n; ++k) {
    if (written_[static_cast<size_t>(place + k)] == 0) continue;
    const bool nan_matters = zero_rows_matter() && std::isnan(a.v[k]);
    if (ok[k] == 0 || start_higher || nan_matters)
      open_.push_back({place + k, at + k * stride, a.v[k], a.e[k], a.lo[k], a.hi[k]});
  }
}

Cell CaseJudge::cell(const Open& open) const {
  return output_cell(*root_, output_->dtype, got_bits(open.place), rows_.settings());
}

Decision CaseJudge::decided(const Cell& c, const Margins& m, const Open& open) const {
  // What comes back into range is no infinity in a kernel that never leaves it: the last tier
  // tells.
  const bool stays = contract_.policy.range == RangePolicy::safe;
  if (stays && std::isinf(c.value) && rows::limited(open.v, m.value_error, open.lo, open.hi))
    return Decision::doubt;
  return root_->saturates ? decide_saturated(output_->dtype, c, m, open.lo, open.hi)
                          : decide(output_->dtype, c, m, open.lo, open.hi);
}

double CaseJudge::times_allowed(const Open& open) const {
  const Cell c = cell(open);
  return excess_of(output_->dtype, c, margins_of(c, open.v, open.e, open.lo, open.hi), open.lo,
                   open.hi)
      .times;
}

Decision CaseJudge::first_decision(const Open& open) const {
  if (options_.first_tier != Tier::running_double) return Decision::doubt;
  const Cell c = cell(open);
  if (short_of_limit(c, open)) return Decision::rejected;
  return decided(c, margins_of(c, open.v, open.e, open.lo, open.hi), open);
}

bool CaseJudge::short_of_limit(const Cell& c, const Open& open) const {
  const bool from_below = std::isfinite(open.lo) && open.hi == HUGE_VAL;
  const bool from_above = std::isfinite(open.hi) && open.lo == HUGE_VAL;
  if (open.e != HUGE_VAL || !std::isfinite(open.v) || !(from_below || from_above)) return false;
  if (std::isnan(c.value)) return format_of(output_->dtype).has_infinity;
  const double sign = from_below ? 1 : -1;
  const double inner = from_below ? open.lo : open.hi;
  const double limit = sign * open.v - inner - (std::fabs(open.v) + inner) * 0x1p-50;
  return sign * c.value + std::max(c.above, c.below) < limit;
}

void count_use(CaseState& state, const Tensor& output, double got, double v, double e, double lo,
               double hi) {
  const rows::Kernels& kernels =
      state.settings.kernels != nullptr ? *state.settings.kernels : rows::kernels();
  uint8_t ok = 0;
  const rows::MatchTotals totals =
      kernels.match(1, {&v, &e, &lo, &hi}, &got, match_format(output.dtype, state.settings), &ok);
  state.tally.verdict.weak += totals.weak;
  if (totals.share > 0) state.tally.used(output, totals.share);
}

Decision decide_higher(CaseState& state, int node, bool saturates, DType type, const Cell& cell,
                       const Chunk& single, double lo, double hi) {
  if (accepts_anything(lo, hi)) return Decision::accepted;
  Decision decision = Decision::doubt;
  const auto decided_by = [&](ExactTier& exact) {
    const Margins m = exact.margins(state.formula.rows, node, single, cell, lo, hi);
    decision = saturates ? decide_saturated(type, cell, m, lo, hi) : decide(type, cell, m, lo, hi);
    return decision != Decision::doubt;
  };
  const JudgeOptions& options = state.options;
  if (options.allows(Tier::double_double) && decided_by(*state.formula.double_double))
    return decision;
  if (!options.allows(Tier::multiprecision)) return decision;
  // Whoever starts in the last tier means all of its bits.
  const bool shorter = options.first_tier != Tier::multiprecision;
  if (shorter && decided_by(*state.formula.short_multiprecision)) return decision;
  decided_by(*state.formula.multiprecision);
  return decision;
}

Decision CaseJudge::higher_decision(const Open& open) {
  const Chunk single = element_chunk(formula_.graph, rows_, *output_, coordinates(open.place));
  if (const auto near = decide_vast(open, single)) return *near;
  return decide_higher(state_, root_->node, root_->saturates, output_->dtype, cell(open), single,
                       open.lo, open.hi);
}

std::optional<Decision> CaseJudge::decide_vast(const Open& open, const Chunk& single) {
  const Cell got = cell(open);
  const bool from_below = std::isfinite(open.lo) && open.hi == HUGE_VAL;
  const bool from_above = std::isfinite(open.hi) && open.lo == HUGE_VAL;
  const bool last = options_.last_tier == Tier::multiprecision;
  const bool stays = contract_.policy.range == RangePolicy::safe;
  const bool judged = std::isfinite(got.value) || (stays && std::isinf(got.value));
  if (open.e != HUGE_VAL || !(from_below || from_above) || !judged || !last) return std::nullopt;
  ExactTier& tier = *formula_.multiprecision;
  const Margins known = tier.margins(rows_, root_->node, single, got, open.lo, open.hi);
  if (known.nan || known.infinite != 0 || std::isinf(known.value_error)) return std::nullopt;
  const double inner = from_below ? open.lo : open.hi;
  const double by = inner * std::max(1.0, std::fabs(known.value / open.v) * rows::kOutward);
  if (!std::isfinite(by)) return std::nullopt;
  return decided(got, tier.margins(rows_, root_->node, single, got, by, by), {0, 0, 0, 0, by, by});
}

bool CaseJudge::known_to_last_tier(const Open& open) {
  if (options_.last_tier != Tier::multiprecision) return true;
  const Chunk single = element_chunk(formula_.graph, rows_, *output_, coordinates(open.place));
  const Margins m =
      formula_.multiprecision->margins(rows_, root_->node, single, cell(open), open.lo, open.hi);
  return !std::isinf(m.value_error);
}

void CaseJudge::count_accepted(const Open& open) {
  if (accepts_anything(open.lo, open.hi)) without_bound(open.place);
}

void CaseJudge::judge_rejected(const std::vector<Open>& rejected) {
  std::vector<Open> left;
  any_nan_.reset();
  for (const Open& open : rejected)
    if (!limit_accepts(open) && !empty_row_accepts(open, rejected)) left.push_back(open);
  for (const Reading& reading : other_readings(state_))
    if (!left.empty()) left = judge_again(left, reading);
  for (const Open& open : left)
    wrong(open.place, std::isnan(open.v) ? "R5" : "R4", times_allowed(open));
}

bool CaseJudge::limit_accepts(const Open& open) {
  if (root_->limits < 0) return false;
  const Value& value = rows_.at(root_->limits, chunk_);
  const std::vector<int64_t> where = coordinates(open.place);
  const int64_t at = position_in(formula_.graph, value.grid, *output_, where);
  const Open limit = open_at(open.place, value, at);
  const bool same = limit.v == open.v || (std::isnan(limit.v) && std::isnan(open.v));
  if (same || accepts_anything(limit.lo, limit.hi)) return false;
  const Cell got = cell(open);
  const Margins margins = margins_of(got, limit.v, limit.e, limit.lo, limit.hi);
  Decision decision = decided(got, margins, limit);
  if (decision == Decision::doubt)
    decision =
        decide_higher(state_, root_->limits, root_->saturates, output_->dtype, got,
                      element_chunk(formula_.graph, rows_, *output_, where), limit.lo, limit.hi);
  return decision == Decision::accepted;
}

bool CaseJudge::empty_row_accepts(const Open& open, const std::vector<Open>& rejected) {
  if (!looks_empty(open) || contract_.policy.empty == EmptyPolicy::nan) return false;
  if (any_row_has_nan_or_infinity(rejected) && row_has_nan_or_infinity(open)) return false;
  if (!row_is_empty(open)) return false;
  ++verdict_.widened;
  if (!contract_.policy.empty) ask(kAskEmpty);
  return true;
}

namespace {

bool is_nan_or_infinity(double x) {
  return std::isnan(x) || x > std::numeric_limits<double>::max();
}

}  // namespace

bool CaseJudge::any_row_has_nan_or_infinity(const std::vector<Open>& rejected) {
  if (any_nan_) return *any_nan_;
  std::vector<int64_t> positions;
  for (const Open& open : rejected)
    if (looks_empty(open)) positions.push_back(open.at);
  any_nan_ =
      any_selected(formula_.graph, rows_, chunk_, root_->node, positions, is_nan_or_infinity);
  return *any_nan_;
}

bool CaseJudge::row_has_nan_or_infinity(const Open& open) {
  const Graph& graph = formula_.graph;
  const std::vector<int64_t> at = coordinates(open.place);
  const Chunk single = chunk_for(graph, rows_, *output_, at, std::vector<int64_t>(at.size(), 1));
  const Grid grid = grid_of(graph.nodes[static_cast<size_t>(root_->node)].dims, single);
  const int64_t position = position_in(graph, grid, *output_, at);
  return any_selected(graph, rows_, single, root_->node, {&position, 1}, is_nan_or_infinity);
}

bool CaseJudge::row_is_empty(const Open& open) {
  const Graph& graph = formula_.graph;
  const std::vector<int64_t> at = coordinates(open.place);
  const Chunk single = chunk_for(graph, rows_, *output_, at, std::vector<int64_t>(at.size(), 1));
  // Of what was evaluated for the whole chunk, the part that the element is made from.
  const auto any = [&](int node, auto holds) {
    const Value& value = rows_.at(node, chunk_);
    const Grid part = grid_of(graph.nodes[static_cast<size_t>(node)].dims, single);
    const int64_t base = base_in(value.grid, single);
    bool found = false;
    for_runs<1>(part, {&value.grid}, [&](int64_t, int64_t n, const auto& offset, const auto& step) {
      for (int64_t k = 0; k < n; ++k) found |= holds(value.v[base + offset[0] + k * step[0]]);
    });
    return found;
  };
  const auto is_zero = [](double x) { return x == 0; };
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    const auto self = static_cast<int>(id);
    const bool extremum = node.op == Op::max || node.op == Op::min;
    const bool average = node.op == Op::mean || node.op == Op::var;
    if (!extremum && !average && node.op != Op::div) continue;
    if (node.integral || !graph.feeds(self, root_->node)) continue;
    const double nothing = node.op == Op::max ? -HUGE_VAL : HUGE_VAL;
    if (extremum && any(self, [nothing](double x) { return x == nothing; })) return true;
    const bool no_terms = std::any_of(node.reduced.begin(), node.reduced.end(), [&](int dim) {
      return rows_.extents()[static_cast<size_t>(dim)] == 0;
    });
    if (average && no_terms) return true;
    if (node.op == Op::div && graph.reduces(node.args[1]) && any(node.args[0], is_zero) &&
        any(node.args[1], is_zero))
      return true;
  }
  return false;
}

std::vector<Reading> other_readings(const CaseState& state) {
  std::vector<Reading> readings;
  const bool widen = state.contract.policy.range != RangePolicy::safe;
  if (widen) readings.push_back({.widen = true});
  const bool known = state.settings.flush || state.contract.policy.subnormals;
  // Doubles are never flushed.
  if (known || state.settings.arithmetic == DType::f64) return readings;
  readings.push_back({.flush = true});
  if (widen) readings.push_back({.widen = true, .flush = true});
  return readings;
}

EvaluationSettings settings_in(const Reading& reading, const EvaluationSettings& plain) {
  EvaluationSettings other = plain;
  other.widen = reading.widen;
  other.flush = plain.flush || reading.flush;
  return other;
}

const std::vector<OverflowSet>& overflow_sets(CaseState& state, int node, const Chunk& chunk) {
  Overflows& overflows = state.formula.overflows;
  const RowEvaluator& rows = state.formula.rows;
  overflows.start(rows.case_number(), state.instance, &state.outputs, rows.settings());
  return overflows.at(node, chunk);
}

bool follows_overflow(const std::vector<OverflowSet>& sets, int64_t at, const FormulaRoot& root,
                      DType type, const Cell& got) {
  return !sets.empty() && holds(sets[static_cast<size_t>(at)], type, got, root.saturates);
}

bool was_kept(const Reading& reading, const EvaluationSettings& plain, double got) {
  const double normal = std::ldexp(1.0, format_of(plain.arithmetic).min_exponent);
  return reading.flush && got != 0 && std::fabs(got) < normal;
}

void accept_reading(CaseState& state, const Reading& reading) {
  ++state.tally.verdict.widened;
  if (reading.widen && !state.contract.policy.range) state.tally.ask(kAskRange);
  if (reading.flush) state.tally.ask(kAskSubnormals);
}

std::vector<CaseJudge::Open> CaseJudge::judge_again(const std::vector<Open>& rejected,
                                                    const Reading& reading) {
  rows_.restart(settings_in(reading, settings_));
  const Value& value = rows_.at(root_->node, chunk_);
  std::vector<Open> in_reading;  // before the tiers below, which read operands anew
  for (const Open& open : rejected) in_reading.push_back(open_at(open.place, value, open.at));
  // What follows from an overflow need not lie within the widened interval, which knows neither NaN
  // nor what becomes of a 0 beside an infinity.
  const std::vector<OverflowSet>* overflows =
      reading.widen ? &overflow_sets(state_, root_->node, chunk_) : nullptr;
  std::vector<Open> left;
  for (size_t k = 0; k < rejected.size(); ++k) {
    const Open& open = rejected[k];
    const Open& wide = in_reading[k];
    const Cell got = cell(open);
    const bool kept = was_kept(reading, settings_, got.value);
    const bool grown = !(wide.lo <= open.lo) || !(wide.hi <= open.hi);
    const bool differs = !kept && (grown || (reading.flush && got.value == 0));
    Decision decision = Decision::rejected;
    const bool follows = overflows != nullptr && !kept &&
                         follows_overflow(*overflows, open.at, *root_, output_->dtype, got);
    if (follows && tells_alone((*overflows)[static_cast<size_t>(open.at)], got, wide.v, wide.e)) {
      decision = Decision::accepted;
    } else if (differs) {
      decision = decided(got, margins_of(got, wide.v, wide.e, wide.lo, wide.hi), wide);
      if (decision == Decision::doubt) decision = higher_decision(wide);
      if (reading.widen && !follows && decision == Decision::accepted)
        decision = Decision::rejected;
    }
    if (decision == Decision::rejected) left.push_back(open);
    if (decision == Decision::doubt) undecided(open.place);
    if (decision == Decision::accepted) accept_reading(state_, reading);
  }
  rows_.restart(settings_);
  return left;
}

}  // namespace assay
