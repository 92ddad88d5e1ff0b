// Makes the elements of value operands, a chunk at a time: hashes, then real values or bits by
// class, then the type's encoding. Loops are plain so that the compiler vectorises them.
#include "generators/value_fill.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "generators/hash.hpp"
#include "generators/instance.hpp"
#include "generators/values.hpp"
#include "generators/variation.hpp"

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Second, independent hash of an element or a row.
uint64_t rehash(uint64_t key, uint64_t counter) {
  return counter_hash(key ^ 0x6a09e667f3bcc909, counter);
}

/// Sum of four 16-bit uniforms, centred and scaled to unit variance (4 * 65536^2 / 12 before).
double unit_normal(uint64_t hash) {
  const int64_t sum = static_cast<int64_t>((hash & 0xffff) + ((hash >> 16) & 0xffff) +
                                           ((hash >> 32) & 0xffff) + (hash >> 48));
  return static_cast<double>(static_cast<int32_t>(sum) - 131070) * (1.0 / 37837.22727);
}

/// 2^exponent, exponent in [-1074, 1023].
double power_of_two(int exponent) {
  return exponent >= -1022 ? std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52)
                           : std::bit_cast<double>(uint64_t{1} << (exponent + 1074));
}

/// Place of an element: its row and its position there.
struct Place {
  int64_t row;
  int64_t at;
};

Place place_of(const ValuePlan& plan, int64_t index) {
  if (plan.axis_step == 1) {
    const int64_t row = index / plan.axis_extent;
    return {row, index - row * plan.axis_extent};
  }
  const int64_t outer = index / plan.axis_step;
  const int64_t row = outer / plan.axis_extent;
  return {row * plan.axis_step + index % plan.axis_step, outer - row * plan.axis_extent};
}

/// Calls body(i, place) for every element of the chunk.
template <typename Body>
void for_places(const ValuePlan& plan, const Chunk& chunk, Body body) {
  if (plan.axis_step == 1 && chunk.step == 1) {
    Place place = place_of(plan, chunk.first);
    for (int i = 0; i < chunk.count; ++i) {
      body(i, place);
      if (++place.at == plan.axis_extent) place = {place.row + 1, 0};
    }
    return;
  }
  for (int i = 0; i < chunk.count; ++i) body(i, place_of(plan, chunk.first + i * chunk.step));
}

/// The position that row `row` singles out.
int64_t chosen(const ValuePlan& plan, int64_t row) {
  return static_cast<int64_t>(reduced(rehash(plan.key, static_cast<uint64_t>(row)),
                                      static_cast<uint64_t>(plan.axis_extent)));
}

double rounded_down(double value) {  // floor for |value| < 2^53, without libm
  const auto truncated = static_cast<double>(static_cast<int64_t>(value));
  return truncated > value ? truncated - 1 : truncated;
}

/// Element `at` of a witness row (values.hpp): opposite halves of blocks of 2 `gap` elements, whose
/// differences of -1, 0 or 1 in the first 100 pairs are the row's total. An odd row's last element
/// has no partner and is +-`tail`: a 0 that is left out at the ragged end would not show.
double witness_value(const ValuePlan& plan, Place place) {
  const auto base = static_cast<int64_t>(plan.p[0]);
  const auto gap = static_cast<int64_t>(plan.p[1]);
  const auto active = std::min(static_cast<int64_t>(plan.p[2]), plan.axis_extent / 2 * 2);
  if (place.at >= active) {
    if (place.at != active || active + 1 != plan.axis_extent || plan.p[3] == 0) return 0;
    const uint64_t hash =
        rehash(plan.key, static_cast<uint64_t>(place.row * plan.axis_extent + place.at));
    return (hash & 1) != 0 ? -plan.p[3] : plan.p[3];
  }
  const int64_t start = place.at / (2 * gap) * (2 * gap);
  const int64_t half = std::min(2 * gap, active - start) / 2;
  const int64_t in_block = place.at - start;
  const int64_t pair = start / 2 + in_block % half;
  const uint64_t hash =
      rehash(plan.key, static_cast<uint64_t>(place.row * plan.axis_extent + pair));
  const int64_t magnitude = base + static_cast<int64_t>(reduced(hash, static_cast<uint64_t>(base)));
  if (in_block < half) return static_cast<double>(magnitude);
  int64_t difference = pair < 100 ? static_cast<int64_t>(hash % 3) - 1 : 0;
  const int64_t partner = magnitude - difference;
  if (partner < base || partner >= 2 * base) difference = 0;
  return static_cast<double>(difference - magnitude);
}

void fill_mixed(const ValuePlan& plan, const Chunk& chunk, double special, bool with_sign,
                double* out) {
  for (int i = 0; i < chunk.count; ++i) {
    const uint64_t hash = chunk.hash[i];
    const uint64_t draw = mix64(hash);
    const double sign = with_sign && (draw & 1) != 0 ? -1.0 : 1.0;
    out[i] = unit_real(draw) < plan.p[0] ? sign * special : unit_normal(hash) * plan.p[1];
  }
}

void fill_log_uniform(const ValuePlan& plan, DType type, const Chunk& chunk, bool with_sign,
                      double* out) {
  const double largest = is_floating(type) ? format_of(type).largest : kInfinity;
  const auto low = static_cast<int>(std::clamp(plan.p[0], -1074.0, 1023.0));
  const auto high = static_cast<int>(std::clamp(plan.p[1], static_cast<double>(low), 1023.0));
  for (int i = 0; i < chunk.count; ++i) {
    const uint64_t hash = chunk.hash[i];
    const auto exponent =
        low + static_cast<int>(reduced(mix64(hash), static_cast<uint64_t>(high - low + 1)));
    const double magnitude =
        std::min(largest, power_of_two(exponent) * (1.0 + unit_real(hash << 1)));
    out[i] = with_sign && (hash >> 63) != 0 ? -magnitude : magnitude;
  }
}

void fill_ties(const ValuePlan& plan, const Chunk& chunk, double* out) {
  const auto precision = static_cast<int>(std::clamp(plan.p[0], 1.0, 40.0));
  for (int i = 0; i < chunk.count; ++i) {
    const uint64_t hash = chunk.hash[i];
    const uint64_t top = uint64_t{1} << (precision - 1);
    const uint64_t significand = 2 * (top + (hash & (top - 1))) + 1;
    const int exponent = static_cast<int>((hash >> 48) % 5) - precision - 2;
    const double value = static_cast<double>(significand) * power_of_two(exponent);
    out[i] = (hash >> 63) != 0 ? -value : value;
  }
}

void fill_tied(const ValuePlan& plan, const Chunk& chunk, double* out) {
  const auto length = static_cast<uint64_t>(plan.axis_extent);
  const auto rank = static_cast<uint64_t>(std::max(0.0, plan.p[0]));
  for (int i = 0; i < chunk.count; ++i) {
    const uint64_t hash = chunk.hash[i];
    const uint64_t order = reduced(hash, length);
    out[i] = order < rank         ? 2.0 + static_cast<double>(hash & 7)
             : 2 * order < length ? 1.0
                                  : static_cast<double>(hash & 3) * -1.0;
  }
}

void fill_rows(const ValuePlan& plan, const Chunk& chunk, double* out) {
  const auto& p = plan.p;
  const auto key = plan.key;
  const auto normal = [&](int i) { return unit_normal(chunk.hash[i]); };
  switch (plan.kind) {
    case ValueClass::cancelling:
      return for_places(plan, chunk, [&](int i, Place place) {
        const int64_t even = place.at & ~int64_t{1};
        const double value =
            unit_normal(rehash(key, static_cast<uint64_t>(place.row * plan.axis_extent + even)));
        out[i] = p[1] * ((place.at & 1) == 0 ? value : -value + p[0] * normal(i));
      });
    case ValueClass::outlier:
      return for_places(plan, chunk, [&](int i, Place place) {
        out[i] = p[1] * normal(i) * (place.at == chosen(plan, place.row) ? p[0] : 1.0);
      });
    case ValueClass::equal_rows:
      return for_places(plan, chunk, [&](int i, Place place) {
        const auto choices = static_cast<uint64_t>(2 * std::max(0.0, p[0]) + 1);
        const uint64_t hash = rehash(key, static_cast<uint64_t>(place.row));
        out[i] = static_cast<double>(reduced(hash, choices)) - rounded_down(p[0]);
      });
    case ValueClass::sorted:
      return for_places(plan, chunk, [&](int i, Place place) {
        const auto length = static_cast<double>(plan.axis_extent);
        out[i] = p[0] * ((2 * static_cast<double>(place.at) + 1 - length) / length);
      });
    case ValueClass::masked:
      return for_places(plan, chunk, [&](int i, Place place) {
        const bool row = unit_real(rehash(key, static_cast<uint64_t>(place.row))) < p[2];
        const bool element = unit_real(mix64(chunk.hash[i])) < p[1];
        out[i] = row || element ? -kInfinity : p[0] * normal(i);
      });
    case ValueClass::prefix:
      return for_places(plan, chunk, [&](int i, Place place) {
        out[i] = p[1] * normal(i) * (2 * place.at < plan.axis_extent ? p[0] : 1.0);
      });
    case ValueClass::peak:
      return for_places(plan, chunk, [&](int i, Place place) {
        const int64_t at =
            p[1] >= 0 ? plan.axis_extent - 1 - static_cast<int64_t>(p[1]) : chosen(plan, place.row);
        out[i] = place.at == at ? 0.0 : p[0];
      });
    case ValueClass::exact_logits:
      return for_places(plan, chunk, [&](int i, Place place) {
        const bool masked = unit_real(chunk.hash[i]) < p[0];
        out[i] = masked && place.at != chosen(plan, place.row) ? -kInfinity : 0.0;
      });
    case ValueClass::witness:
      return for_places(plan, chunk,
                        [&](int i, Place place) { out[i] = witness_value(plan, place); });
    default:
      return;
  }
}

void fill_exact(const ValuePlan& plan, const Chunk& chunk, bool with_sign, double* out) {
  const double limit = std::max(0.0, rounded_down(plan.p[0]));
  const double low = with_sign ? -limit : 0;
  const auto choices = static_cast<uint64_t>(limit - low + 1);
  for (int i = 0; i < chunk.count; ++i) {
    out[i] = (low + static_cast<double>(reduced(chunk.hash[i], choices))) * plan.p[1];
  }
}

void fill_ramp(const ValuePlan& plan, const Chunk& chunk, double* out) {
  const auto modulus = static_cast<int64_t>(std::clamp(plan.p[0], 1.0, 0x1p53));
  for (int i = 0; i < chunk.count; ++i) {
    out[i] = static_cast<double>((chunk.first + i * chunk.step) % modulus) * plan.p[1];
  }
}

/// Classes whose elements are real numbers, rounded to the type afterwards.
void fill_real(const ValuePlan& plan, DType type, const Chunk& chunk, double* out) {
  const auto& p = plan.p;
  const int n = chunk.count;
  const bool with_sign = is_floating(type) || is_signed(type);
  const uint64_t* const hash = chunk.hash;
  switch (plan.kind) {
    case ValueClass::normal:
      for (int i = 0; i < n; ++i) out[i] = unit_normal(hash[i]) * p[0] + p[1];
      return;
    case ValueClass::uniform:
      if (is_floating(type)) {
        for (int i = 0; i < n; ++i) out[i] = p[0] + unit_real(hash[i]) * (p[1] - p[0]);
      } else {
        for (int i = 0; i < n; ++i) {
          out[i] = rounded_down(p[0] + unit_real(hash[i]) * (p[1] - p[0] + 1));
        }
      }
      return;
    case ValueClass::log_uniform:
      return fill_log_uniform(plan, type, chunk, with_sign, out);
    case ValueClass::zeros:
      for (int i = 0; i < n; ++i) out[i] = unit_real(hash[i]) < p[0] ? -0.0 : 0.0;
      return;
    case ValueClass::infs:
      return fill_mixed(plan, chunk, kInfinity, true, out);
    case ValueClass::nans:
      return fill_mixed(plan, chunk, kNan, false, out);
    case ValueClass::largest:
      return fill_mixed(plan, chunk, is_floating(type) ? format_of(type).largest : kInfinity,
                        with_sign, out);
    case ValueClass::ties:
      return fill_ties(plan, chunk, out);
    case ValueClass::equal:
      std::fill(out, out + n, p[0]);
      return;
    case ValueClass::tied:
      return fill_tied(plan, chunk, out);
    case ValueClass::huge_mean:
      for (int i = 0; i < n; ++i) out[i] = p[1] * (p[0] + unit_normal(hash[i]));
      return;
    case ValueClass::near:
      for (int i = 0; i < n; ++i) out[i] = p[0] + p[1] * (2 * unit_real(hash[i]) - 1);
      return;
    case ValueClass::ramp:
      return fill_ramp(plan, chunk, out);
    case ValueClass::exact:
      return fill_exact(plan, chunk, with_sign, out);
    default:
      return fill_rows(plan, chunk, out);
  }
}

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

/// Classes whose elements are bit patterns. False: the class is not one of them.
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

/// binary32 to binary16, nearest even: subnormals are rounded by an addition whose ulp is theirs,
/// normals by adding half an ulp (less one for an even neighbour) to the bits.
uint16_t half_of(float value) {
  const auto all = std::bit_cast<uint32_t>(value);
  const uint32_t bits = all & 0x7fffffff;
  const auto sign = static_cast<uint16_t>((all >> 16) & 0x8000);
  const auto small = static_cast<uint16_t>(
      std::bit_cast<uint32_t>(std::bit_cast<float>(std::min(bits, 0x38800000u)) + 0.5f) -
      0x3f000000u);
  const auto normal =
      static_cast<uint16_t>((bits - 0x38000000u + 0xfffu + ((bits >> 13) & 1)) >> 13);
  uint16_t out = bits < 0x38800000u ? small : normal;
  out = bits >= 0x47800000u ? uint16_t{0x7c00} : out;
  out = bits > 0x7f800000u ? uint16_t{0x7e00} : out;
  return static_cast<uint16_t>(out | sign);
}

uint16_t bfloat_of(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto rounded = static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
  const auto nan = static_cast<uint16_t>((bits >> 16 & 0x8000) | 0x7fc0);
  return (bits & 0x7fffffff) > 0x7f800000u ? nan : rounded;
}

template <typename Element>
void encode_integers(const double* values, int count, uint8_t* out) {
  constexpr double low = static_cast<double>(std::numeric_limits<Element>::min());
  constexpr auto most = std::numeric_limits<Element>::max();
  constexpr double high = static_cast<double>(most);  // 2^63 or 2^64 for 64 bits: itself too large
  for (int i = 0; i < count; ++i) {
    const double value = values[i] == values[i] ? values[i] : 0;
    const Element element = value >= high  ? most
                            : value <= low ? std::numeric_limits<Element>::min()
                                           : static_cast<Element>(value);
    std::memcpy(out + i * sizeof(Element), &element, sizeof element);
  }
}

void encode(DType type, const double* values, int count, uint8_t* out) {
  switch (type) {
    case DType::f64:
      std::memcpy(out, values, count * sizeof(double));
      return;
    case DType::f32:
      for (int i = 0; i < count; ++i) {
        const auto element = static_cast<float>(values[i]);
        std::memcpy(out + 4 * i, &element, 4);
      }
      return;
    case DType::f16:
      for (int i = 0; i < count; ++i) {
        const uint16_t element = half_of(static_cast<float>(values[i]));
        std::memcpy(out + 2 * i, &element, 2);
      }
      return;
    case DType::bf16:
      for (int i = 0; i < count; ++i) {
        const uint16_t element = bfloat_of(static_cast<float>(values[i]));
        std::memcpy(out + 2 * i, &element, 2);
      }
      return;
    case DType::e4m3:
    case DType::e5m2:
      for (int i = 0; i < count; ++i) out[i] = static_cast<uint8_t>(round_to_bits(type, values[i]));
      return;
    case DType::i64:
      return encode_integers<int64_t>(values, count, out);
    case DType::i32:
      return encode_integers<int32_t>(values, count, out);
    case DType::i16:
      return encode_integers<int16_t>(values, count, out);
    case DType::i8:
      return encode_integers<int8_t>(values, count, out);
    case DType::u64:
      return encode_integers<uint64_t>(values, count, out);
    case DType::u32:
      return encode_integers<uint32_t>(values, count, out);
    case DType::u16:
      return encode_integers<uint16_t>(values, count, out);
    case DType::u8:
      return encode_integers<uint8_t>(values, count, out);
    case DType::boolean:
      for (int i = 0; i < count; ++i) out[i] = values[i] >= 1 ? 1 : 0;
      return;
    case DType::u4:
    case DType::i4:
      return;  // refused by instantiate
  }
}

void store(uint8_t* out, uint64_t bits, int size) { std::memcpy(out, &bits, size); }

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

/// Replaces what the contract does not admit.
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

/// The lower bytes of each word.
void pack(const uint64_t* bits, int count, int size, uint8_t* out) {
  const auto pack_as = [&](auto element) {
    for (int i = 0; i < count; ++i) {
      element = static_cast<decltype(element)>(bits[i]);
      std::memcpy(out + i * sizeof element, &element, sizeof element);
    }
  };
  switch (size) {
    case 1:
      return pack_as(uint8_t{});
    case 2:
      return pack_as(uint16_t{});
    case 4:
      return pack_as(uint32_t{});
    default:
      return pack_as(uint64_t{});
  }
}

void fill_chunk(const ValuePlan& plan, DType type, const Chunk& chunk, uint8_t* out) {
  const int size = byte_size(type);
  double values[kChunk];
  uint64_t bits[kChunk];
  if (fill_bits(plan, type, chunk, bits)) {
    pack(bits, chunk.count, size, out);
  } else {
    fill_real(plan, type, chunk, values);
    encode(type, values, chunk.count, out);
  }
  if (!plan.domain.empty() || (plan.exclude_nan && is_floating(type))) {
    restrict_values(plan, type, chunk, out);
  }
}

void apply_overrides(const ValuePlan& plan, int size, int64_t first, int64_t step, int64_t count,
                     uint8_t* out) {
  for (const auto& [index, bits] : plan.overrides) {
    if (step == 0) {
      for (int64_t i = 0; i < count && index == first; ++i) store(out + i * size, bits, size);
      continue;
    }
    const int64_t distance = index - first;
    if (distance < 0 || distance % step != 0 || distance / step >= count) continue;
    store(out + distance / step * size, bits, size);
  }
}

/// Plain multiplications: without AVX-512, g++'s vectors make three of each 64-bit one.
[[gnu::optimize("no-tree-vectorize"), gnu::noinline]] void hash_chunk(uint64_t key, Chunk& chunk) {
  for (int i = 0; i < chunk.count; ++i) {
    chunk.hash[i] = counter_hash(key, static_cast<uint64_t>(chunk.first + i * chunk.step));
  }
}

}  // namespace

void fill_values(const Instance& instance, const Tensor& tensor, int64_t first, int64_t step,
                 int64_t count, uint8_t* out) {
  if (instance.derivation && instance.derivation->base)
    return fill_derived(*instance.derivation, tensor, first, step, count, out);
  const ValuePlan& plan = tensor.plan;
  const int size = byte_size(tensor.dtype);
  const bool is_index = tensor.spec->kind == OperandKind::index || plan.is_prefix_summed;
  Chunk chunk;
  chunk.step = step;
  for (int64_t done = 0; done < count; done += kChunk) {
    chunk.first = first + done * step;
    chunk.count = static_cast<int>(std::min<int64_t>(kChunk, count - done));
    hash_chunk(plan.key, chunk);
    if (is_index) {
      fill_index(instance, tensor, chunk, out + done * size);
    } else {
      fill_chunk(plan, tensor.dtype, chunk, out + done * size);
    }
    poison_dead(instance, tensor, chunk, out + done * size);
  }
  if (!plan.overrides.empty()) apply_overrides(plan, size, first, step, count, out);
}

}  // namespace assay
