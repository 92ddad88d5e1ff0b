// Integer arithmetic without products: PTX ISA 9.7.1 and 9.7.2 (add sub div rem abs neg min max
// sad, carries).
#pragma once

#include "devices/ptx/semantics_rows.inc.hpp"

namespace assay::ptx::ASSAY_ROWS {
namespace {

// Unsigned element and signed twin of a width.
template <class U>
struct SignedOf;
template <>
struct SignedOf<uint16_t> {
  using type = int16_t;
};
template <>
struct SignedOf<uint32_t> {
  using type = int32_t;
};
template <>
struct SignedOf<uint64_t> {
  using type = int64_t;
};
template <class U>
using Signed = typename SignedOf<U>::type;

template <class U>
void add_int(Rows& r) {
  map2<U, U, U>(r, [](U a, U b) { return U(a + b); });
}
template <class U>
void sub_int(Rows& r) {
  map2<U, U, U>(r, [](U a, U b) { return U(a - b); });
}

ASSAY_INLINE int32_t clamp_s32(int64_t x) {
  x = x < INT32_MIN ? INT32_MIN : x;
  return static_cast<int32_t>(x > INT32_MAX ? INT32_MAX : x);
}
void add_sat_s32(Rows& r) {
  map2<int32_t, int32_t, int32_t>(r, [](int64_t a, int64_t b) { return clamp_s32(a + b); });
}
void sub_sat_s32(Rows& r) {
  map2<int32_t, int32_t, int32_t>(r, [](int64_t a, int64_t b) { return clamp_s32(a - b); });
}

// add.cc, addc, addc.cc (In: reads CC.CF) and their sub twins, where CC.CF is the borrow.
template <class U, bool Subtract, bool In>
void carry_int(Rows& r) {
  U* d = static_cast<U*>(r.d);
  const U* a = static_cast<const U*>(r.a);
  const U* b = static_cast<const U*>(r.b);
  uint32_t out = 0;
  for (int i = 0; i < kLanes; ++i) {
    U in = In ? U(lane_bit(r.carry_in, i)) : U(0);
    U partial = Subtract ? U(a[i] - b[i]) : U(a[i] + b[i]);
    bool first = Subtract ? a[i] < b[i] : partial < a[i];
    U result = Subtract ? U(partial - in) : U(partial + in);
    bool second = Subtract ? partial < in : result < partial;
    d[i] = result;
    out |= uint32_t(first || second) << i;
  }
  r.carry_out = out;
}

// Division by zero: undefined in PTX; all ones for quotient and remainder, as an H200 gives for 32
// bits. INT_MIN / -1 wraps to INT_MIN, remainder 0.
template <class T>
void div_int(Rows& r) {
  using U = std::make_unsigned_t<decltype(T() + 0u)>;
  map2<T, T, T>(r, [](T a, T b) {
    if (b == 0) return T(-1);
    if (T(-1) < T(0) && b == T(-1)) return T(U(0) - U(a));
    return T(a / b);
  });
}
template <class T>
void rem_int(Rows& r) {
  map2<T, T, T>(r, [](T a, T b) {
    if (b == 0) return T(-1);
    if (T(-1) < T(0) && b == T(-1)) return T(0);
    return T(a % b);
  });
}

// 32-bit quotients through f64: both operands and the truncated quotient are exact, and no quotient
// of 32-bit integers lies within 2^-53 relative of the integer above it without being it.
void div_s32(Rows& r) {
  map2<int32_t, int32_t, int32_t>(r, [](int32_t a, int32_t b) {
    double q = static_cast<double>(a) / static_cast<double>(b == 0 ? 1 : b);
    q = q > 2147483647.0 ? -2147483648.0 : q;  // INT_MIN / -1
    int32_t quotient = static_cast<int32_t>(q);
    return b == 0 ? -1 : quotient;
  });
}
void rem_s32(Rows& r) {
  map2<int32_t, int32_t, int32_t>(r, [](int32_t a, int32_t b) {
    double q = static_cast<double>(a) / static_cast<double>(b == 0 ? 1 : b);
    q = q > 2147483647.0 ? -2147483648.0 : q;
    uint32_t quotient = static_cast<uint32_t>(static_cast<int32_t>(q));
    int32_t remainder = static_cast<int32_t>(uint32_t(a) - quotient * uint32_t(b));
    return b == 0 ? -1 : remainder;
  });
}

// An f64 in [0, 2^32) down to an integer: adding 2^52 puts the nearest one into the low bits.
ASSAY_INLINE uint32_t floor_u32(double x) {
  double nearest = (x + 0x1p52) - 0x1p52;
  double floor = nearest > x ? nearest - 1.0 : nearest;
  return static_cast<uint32_t>(bits_of(floor + 0x1p52));
}
void div_u32(Rows& r) {
  map2<uint32_t, uint32_t, uint32_t>(r, [](uint32_t a, uint32_t b) {
    uint32_t q = floor_u32(static_cast<double>(a) / static_cast<double>(b == 0 ? 1u : b));
    return b == 0 ? ~0u : q;
  });
}
void rem_u32(Rows& r) {
  map2<uint32_t, uint32_t, uint32_t>(r, [](uint32_t a, uint32_t b) {
    uint32_t q = floor_u32(static_cast<double>(a) / static_cast<double>(b == 0 ? 1u : b));
    return b == 0 ? ~0u : a - q * b;
  });
}

template <class T>
void abs_int(Rows& r) {
  using U = std::make_unsigned_t<decltype(T() + 0u)>;
  map1<T, T>(r, [](T a) { return a < 0 ? T(U(0) - U(a)) : a; });
}
template <class U>
void neg_int(Rows& r) {
  map1<U, U>(r, [](U a) { return U(U(0) - a); });
}
template <class T, bool Max, bool Relu>
void minmax_int(Rows& r) {
  map2<T, T, T>(r, [](T a, T b) {
    T best = Max ? (a > b ? a : b) : (a < b ? a : b);
    return Relu && best < T(0) ? T(0) : best;
  });
}
template <class T, class U>
void sad_int(Rows& r) {
  map3<U, T, T, U>(r, [](T a, T b, U c) {
    U difference = a < b ? U(U(b) - U(a)) : U(U(a) - U(b));
    return U(c + difference);
  });
}

/// Calls f with the element type of an integer type: signed where the type is.
template <class F>
RowFunction by_integer(Type type, F f) {
  switch (type) {
    case Type::s16:
      return f.template operator()<int16_t, uint16_t>();
    case Type::u16:
    case Type::b16:
      return f.template operator()<uint16_t, uint16_t>();
    case Type::s32:
      return f.template operator()<int32_t, uint32_t>();
    case Type::u32:
    case Type::b32:
      return f.template operator()<uint32_t, uint32_t>();
    case Type::s64:
      return f.template operator()<int64_t, uint64_t>();
    case Type::u64:
    case Type::b64:
      return f.template operator()<uint64_t, uint64_t>();
    default:
      return nullptr;
  }
}

template <bool Subtract>
RowFunction add_row(const Form& form) {
  bool reads = form.op == Op::addc || form.op == Op::subc;
  if (form.sat) {
    if (form.type != Type::s32 || reads || form.carry_out) return nullptr;
    return Subtract ? sub_sat_s32 : add_sat_s32;
  }
  return by_integer(form.type, [&]<class T, class U>() -> RowFunction {
    if (!reads && !form.carry_out) return Subtract ? sub_int<U> : add_int<U>;
    if (sizeof(U) == 2) return nullptr;
    return reads ? carry_int<U, Subtract, true> : carry_int<U, Subtract, false>;
  });
}

template <class T>
RowFunction minmax_row(const Form& form) {
  bool max = form.op == Op::max;
  if (form.relu) {
    if (T(-1) > T(0)) return nullptr;
    return max ? minmax_int<T, true, true> : minmax_int<T, false, true>;
  }
  return max ? minmax_int<T, true, false> : minmax_int<T, false, false>;
}

}  // namespace

RowFunction integer_row(const Form& form) {
  switch (form.op) {
    case Op::add:
    case Op::addc:
      return add_row<false>(form);
    case Op::sub:
    case Op::subc:
      return add_row<true>(form);
    case Op::div:
      if (form.type == Type::s32) return div_s32;
      if (form.type == Type::u32) return div_u32;
      return by_integer(form.type, []<class T, class U>() -> RowFunction { return div_int<T>; });
    case Op::rem:
      if (form.type == Type::s32) return rem_s32;
      if (form.type == Type::u32) return rem_u32;
      return by_integer(form.type, []<class T, class U>() -> RowFunction { return rem_int<T>; });
    case Op::abs:
      return by_integer(form.type, []<class T, class U>() -> RowFunction {
        return T(-1) < T(0) ? abs_int<Signed<U>> : nullptr;
      });
    case Op::neg:
      return by_integer(form.type, []<class T, class U>() -> RowFunction { return neg_int<U>; });
    case Op::min:
    case Op::max:
      return by_integer(form.type, [&]<class T, class U>() { return minmax_row<T>(form); });
    case Op::sad:
      return by_integer(form.type, []<class T, class U>() -> RowFunction { return sad_int<T, U>; });
    default:
      return nullptr;
  }
}

}  // namespace assay::ptx::ASSAY_ROWS
