// f16 and bf16 arithmetic, single and packed in pairs (a pair row is 64 lanes): PTX ISA 9.7.4.
// Computed in f32 or f64 and rounded once.
#pragma once

#include "devices/ptx/semantics_half.inc.hpp"

namespace assay::ptx::ASSAY_ROWS {
namespace {

enum class After { none, sat, relu };

/// .sat and .relu on an f32 that is about to become a half; relu keeps NaN and gives +0.
template <After A>
ASSAY_INLINE float after(float x) {
  if (A == After::sat) return saturate(x);
  if (A == After::relu) return x <= 0 ? 0.0f : x;
  return x;
}

template <class H, bool Ftz, int N>
ASSAY_INLINE void flush_halves(uint16_t* d) {
  if (!Ftz) return;
  for (int i = 0; i < N; ++i) d[i] = (d[i] & H::infinity) ? d[i] : uint16_t(d[i] & 0x8000u);
}
template <class H, bool Ftz, int N>
ASSAY_INLINE void read_halves(float* x, const void* row) {
  if (!Ftz) {
    widen_row<H, N>(x, row);
    return;
  }
  uint16_t flushed[N] __attribute__((aligned(32)));
  __builtin_memcpy(flushed, row, sizeof flushed);
  flush_halves<H, Ftz, N>(flushed);
  widen_row<H, N>(x, flushed);
}
template <class H, bool Ftz, After A, int N>
ASSAY_INLINE void write_halves(void* row, float* x) {
  for (int i = 0; i < N; ++i) x[i] = after<A>(x[i]);
  narrow_row<H, N>(row, x);
  flush_halves<H, Ftz, N>(static_cast<uint16_t*>(row));
}

/// The product of two halves, to odd in f32 where f32 cannot hold it: bf16's may be subnormal
/// there.
template <class H>
ASSAY_INLINE float half_product(float a, float b) {
  if (H::infinity == F16::infinity) return a * b;  // 22 bits, 2^-48 to 2^32: exact
  return narrow_odd(static_cast<double>(a) * static_cast<double>(b));
}
/// a b + c to odd in f32.
template <class H>
ASSAY_INLINE float half_fma(float a, float b, float c) {
  if (H::infinity == F16::infinity) return add_odd(a * b, c);
  return narrow_odd(
      add_odd(static_cast<double>(a) * static_cast<double>(b), static_cast<double>(c)));
}

// Sums: rounding to f32 first does no harm, since f32 has 2 p + 2 bits or more (Figueroa, "When is
// double rounding innocuous?", SIGNUM 30(3), 1995); subnormal sums are exact.
template <class H, Op O, bool Ftz, After A, int N>
void arithmetic_half(Rows& r) {
  float a[N], b[N], x[N];
  read_halves<H, Ftz, N>(a, r.a);
  read_halves<H, Ftz, N>(b, r.b);
  for (int i = 0; i < N; ++i) {
    if (O == Op::add) x[i] = a[i] + b[i];
    if (O == Op::sub) x[i] = a[i] - b[i];
    if (O == Op::mul) x[i] = half_product<H>(a[i], b[i]);
  }
  write_halves<H, Ftz, A, N>(r.d, x);
}
template <class H, bool Ftz, After A, int N>
void fma_half(Rows& r) {
  float a[N], b[N], c[N], x[N];
  read_halves<H, Ftz, N>(a, r.a);
  read_halves<H, Ftz, N>(b, r.b);
  read_halves<H, Ftz, N>(c, r.c);
  for (int i = 0; i < N; ++i) x[i] = half_fma<H>(a[i], b[i], c[i]);
  write_halves<H, Ftz, A, N>(r.d, x);
}
template <class H, bool Max, bool Ftz, bool Nan, bool Xor, int N>
void minmax_half(Rows& r) {
  float a[N], b[N], x[N];
  read_halves<H, Ftz, N>(a, r.a);
  read_halves<H, Ftz, N>(b, r.b);
  for (int i = 0; i < N; ++i) x[i] = minmax<Max, Nan, Xor>(a[i], b[i]);
  write_halves<H, false, After::none, N>(r.d, x);
}
template <class H, bool Negate, bool Ftz, int N>
void sign_half(Rows& r) {
  map1<uint16_t, uint16_t, N>(r, [](uint16_t a) {
    if (Ftz && (a & H::infinity) == 0) a &= 0x8000u;
    return uint16_t(Negate ? a ^ 0x8000u : a & 0x7fffu);
  });
}

// ---- choice ----

template <class H, Op O, int N>
RowFunction arithmetic_half_row(const Form& form) {
  if (form.relu) return nullptr;
  return by_bool(form.ftz, [&]<bool Ftz>() -> RowFunction {
    return form.sat ? arithmetic_half<H, O, Ftz, After::sat, N>
                    : arithmetic_half<H, O, Ftz, After::none, N>;
  });
}
template <class H, int N>
RowFunction fma_half_row(const Form& form) {
  return by_bool(form.ftz, [&]<bool Ftz>() -> RowFunction {
    if (form.sat) return form.relu ? nullptr : fma_half<H, Ftz, After::sat, N>;
    return form.relu ? fma_half<H, Ftz, After::relu, N> : fma_half<H, Ftz, After::none, N>;
  });
}
template <class H, bool Max, int N>
RowFunction minmax_half_row(const Form& form) {
  return by_bool(form.ftz, [&]<bool Ftz>() {
    return by_bool(form.nan, [&]<bool Nan>() {
      return by_bool(form.xorsign_abs, [&]<bool Xor>() -> RowFunction {
        return minmax_half<H, Max, Ftz, Nan, Xor, N>;
      });
    });
  });
}

template <class H, int N>
RowFunction format_row(const Form& form) {
  switch (form.op) {
    case Op::add:
      return arithmetic_half_row<H, Op::add, N>(form);
    case Op::sub:
      return arithmetic_half_row<H, Op::sub, N>(form);
    case Op::mul:
      return arithmetic_half_row<H, Op::mul, N>(form);
    case Op::mad:
    case Op::fma:
      return fma_half_row<H, N>(form);
    case Op::min:
      return minmax_half_row<H, false, N>(form);
    case Op::max:
      return minmax_half_row<H, true, N>(form);
    case Op::abs:
      return form.ftz ? sign_half<H, false, true, N> : sign_half<H, false, false, N>;
    case Op::neg:
      return form.ftz ? sign_half<H, true, true, N> : sign_half<H, true, false, N>;
    default:
      return nullptr;
  }
}

}  // namespace

RowFunction half_row(const Form& form) {
  if (!is_nearest(form.rounding)) return nullptr;
  switch (form.type) {
    case Type::f16:
      return format_row<F16, 32>(form);
    case Type::f16x2:
      return format_row<F16, 64>(form);
    case Type::bf16:
      return format_row<Bf16, 32>(form);
    case Type::bf16x2:
      return format_row<Bf16, 64>(form);
    default:
      return nullptr;
  }
}

}  // namespace assay::ptx::ASSAY_ROWS
