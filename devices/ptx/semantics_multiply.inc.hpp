// Integer products: PTX ISA 9.7.1 mul, mad, mul24, mad24, dp4a, dp2a, and madc of 9.7.2.
#pragma once

#include "devices/ptx/semantics_rows.inc.hpp"

namespace assay::ptx::ASSAY_ROWS {
namespace {

// Element, its unsigned twin, and the type of twice the width.
template <class T, class U, class W>
struct IntType {
  using type = T;
  using bits = U;
  using wide = W;
};
using Int128 = __int128;
using Uint128 = unsigned __int128;

template <class F>
RowFunction by_product(Type type, F f) {
  switch (type) {
    case Type::s16:
      return f(IntType<int16_t, uint16_t, int32_t>());
    case Type::u16:
      return f(IntType<uint16_t, uint16_t, uint32_t>());
    case Type::s32:
      return f(IntType<int32_t, uint32_t, int64_t>());
    case Type::u32:
      return f(IntType<uint32_t, uint32_t, uint64_t>());
    case Type::s64:
      return f(IntType<int64_t, uint64_t, Int128>());
    case Type::u64:
      return f(IntType<uint64_t, uint64_t, Uint128>());
    default:
      return nullptr;
  }
}

template <class I>
ASSAY_INLINE typename I::bits low(typename I::type a, typename I::type b) {
  // uint16_t would promote to int, whose product may overflow.
  using Product = decltype(typename I::bits() + 0u);
  return static_cast<typename I::bits>(Product(a) * Product(b));
}
template <class I>
ASSAY_INLINE typename I::bits high(typename I::type a, typename I::type b) {
  using W = typename I::wide;
  return static_cast<typename I::bits>((W(a) * W(b)) >> (8 * sizeof(typename I::type)));
}

template <class I, bool High>
void mul_int(Rows& r) {
  using T = typename I::type;
  using U = typename I::bits;
  map2<U, T, T>(r, [](T a, T b) { return High ? high<I>(a, b) : low<I>(a, b); });
}
template <class I>
void mul_wide(Rows& r) {
  using T = typename I::type;
  using W = typename I::wide;
  map2<W, T, T>(r, [](T a, T b) { return W(W(a) * W(b)); });
}
template <class I, bool High>
void mad_int(Rows& r) {
  using T = typename I::type;
  using U = typename I::bits;
  map3<U, T, T, U>(r, [](T a, T b, U c) { return U((High ? high<I>(a, b) : low<I>(a, b)) + c); });
}
template <class D, class I>
void mad_wide(Rows& r) {
  using T = typename I::type;
  using W = typename I::wide;
  map3<D, T, T, D>(r, [](T a, T b, D c) { return D(D(W(a) * W(b)) + c); });
}
// mad.hi.sat.s32: the sum of the high half and c, clamped.
void mad_hi_sat_s32(Rows& r) {
  map3<int32_t, int32_t, int32_t, int32_t>(r, [](int64_t a, int64_t b, int64_t c) {
    int64_t sum = ((a * b) >> 32) + c;
    sum = sum < INT32_MIN ? INT32_MIN : sum;
    return static_cast<int32_t>(sum > INT32_MAX ? INT32_MAX : sum);
  });
}

// mad.cc, madc, madc.cc: the carry is that of adding c (and CC.CF) to the chosen half.
template <class I, bool High, bool In>
void mad_carry(Rows& r) {
  using T = typename I::type;
  using U = typename I::bits;
  U* d = static_cast<U*>(r.d);
  const T* a = static_cast<const T*>(r.a);
  const T* b = static_cast<const T*>(r.b);
  const U* c = static_cast<const U*>(r.c);
  uint32_t out = 0;
  for (int i = 0; i < kLanes; ++i) {
    U product = High ? high<I>(a[i], b[i]) : low<I>(a[i], b[i]);
    U partial = U(product + c[i]);
    U result = U(partial + (In ? U(lane_bit(r.carry_in, i)) : U(0)));
    bool carry = partial < product || result < partial;
    d[i] = result;
    out |= uint32_t(carry) << i;
  }
  r.carry_out = out;
}

// mul24: 48-bit product of the low 24 bits; lo: its bits 31..0, hi: its bits 47..16.
template <class T>
ASSAY_INLINE int64_t low24(T x) {
  uint32_t shifted = uint32_t(x) << 8;
  if (T(-1) < T(0)) return static_cast<int32_t>(shifted) >> 8;
  return shifted >> 8;
}
template <class T, bool High>
ASSAY_INLINE uint32_t product24(T a, T b) {
  uint64_t product = static_cast<uint64_t>(low24(a) * low24(b));
  return static_cast<uint32_t>(High ? product >> 16 : product);
}
template <class T, bool High>
void mul24_int(Rows& r) {
  map2<uint32_t, T, T>(r, [](T a, T b) { return product24<T, High>(a, b); });
}
template <class T, bool High>
void mad24_int(Rows& r) {
  map3<uint32_t, T, T, uint32_t>(r,
                                 [](T a, T b, uint32_t c) { return product24<T, High>(a, b) + c; });
}
void mad24_hi_sat_s32(Rows& r) {
  map3<int32_t, int32_t, int32_t, int32_t>(r, [](int32_t a, int32_t b, int32_t c) {
    int64_t sum = int64_t(static_cast<int32_t>(product24<int32_t, true>(a, b))) + c;
    sum = sum < INT32_MIN ? INT32_MIN : sum;
    return static_cast<int32_t>(sum > INT32_MAX ? INT32_MAX : sum);
  });
}

template <bool Signed>
ASSAY_INLINE uint32_t part(uint32_t word, int index, int width) {
  uint32_t up = word << (32 - width * (index + 1));
  return Signed ? uint32_t(static_cast<int32_t>(up) >> (32 - width)) : up >> (32 - width);
}
template <bool SignedA, bool SignedB>
void dp4a(Rows& r) {
  map3<uint32_t, uint32_t, uint32_t, uint32_t>(r, [](uint32_t a, uint32_t b, uint32_t c) {
    for (int k = 0; k < 4; ++k) c += part<SignedA>(a, k, 8) * part<SignedB>(b, k, 8);
    return c;
  });
}
// dp2a: the two 16-bit parts of a with two bytes of b, the lower or the upper pair.
template <bool SignedA, bool SignedB, bool Upper>
void dp2a(Rows& r) {
  map3<uint32_t, uint32_t, uint32_t, uint32_t>(r, [](uint32_t a, uint32_t b, uint32_t c) {
    for (int k = 0; k < 2; ++k)
      c += part<SignedA>(a, k, 16) * part<SignedB>(b, k + (Upper ? 2 : 0), 8);
    return c;
  });
}

RowFunction mul_row(const Form& form) {
  return by_product(form.type, [&]<class I>(I) -> RowFunction {
    if (form.half == Half::lo) return mul_int<I, false>;
    if (form.half == Half::hi) return mul_int<I, true>;
    if constexpr (sizeof(typename I::wide) <= 8) {
      if (form.half == Half::wide) return mul_wide<I>;
    }
    return nullptr;
  });
}

RowFunction mad_row(const Form& form) {
  bool reads = form.op == Op::madc;
  bool hi = form.half == Half::hi;
  if (form.sat) {
    bool only = form.type == Type::s32 && hi && !reads && !form.carry_out;
    return only ? mad_hi_sat_s32 : nullptr;
  }
  return by_product(form.type, [&]<class I>(I) -> RowFunction {
    if constexpr (sizeof(typename I::wide) == 4) {
      if (form.half == Half::wide) return mad_wide<uint32_t, I>;
    } else if constexpr (sizeof(typename I::wide) == 8) {
      if (form.half == Half::wide) return mad_wide<uint64_t, I>;
    }
    if (form.half != Half::lo && !hi) return nullptr;
    if (!reads && !form.carry_out) return hi ? mad_int<I, true> : mad_int<I, false>;
    if (sizeof(typename I::type) == 2) return nullptr;
    if (reads) return hi ? mad_carry<I, true, true> : mad_carry<I, false, true>;
    return hi ? mad_carry<I, true, false> : mad_carry<I, false, false>;
  });
}

template <class T>
RowFunction row24(const Form& form) {
  bool hi = form.half == Half::hi;
  if (!hi && form.half != Half::lo) return nullptr;
  if (form.op == Op::mul24) return hi ? mul24_int<T, true> : mul24_int<T, false>;
  if (form.sat) return hi && T(-1) < T(0) ? mad24_hi_sat_s32 : nullptr;
  return hi ? mad24_int<T, true> : mad24_int<T, false>;
}

RowFunction dot_row(const Form& form) {
  bool known = (form.type == Type::s32 || form.type == Type::u32) &&
               (form.source_type == Type::s32 || form.source_type == Type::u32);
  if (!known) return nullptr;
  return by_bool(form.type == Type::s32, [&]<bool A>() {
    return by_bool(form.source_type == Type::s32, [&]<bool B>() -> RowFunction {
      if (form.op == Op::dp4a) return dp4a<A, B>;
      if (form.half == Half::lo) return dp2a<A, B, false>;
      if (form.half == Half::hi) return dp2a<A, B, true>;
      return nullptr;
    });
  });
}

}  // namespace

RowFunction multiply_row(const Form& form) {
  switch (form.op) {
    case Op::mul:
      return mul_row(form);
    case Op::mad:
    case Op::madc:
      return mad_row(form);
    case Op::mul24:
    case Op::mad24:
      if (form.type == Type::s32) return row24<int32_t>(form);
      return form.type == Type::u32 ? row24<uint32_t>(form) : nullptr;
    case Op::dp4a:
    case Op::dp2a:
      return dot_row(form);
    default:
      return nullptr;
  }
}

}  // namespace assay::ptx::ASSAY_ROWS
