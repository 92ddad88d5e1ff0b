// Value classes whose elements are bit patterns.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "generators/hash.hpp"
#include "generators/value_parts.hpp"

namespace assay {
namespace {

/// The type's special values: extremes, zeros, ones and their neighbours.
const std::vector<uint64_t>& edge_bits(DType type) {
  static const auto kTables = [] {
    std::array<std::vector<uint64_t>, 17> tables;
    for (int t = 0; t < 15; ++t) {  // types of whole bytes
      const auto dtype = static_cast<DType>(t);
      std::vector<uint64_t>& table = tables[t];
      if (is_floating(dtype)) {
        const FloatFormat format = format_of(dtype);
        const double tiny = format.smallest_subnormal();
        const double normal = power_of_two(format.min_exponent);
        const double unit = 2 * format.unit_roundoff();
        for (const double value : {0.0, tiny, normal - tiny, normal, 1 - unit / 2, 1.0, 1 + unit,
                                   2.0, 0.5, format.largest, format.largest / 2}) {
          table.push_back(round_to_bits(dtype, value));
          table.push_back(round_to_bits(dtype, -value));
        }
        continue;
      }
      const int bits = bit_width(dtype);
      const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
      const uint64_t top = uint64_t{1} << (bits - 1);
      for (const uint64_t value :
           {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{7}, mask, mask - 1,
            mask - 6, top, top + 1, top - 1, top - 2, top >> 1, uint64_t{10}}) {
        table.push_back(dtype == DType::boolean ? value & 1 : value & mask);
      }
    }
    return tables;
  }();
  return kTables[static_cast<size_t>(type)];
}

/// Number of an element among those that come in turn: `first` + logical index / `each`.
uint64_t turn(const ValuePlan& plan, const Chunk& chunk, int i) {
  const auto first = static_cast<uint64_t>(static_cast<int64_t>(plan.p[0]));
  const auto each = static_cast<uint64_t>(std::max(plan.p[1], 1.0));
  const auto index = static_cast<uint64_t>(chunk.first + i * chunk.step);
  return first + (each == 1 ? index : index / each);
}

/// Number `n` of the sample that takes `mantissas` numbers of every sign and exponent, signs and
/// exponents ascending as bits: the first, the last, the second and the middle one of the binade,
/// then hashed ones.
uint64_t exponent_bits(const ValuePlan& plan, DType type, uint64_t n) {
  const auto count = static_cast<uint64_t>(std::max(plan.p[2], 1.0));
  const int stored = format_of(type).precision - 1;
  const uint64_t ones = (uint64_t{1} << stored) - 1;
  const uint64_t binades = uint64_t{1} << (bit_width(type) - stored);
  n %= binades * count;
  const std::array<uint64_t, 4> telling{0, ones, 1, uint64_t{1} << (stored - 1)};
  const uint64_t which = n % count;
  const uint64_t mantissa =
      which < telling.size() ? telling[which] : counter_hash(plan.key, n) & ones;
  return n / count << stored | mantissa;
}

/// An odd multiple of half an ulp of a format with `precision` bits, moved by the operand's last
/// place (one element in eight stays): what a second rounding, in a format between the two, loses.
/// Floating: of magnitude 1/4 to 8. Integers: half of them in the top five binades, where one in
/// the last place is lost to the formats between, the others anywhere.
uint64_t beside_tie(DType type, int wanted, uint64_t hash) {
  const int own = precision_of(type);
  if (type == DType::boolean) return hash & 1;
  if (own < 3) return hash & ((uint64_t{1} << bit_width(type)) - 1);
  const int precision = std::clamp(wanted, 1, own - 2);
  const uint64_t top = uint64_t{1} << (precision - 1);
  const uint64_t significand = 2 * (top + (hash & (top - 1))) + 1;  // precision + 1 bits
  const uint64_t draw = mix64(hash);
  const uint64_t step = draw % 8 == 0 ? 0 : (draw & 8) != 0 ? 1 : ~uint64_t{0};
  const bool negative = (hash >> 63) != 0;
  if (is_floating(type)) {
    const int exponent = static_cast<int>((hash >> 56) % 5) - precision - 2;
    const uint64_t bits =
        round_to_bits(type, static_cast<double>(significand) * power_of_two(exponent)) + step;
    return negative ? bits | uint64_t{1} << (bit_width(type) - 1) : bits;
  }
  const auto most = static_cast<uint64_t>(own - precision - 1);  // places left to shift by
  const uint64_t below =
      reduced(mix64(draw), (draw & 16) != 0 ? std::min<uint64_t>(most + 1, 5) : most + 1);
  const uint64_t magnitude = (significand << (most - below)) + step;
  const uint64_t bits = negative && is_signed(type) ? ~magnitude + 1 : magnitude;
  return bit_width(type) == 64 ? bits : bits & ((uint64_t{1} << bit_width(type)) - 1);
}

/// Magnitudes at which a type of `precision` bits, from `least` to `largest`, begins, ends and is
/// halfway between two of its values. An integer type has least 1.
std::vector<double> edge_magnitudes(int precision, double largest, double least) {
  int exponent = 0;
  std::frexp(largest, &exponent);
  const double step = std::ldexp(1.0, exponent - precision);  // between values beside the largest
  const double normal = std::ldexp(least, precision - 1);
  return {largest,        largest + step / 2, largest + step,     largest + 3 * step / 2,
          largest - step, largest - step / 2, least / 2,          least,
          3 * least / 2,  5 * least / 2,      normal - least / 2, normal};
}

/// Those of a type that is rounded to, and one last place of `type` to either side, of both signs.
std::vector<uint64_t> rounding_edges(DType type, const ValuePlan& plan) {
  std::vector<uint64_t> out;
  const int bits = bit_width(type);
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const auto precision = static_cast<int>(std::clamp(plan.p[0], 1.0, 64.0));
  const double largest = std::clamp(plan.p[1], 0x1p-1022, 0x1p1023);
  const double least = std::clamp(plan.p[2], 0x1p-1022, largest);
  for (const double magnitude : edge_magnitudes(precision, largest, least)) {
    for (const int step : {0, -1, 1}) {
      for (const bool negative : {false, true}) {
        if (is_floating(type)) {
          const uint64_t near = round_to_bits(type, magnitude);
          if (near == 0 && step < 0) continue;
          out.push_back((near + static_cast<uint64_t>(step)) & mask);
          if (negative) out.back() |= uint64_t{1} << (bits - 1);
          continue;
        }
        if (magnitude >= 0x1p64 || (negative && !is_signed(type))) continue;
        const __int128 value = (static_cast<__int128>(magnitude) + step) * (negative ? -1 : 1);
        const auto low = static_cast<uint64_t>(value) & mask;
        if (to_integer(type, low) == value) out.push_back(low);
      }
    }
  }
  if (out.empty()) out.push_back(0);
  return out;
}

/// The edges in turn, then hashed ones and what lies beside a tie, half and half.
void fill_rounding_edges(const ValuePlan& plan, DType type, const Chunk& chunk, uint64_t* out) {
  const std::vector<uint64_t> table = rounding_edges(type, plan);
  const auto precision = static_cast<int>(std::clamp(plan.p[0], 1.0, 64.0));
  for (int i = 0; i < chunk.count; ++i) {
    const auto index = static_cast<uint64_t>(chunk.first + i * chunk.step);
    const uint64_t hash = chunk.hash[i];
    out[i] = index < table.size()     ? table[index]
             : (mix64(hash) & 1) != 0 ? beside_tie(type, precision, hash)
                                      : table[reduced(hash, table.size())];
  }
}

}  // namespace

bool fill_bits(const ValuePlan& plan, DType type, const Chunk& chunk, uint64_t* out) {
  const int bits = bit_width(type);
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  if (plan.kind == ValueClass::bits) {
    const uint64_t kept = type == DType::boolean ? 1 : mask;
    for (int i = 0; i < chunk.count; ++i) out[i] = chunk.hash[i] & kept;
    return true;
  }
  if (plan.kind == ValueClass::patterns) {
    const uint64_t kept = type == DType::boolean ? 1 : mask;
    for (int i = 0; i < chunk.count; ++i) out[i] = turn(plan, chunk, i) & kept;
    return true;
  }
  if (plan.kind == ValueClass::beside_ties) {
    const auto precision = static_cast<int>(std::clamp(plan.p[0], 1.0, 64.0));
    for (int i = 0; i < chunk.count; ++i) out[i] = beside_tie(type, precision, chunk.hash[i]);
    return true;
  }
  if (plan.kind == ValueClass::rounding_edges) {
    fill_rounding_edges(plan, type, chunk, out);
    if (type == DType::boolean)
      for (int i = 0; i < chunk.count; ++i) out[i] &= 1;
    return true;
  }
  if (plan.kind == ValueClass::exponents) {
    for (int i = 0; i < chunk.count; ++i) out[i] = exponent_bits(plan, type, turn(plan, chunk, i));
    return true;
  }
  if (plan.kind == ValueClass::subnormal) {
    const uint64_t fraction = (uint64_t{1} << (format_of(type).precision - 1)) - 1;
    const uint64_t sign = uint64_t{1} << (bits - 1);
    for (int i = 0; i < chunk.count; ++i) out[i] = chunk.hash[i] & (fraction | sign);
    return true;
  }
  if (plan.kind == ValueClass::edges) {
    const std::vector<uint64_t>& table = edge_bits(type);
    for (int i = 0; i < chunk.count; ++i) out[i] = table[reduced(chunk.hash[i], table.size())];
    return true;
  }
  return false;
}

}  // namespace assay
