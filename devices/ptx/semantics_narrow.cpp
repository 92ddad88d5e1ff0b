// Sums of f32 with the precision of a narrower format: what a kernel does whose accumulator has the
// wrong type. A planted defect (devices/device.hpp), so speed does not matter.
#include <bit>
#include <cmath>

#include "devices/ptx/semantics.hpp"

namespace assay::ptx {

namespace {

/// f32 to 10 stored bits of significand, ties away from zero, as cvt.rna.tf32 does.
float to_tf32(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7f800000u) == 0x7f800000u) return value;
  return std::bit_cast<float>((bits + 0x1000u) & ~0x1fffu);
}

template <Narrow N>
float narrowed(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if constexpr (N == Narrow::f16) {
    return std::bit_cast<float>(f16_to_f32_bits(f32_to_f16_bits_rn(bits)));
  } else if constexpr (N == Narrow::bf16) {
    return std::bit_cast<float>(bf16_to_f32_bits(f32_to_bf16_bits_rn(bits)));
  } else {
    return to_tf32(value);
  }
}

float flushed(float value) {
  return std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value;
}

template <Narrow N, Op O, bool Ftz>
void row(Rows& r) {
  const auto* a = static_cast<const float*>(r.a);
  const auto* b = static_cast<const float*>(r.b);
  const auto* c = static_cast<const float*>(r.c);
  auto* d = static_cast<float*>(r.d);
  for (int i = 0; i < kLanes; ++i) {
    const auto in = [](float value) { return Ftz ? flushed(value) : value; };
    float sum;
    if constexpr (O == Op::add) {
      sum = in(a[i]) + in(b[i]);
    } else if constexpr (O == Op::sub) {
      sum = in(a[i]) - in(b[i]);
    } else {
      sum = std::fma(in(a[i]), in(b[i]), in(c[i]));
    }
    d[i] = in(narrowed<N>(sum));
  }
}

template <Narrow N, bool Ftz>
RowFunction choose(Op op) {
  switch (op) {
    case Op::add:
      return row<N, Op::add, Ftz>;
    case Op::sub:
      return row<N, Op::sub, Ftz>;
    case Op::fma:
    case Op::mad:
      return row<N, Op::fma, Ftz>;
    default:
      return nullptr;
  }
}

template <Narrow N>
RowFunction choose(const Instruction& ins) {
  return ins.ftz ? choose<N, true>(ins.op) : choose<N, false>(ins.op);
}

}  // namespace

RowFunction narrowed_row(const Instruction& ins, Narrow sums) {
  const bool nearest = ins.rounding == Rounding::none || ins.rounding == Rounding::rn;
  if (sums == Narrow::none || ins.type != Type::f32 || !nearest || ins.sat) return nullptr;
  switch (sums) {
    case Narrow::tf32:
      return choose<Narrow::tf32>(ins);
    case Narrow::f16:
      return choose<Narrow::f16>(ins);
    case Narrow::bf16:
      return choose<Narrow::bf16>(ins);
    case Narrow::none:
      break;
  }
  return nullptr;
}

}  // namespace assay::ptx
