// Shows an observer each judged element beside its exact value.
#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/case_judge.hpp"

namespace assay {

void CaseJudge::observe(int64_t place, double exact, bool bounded) const {
  const int64_t logical =
      extent_->size() == 1 ? (*low_)[0] + place : output_->linear(coordinates(place));
  options_.observer({*output_, logical, got_bits(place), exact, bounded});
}

double CaseJudge::element_value(uint64_t bits) const {
  return is_floating(output_->dtype) ? to_double(output_->dtype, bits)
                                     : static_cast<double>(to_integer(output_->dtype, bits));
}

void CaseJudge::observe_reals(const Value& value) {
  const double largest = format_of(output_->dtype).largest;
  const std::vector<const Value*> forms = equal_forms();
  each_written(value, [&](int64_t place, int64_t at) {
    const Open open = open_at(place, value, at);
    double exact = sharp_value(open, forms);
    if (root_->saturates) exact = std::clamp(exact, -largest, largest);
    observe(place, exact, !accepts_anything(open.lo, open.hi));
  });
}

std::vector<const Value*> CaseJudge::equal_forms() {
  const Value& value = rows_.at(root_->node, chunk_);
  std::vector<const Value*> forms;
  // What is rounded, and the first form, stand for their argument's exact value.
  for (int id = root_->node;;) {
    const Node& node = formula_.graph.nodes[static_cast<size_t>(id)];
    if (node.op != Op::settle && node.op != Op::forms) return forms;
    for (size_t form = 1; node.op == Op::forms && form < node.args.size(); ++form) {
      if (node.text[form] != '#') continue;
      const Value& other = rows_.at(node.args[form], chunk_);
      if (other.grid == value.grid) forms.push_back(&other);
    }
    id = node.args[0];
  }
}

std::optional<double> CaseJudge::beyond_type(const Open& open) const {
  const FloatFormat format = format_of(output_->dtype);
  const bool infinite = element_value(got_bits(open.place)) == std::copysign(HUGE_VAL, open.v);
  if (!infinite || !format.has_infinity) return std::nullopt;
  if (std::fabs(open.v) - open.e > 2 * format.largest) return open.v;
  // As the last tier says of what is beyond double: the largest.
  if (rows::vast_limit(open.v, open.e, open.lo, open.hi) > 2 * format.largest)
    return std::copysign(std::numeric_limits<double>::max(), open.v);
  return std::nullopt;
}

double CaseJudge::sharp_value(const Open& open, const std::vector<const Value*>& forms) {
  const auto known = [this](double v, double e) {
    return e <= kObservedUlps * ulp(output_->dtype, v);
  };
  if (!std::isfinite(open.v) || known(open.v, open.e)) return open.v;
  if (const auto beyond = beyond_type(open)) return *beyond;
  for (const Value* form : forms) {
    const double v = form->v[open.at];
    if (std::isfinite(v) && known(v, element(form->e, open.at))) return v;
  }
  const Chunk single = element_chunk(formula_.graph, rows_, *output_, coordinates(open.place));
  const Margins m =
      formula_.multiprecision->margins(rows_, root_->node, single, cell(open), open.lo, open.hi);
  if (m.nan) return std::numeric_limits<double>::quiet_NaN();
  return m.infinite != 0 ? m.infinite * HUGE_VAL : m.value;
}

}  // namespace assay
