#include "devices/ptx/atomics.hpp"

#include <algorithm>
#include <bit>

#include "devices/ptx/semantics.hpp"

namespace assay::ptx {

namespace {

constexpr uint32_t kCanonicalNan32 = 0x7fffffffu;
constexpr uint64_t kCanonicalNan64 = 0x7ff8000000000000ull;

uint32_t flush_subnormal(uint32_t bits) {
  return (bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits;
}

uint32_t add_f32(uint32_t a, uint32_t b, bool flush) {
  if (flush) {
    a = flush_subnormal(a);
    b = flush_subnormal(b);
  }
  const float sum = std::bit_cast<float>(a) + std::bit_cast<float>(b);
  if (sum != sum) return kCanonicalNan32;
  const uint32_t bits = std::bit_cast<uint32_t>(sum);
  return flush ? flush_subnormal(bits) : bits;
}

/// A sum of f16 or bf16 in f32 and one rounding is correctly rounded: 24 >= 2 * 11 + 2 bits
/// (Figueroa, "When is double rounding innocuous?", 1995).
uint16_t add_f16(uint16_t a, uint16_t b) {
  return f32_to_f16_bits_rn(add_f32(f16_to_f32_bits(a), f16_to_f32_bits(b), false));
}
uint16_t add_bf16(uint16_t a, uint16_t b) {
  return f32_to_bf16_bits_rn(add_f32(bf16_to_f32_bits(a), bf16_to_f32_bits(b), false));
}

uint64_t add(Type type, uint64_t old, uint64_t b, bool flush) {
  const auto low = [](uint64_t x) { return static_cast<uint16_t>(x); };
  const auto high = [](uint64_t x) { return static_cast<uint16_t>(x >> 16); };
  switch (type) {
    case Type::f32:
      return add_f32(static_cast<uint32_t>(old), static_cast<uint32_t>(b), flush);
    case Type::f64: {
      const double sum = std::bit_cast<double>(old) + std::bit_cast<double>(b);
      return sum != sum ? kCanonicalNan64 : std::bit_cast<uint64_t>(sum);
    }
    case Type::f16:
      return add_f16(low(old), low(b));
    case Type::bf16:
      return add_bf16(low(old), low(b));
    case Type::f16x2:
      return add_f16(low(old), low(b)) | static_cast<uint64_t>(add_f16(high(old), high(b))) << 16;
    case Type::bf16x2:
      return add_bf16(low(old), low(b)) | static_cast<uint64_t>(add_bf16(high(old), high(b))) << 16;
    default:
      return old + b;
  }
}

uint64_t extreme(Atom operation, Type type, uint64_t old, uint64_t b) {
  const bool wants_max = operation == Atom::max;
  bool old_less;
  if (type == Type::s32) {
    old_less = static_cast<int32_t>(old) < static_cast<int32_t>(b);
  } else if (type == Type::s64) {
    old_less = static_cast<int64_t>(old) < static_cast<int64_t>(b);
  } else {
    old_less = old < b;
  }
  return old_less == wants_max ? b : old;
}

}  // namespace

uint64_t atomic_result(Atom operation, Type type, uint64_t old, uint64_t b, uint64_t c,
                       bool flush) {
  switch (operation) {
    case Atom::add:
      return add(type, old, b, flush);
    case Atom::and_:
      return old & b;
    case Atom::or_:
      return old | b;
    case Atom::xor_:
      return old ^ b;
    case Atom::exch:
      return b;
    case Atom::cas:
      return old == b ? c : old;
    case Atom::inc:
      return old >= b ? 0 : old + 1;
    case Atom::dec:
      return old == 0 || old > b ? b : old - 1;
    case Atom::min:
    case Atom::max:
      return extreme(operation, type, old, b);
    case Atom::none:
      break;
  }
  return old;
}

}  // namespace assay::ptx
