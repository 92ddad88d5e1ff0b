// Outputs judged bit by bit, integers, indices and codes (rules R2, R3, R14, R15).
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "oracles/case_judge.hpp"
#include "oracles/codes.hpp"

namespace assay {

void CaseJudge::judge_bits() {
  const Value& value = rows_.at(root_->raw_node, chunk_);
  const int bytes = byte_size(output_->dtype);
  each_written(value, [&](int64_t place, int64_t at) {
    const bool known = value.status == nullptr || value.status[at] == kKnown;
    if (options_.observer) {
      const auto bits = static_cast<uint64_t>(value.i[at]);
      observe(place, element_value(known ? bits : got_bits(place)), known);
    }
    if (!known)
      without_bound(place);
    else if (packed_bits(bits_.data(), place, bytes) != static_cast<uint64_t>(value.i[at]))
      wrong(place, "R2", HUGE_VAL);
  });
}

void CaseJudge::suspect(int64_t place, const char* rule) { suspects_.push_back({place, rule}); }

/// What the plain reading rejects is compared again in the others.
void CaseJudge::judge_integers() {
  suspects_.clear();
  observing_ = static_cast<bool>(options_.observer);
  compare_integers();
  observing_ = false;  // each element is shown once, beside its plain reading
  for (const Reading& reading : other_readings(state_)) {
    if (suspects_.empty()) break;
    rows_.restart(settings_in(reading, settings_));
    const std::vector<Suspect> before = std::exchange(suspects_, {});
    const Verdict counts = verdict_;
    compare_integers();
    verdict_ = counts;
    std::set<int64_t> wrong_again;
    for (const Suspect& s : suspects_) wrong_again.insert(s.place);
    suspects_.clear();
    for (const Suspect& s : before) {
      if (wrong_again.contains(s.place))
        suspects_.push_back(s);
      else
        accept_reading(state_, reading);
    }
    rows_.restart(settings_);
  }
  for (const Suspect& s : suspects_) wrong(s.place, s.rule, HUGE_VAL);
}

void CaseJudge::compare_integers() {
  const Node& node = formula_.graph.nodes[static_cast<size_t>(root_->node)];
  if (node.op == Op::argmax || node.op == Op::argmin) return judge_indices(node);
  const bool from_real =
      node.op == Op::cast && !formula_.graph.nodes[static_cast<size_t>(node.args[0])].integral;
  if (from_real) return judge_codes(node);
  const Value& value = rows_.at(root_->node, chunk_);
  each_written(value, [&](int64_t place, int64_t at) {
    const uint8_t status = status_of(value, at);
    const IntegerExpectation expected = expected_integer(contract_, formula_.graph, root_->node,
                                                         output_->dtype, value.i[at], status);
    if (expected.missing_policy) ask(kAskCast);
    if (observing_) observe(place, element_value(expected.bits), expected.bounded);
    if (!expected.bounded)
      without_bound(place);
    else if (expected.bits != got_bits(place))
      suspect(place, "R3");
  });
}

void CaseJudge::judge_indices(const Node& node) {
  const Value& index = rows_.at(root_->node, chunk_);
  const Value& a = rows_.at(node.args[0], chunk_);
  const int along = node.reduced[0];
  const Grid lines = index.grid;
  std::vector<int64_t> base(static_cast<size_t>(std::max<int64_t>(lines.size, 1)));
  for_runs<1>(lines, {&a.grid},
              [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                for (int64_t k = 0; k < n; ++k)
                  base[static_cast<size_t>(done + k)] = offset[0] + k * stride[0];
              });
  each_written(index, [&](int64_t place, int64_t at) {
    const Scores scores{a.v,
                        a.e,
                        a.lo,
                        a.hi,
                        base[static_cast<size_t>(at)],
                        stride_along(a.grid, along),
                        chunk_.extent[static_cast<size_t>(along)],
                        node.op == Op::argmin ? -1.0 : 1.0,
                        a.i,
                        a.status};
    const IndexExpectation expected = expected_index(scores, settings_.nan);
    if (expected.asks_nan && !contract_.policy.nan) ask(kAskNan);
    if (expected.candidates > 1 && !contract_.policy.tie) ask(kAskTie);
    if (!expected.bounded)
      without_bound(place);
    else if (!accepts_index(scores, expected, contract_.policy.tie,
                            to_integer(output_->dtype, got_bits(place))))
      suspect(place, "R14");
  });
}

void CaseJudge::judge_codes(const Node& node) {
  const Value& value = rows_.at(root_->node, chunk_);
  const Value& a = rows_.at(node.args[0], chunk_);
  // In a widened reading, only what follows from an overflow is added to the plain one.
  const std::vector<OverflowSet>* overflows =
      rows_.settings().widen ? &overflow_sets(state_, node.args[0], chunk_) : nullptr;
  each_written(value, [&](int64_t place, int64_t at) {
    const CodeRange range =
        accepted_codes(node, settings_.cast_overflow, a.v[at], known_error(a, at),
                       element(a.lo, at), element(a.hi, at));
    if (range.missing_policy) ask(kAskCast);
    const __int128 got = to_integer(output_->dtype, got_bits(place));
    if (observing_) {
      const bool inside = std::isnan(a.v[at]) ||  // what no code stands for is shown as it is
                          (a.v[at] >= static_cast<double>(range.low) - 1 &&
                           a.v[at] <= static_cast<double>(range.high) + 1);
      observe(place, inside ? a.v[at] : static_cast<double>(range.low), range.bounded);
    }
    if (overflows != nullptr) {
      const bool follows = !overflows->empty() && holds_code((*overflows)[static_cast<size_t>(at)],
                                                             node, settings_.cast_overflow, got);
      if (!follows) suspect(place, "R15");
    } else if (!range.bounded) {
      without_bound(place);
    } else if (!range.holds(got)) {
      suspect(place, "R15");
    }
  });
}

}  // namespace assay
