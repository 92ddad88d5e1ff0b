// Holds values to what the contract's `domain` and its policy on NaN admit.
#include <algorithm>

#include "generators/hash.hpp"
#include "generators/value_parts.hpp"

namespace assay {
namespace {

/// A value of the domain, drawn by `hash`.
uint64_t draw_from_domain(const ValuePlan& plan, DType type, uint64_t hash) {
  size_t at = reduced(mix64(hash), plan.domain.size());
  const auto empty = [&](const ValueRange& range) {
    return is_floating(type) ? range.low > range.high : range.low_int > range.high_int;
  };
  while (empty(plan.domain[at])) at = (at + 1) % plan.domain.size();  // one is not: plan_values
  const ValueRange& range = plan.domain[at];
  if (is_floating(type)) {
    const double largest = format_of(type).largest;
    if (range.low > largest || range.high < -largest)  // an infinity alone
      return round_to_bits(type, range.low > largest ? range.low : range.high);
    const double low = std::clamp(range.low, -largest, largest);
    const double high = std::clamp(range.high, -largest, largest);
    const double u = unit_real(hash);
    return round_to_bits(type, std::clamp(low * (1 - u) + high * u, low, high));
  }
  const uint64_t span =
      static_cast<uint64_t>(range.high_int) - static_cast<uint64_t>(range.low_int);
  const uint64_t value = static_cast<uint64_t>(range.low_int) +
                         (span == ~uint64_t{0} ? hash : reduced(hash, span + 1));
  const int bits = bit_width(type);
  return bits == 64 ? value : value & ((uint64_t{1} << bits) - 1);
}

bool in_domain(const ValuePlan& plan, DType type, uint64_t bits) {
  if (is_floating(type)) {
    const double value = to_double(type, bits);
    if (value != value) return false;
    for (const ValueRange& range : plan.domain) {
      if (value >= range.low && value <= range.high) return true;
    }
    return plan.domain.empty();
  }
  const __int128 value = to_integer(type, bits);
  for (const ValueRange& range : plan.domain) {
    if (value >= range.low_int && value <= range.high_int) return true;
  }
  return plan.domain.empty();
}

}  // namespace

void restrict_values(const ValuePlan& plan, DType type, const Chunk& chunk, uint8_t* out) {
  const int size = byte_size(type);
  for (int i = 0; i < chunk.count; ++i) {
    const uint64_t bits = load_bits(out + i * size, size);
    if (in_domain(plan, type, bits)) continue;
    const uint64_t replacement = plan.domain.empty()
                                     ? round_to_bits(type, unit_normal(chunk.hash[i]))
                                     : draw_from_domain(plan, type, chunk.hash[i]);
    store(out + i * size, replacement, size);
  }
}

}  // namespace assay
