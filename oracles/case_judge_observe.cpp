// Shows an observer each judged element beside its exact value.
#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/case_judge.hpp"

namespace assay {

void CaseJudge::observe(int64_t place, double exact, bool bounded) const {
  options_.observer(
      {*output_, output_->linear(coordinates(place)), got_bits(place), exact, bounded});
}

double CaseJudge::element_value(uint64_t bits) const {
  return is_floating(output_->dtype) ? to_double(output_->dtype, bits)
                                     : static_cast<double>(to_integer(output_->dtype, bits));
}

void CaseJudge::observe_reals(const Value& value) {
  const double largest = format_of(output_->dtype).largest;
  each_written(value, [&](int64_t place, int64_t at) {
    const Open open = open_at(place, value, at);
    double exact = sharp_value(open);
    if (root_->saturates) exact = std::clamp(exact, -largest, largest);
    observe(place, exact, !accepts_anything(open.lo, open.hi));
  });
}

double CaseJudge::sharp_value(const Open& open) {
  if (!std::isfinite(open.v) || open.e <= kObservedUlps * ulp(output_->dtype, open.v))
    return open.v;
  const Chunk single = element_chunk(formula_.graph, rows_, *output_, coordinates(open.place));
  const Margins m =
      formula_.multiprecision->margins(rows_, root_->node, single, cell(open), open.lo, open.hi);
  if (m.nan) return std::numeric_limits<double>::quiet_NaN();
  return m.infinite != 0 ? m.infinite * HUGE_VAL : m.value;
}

}  // namespace assay
