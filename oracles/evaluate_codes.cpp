// Conversions to integers, as operands of the rest of a formula: known where one code alone is
// right.
#include <algorithm>

#include "oracles/codes.hpp"
#include "oracles/node_work.hpp"

namespace assay {

void NodeWork::conversion() {
  const Value& a = argument(0);
  const int64_t size = std::max<int64_t>(out_.grid.size, 1);
  __int128* out = out_.own_i.get(size);
  __int128* high = out_.own_i_high.get(size);
  uint8_t* status = out_.own_status.get(size);
  for (int64_t k = 0; k < out_.grid.size; ++k) {
    const CodeRange range = accepted_codes(node_, evaluator_.settings_.cast_overflow, a.v[k],
                                           known_error(a, k), element(a.lo, k), element(a.hi, k));
    out[k] = range.low;
    high[k] = range.bounded && range.others.empty() ? range.high : range.low - 1;
    status[k] = range.bounded && range.single() ? kKnown : kUndefined;
  }
  out_.i = out;
  out_.i_high = high;
  out_.status = status;
}

/// From integers: wraps, or saturates.
void NodeWork::integer_conversion() {
  const Value& a = argument(0);
  const int64_t size = std::max<int64_t>(out_.grid.size, 1);
  __int128* out = out_.own_i.get(size);
  const bool saturates =
      node_.text == "quant" || evaluator_.settings_.cast_overflow == CastOverflowPolicy::saturate;
  for (int64_t k = 0; k < out_.grid.size; ++k)
    out[k] = saturates ? saturated(node_.type, a.i[k]) : wrapped(node_.type, a.i[k]);
  out_.i = out;
  if (a.i_high != nullptr) {
    __int128* high = out_.own_i_high.get(size);
    for (int64_t k = 0; k < out_.grid.size; ++k) {
      high[k] = saturates ? saturated(node_.type, a.i_high[k]) : wrapped(node_.type, a.i_high[k]);
      const bool kept = saturates || (out[k] == a.i[k] && high[k] == a.i_high[k]);
      if (a.i_high[k] < a.i[k] || !kept) high[k] = out[k] - 1;
    }
    out_.i_high = high;
  }
  out_.status = a.status;
}

}  // namespace assay
