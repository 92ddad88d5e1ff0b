// Explains an element of an output that is compared bit by bit, an integer, an index or a code.
#include <algorithm>

#include "oracles/codes.hpp"
#include "oracles/explainer.hpp"
#include "oracles/number_text.hpp"

namespace assay {

namespace {

std::string tie_text(const IndexExpectation& expected, std::optional<TiePolicy> tie) {
  if (expected.nan) return ": a NaN is the extremum (policy nan)";
  if (expected.candidates <= 1) return "";
  if (!expected.exact) return ": their enclosures reach the greatest lower limit";
  if (!tie) return ": tied, and policy tie is missing";
  if (*tie == TiePolicy::free) return ": tied, policy tie = \"free\"";
  return std::string(": of ") + std::to_string(expected.candidates) +
         " that tie, policy tie = " + (*tie == TiePolicy::first ? "\"first\"" : "\"last\"");
}

std::string codes_text(const CodeRange& range) {
  if (range.low != range.high)
    return "[" + wide_text(range.low) + ", " + wide_text(range.high) + "]";
  std::string text = wide_text(range.low);
  for (const __int128 other : range.others) text += ", " + wide_text(other);
  return "{" + text + "}" +
         (range.others.empty() ? "" : ": wrapped, by way of what a conversion saturates to");
}

}  // namespace

void Explainer::explain_bits() {
  const Value& value = rows_.at(root_->raw_node, whole_);
  const int64_t k = position(value);
  const auto bits = static_cast<uint64_t>(value.i[k]);
  report_.exact = full_text(output_.dtype, bits);
  if (report_.accepted.empty()) report_.accepted = "the bits " + hex(output_.dtype, bits);
  if (is_floating(output_.dtype) && report_.written) set_error(to_double(output_.dtype, bits));
  if (report_.written) report_.error_text = "the bits differ; nothing but the copied bits is right";
  if (report_.got_bits == bits) report_.error_text.clear();
  set_rule("R2");
}

void Explainer::explain_integer() {
  const Node& n = node(root_->node);
  if (n.op == Op::argmax || n.op == Op::argmin) return explain_index(n);
  if (n.op == Op::cast && !node(n.args[0]).integral) return explain_code(n);
  const Value& value = rows_.at(root_->node, whole_);
  const int64_t k = position(value);
  const uint8_t status = status_of(value, k);
  const IntegerExpectation expected =
      expected_integer(contract_, formula_.graph, root_->node, output_.dtype, value.i[k], status);
  report_.exact = status == kKnown ? wide_text(value.i[k]) : "undefined";
  if (report_.written && status == kUndefined) return explain_no_bound();
  if (report_.accepted.empty())
    report_.accepted = expected.bounded ? "{" + element_text(output_.dtype, expected.bits) + "}"
                                        : "anything: nothing is documented here";
  if (report_.written && status == kKnown) {
    const __int128 off = to_integer(output_.dtype, report_.got_bits) - value.i[k];
    if (off != 0) report_.error_text = "off by " + wide_text(off);
  }
  set_rule("R3");
}

void Explainer::explain_index(const Node& n) {
  rows_.at(root_->node, whole_);
  const Value& a = rows_.at(n.args[0], whole_);
  const int along = n.reduced[0];
  const Scores scores{a.v,
                      a.e,
                      a.lo,
                      a.hi,
                      position(a),
                      stride_along(a.grid, along),
                      whole_.extent[static_cast<size_t>(along)],
                      n.op == Op::argmin ? -1.0 : 1.0,
                      a.i,
                      a.status};
  const IndexExpectation expected = expected_index(scores, settings_.nan);
  set_rule("R14");
  if (!expected.bounded) return explain_no_bound();
  const auto score_text = [&](int64_t j) {
    const int64_t k = scores.base + j * scores.step;
    return score_of(n) + "[" + dim_name(along) + "=" + std::to_string(j) +
           "] = " + (a.i != nullptr ? wide_text(a.i[k]) : shortest(a.v[k]));
  };
  constexpr int64_t listed = 8;
  const auto tie = contract_.policy.tie;
  int64_t shown = 0;
  std::string indices;
  for (int64_t j = 0; j < scores.n && shown <= listed; ++j) {
    if (!accepts_index(scores, expected, tie, j)) continue;
    if (++shown > listed) {
      indices += ", ...";
      break;
    }
    indices += (indices.empty() ? "" : ", ") + std::to_string(j);
    report_.candidates.push_back(score_text(j));
  }
  report_.exact = "the " + std::string(n.op == Op::argmin ? "smallest" : "largest") + " " +
                  score_text(expected.first);
  if (report_.accepted.empty()) report_.accepted = "{" + indices + "}" + tie_text(expected, tie);
  if (!report_.written) return;
  const __int128 got = to_integer(output_.dtype, report_.got_bits);
  if (got < 0 || got >= scores.n)
    report_.error_text = "no index: " + dim_name(along) + " has " + std::to_string(scores.n);
  else if (accepts_index(scores, expected, tie, got))
    report_.error_text.clear();
  else
    report_.error_text = "its score is " + score_text(static_cast<int64_t>(got));
}

std::string Explainer::score_of(const Node& n) const {
  const std::string text = node_text(node(n.args[0]));
  return text.find(' ') == std::string::npos || text.front() == '(' ? text : "(" + text + ")";
}

void Explainer::explain_code(const Node& n) {
  const Value& a = rows_.at(n.args[0], whole_);
  const int64_t k = position(a);
  const double lo = element(a.lo, k);
  const double hi = element(a.hi, k);
  const CodeRange range =
      accepted_codes(n, settings_.cast_overflow, a.v[k], known_error(a, k), lo, hi);
  set_rule("R15");
  const int converted = n.args[0];
  report_.exact = formula_.multiprecision->text(rows_, converted, single_, 17) +
                  " before it is converted to " + std::string(name(n.type));
  if (!range.bounded) return explain_no_bound();
  if (report_.accepted.empty()) report_.accepted = codes_text(range);
  if (!report_.written) return;
  list_terms(converted);
  report_.allowance = std::max(lo, hi);
  report_.allowance_text = "absolute " + brief(report_.allowance) + ", before the conversion";
  const __int128 got = to_integer(output_.dtype, report_.got_bits);
  if (range.holds(got)) return;
  const __int128 off = got - (got > range.high ? range.high : range.low);
  report_.error_text = range.others.empty() ? "off by " + wide_text(off) : "none of these";
}

}  // namespace assay
