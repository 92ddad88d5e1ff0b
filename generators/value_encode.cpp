// Real values and words as the bytes of a type's elements.
#include <algorithm>
#include <limits>

#include "generators/value_parts.hpp"

namespace assay {
namespace {

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

}  // namespace

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

}  // namespace assay
