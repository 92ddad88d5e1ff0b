// Chooses among the conversions of semantics_convert.inc.hpp, and the conversions between integers.
#pragma once

#include "devices/ptx/semantics_convert.inc.hpp"

namespace assay::ptx::ASSAY_ROWS {
namespace {

template <class F>
RowFunction by_limit(const Form& form, F f) {
  if (form.sat) return f.template operator()<Limit::sat>();
  if (form.relu && form.satfinite) return f.template operator()<Limit::relu_finite>();
  if (form.relu) return f.template operator()<Limit::relu>();
  if (form.satfinite) return f.template operator()<Limit::finite>();
  return f.template operator()<Limit::none>();
}
template <class F>
RowFunction by_float_type(Type type, F f) {
  switch (type) {
    case Type::f16:
      return f.template operator()<Type::f16>();
    case Type::bf16:
      return f.template operator()<Type::bf16>();
    case Type::f32:
      return f.template operator()<Type::f32>();
    case Type::f64:
      return f.template operator()<Type::f64>();
    default:
      return nullptr;
  }
}
template <class F>
RowFunction by_number_type(Type type, F f) {
  switch (type) {
    case Type::u8:
      return f.template operator()<Type::u8>();
    case Type::s8:
      return f.template operator()<Type::s8>();
    case Type::u16:
      return f.template operator()<Type::u16>();
    case Type::s16:
      return f.template operator()<Type::s16>();
    case Type::u32:
      return f.template operator()<Type::u32>();
    case Type::s32:
      return f.template operator()<Type::s32>();
    case Type::u64:
      return f.template operator()<Type::u64>();
    case Type::s64:
      return f.template operator()<Type::s64>();
    default:
      return by_float_type(type, f);
  }
}
template <class F>
RowFunction by_int_type(Type type, F f) {
  switch (type) {
    case Type::u8:
      return f.template operator()<uint8_t>();
    case Type::s8:
      return f.template operator()<int8_t>();
    case Type::u16:
      return f.template operator()<uint16_t>();
    case Type::s16:
      return f.template operator()<int16_t>();
    case Type::u32:
      return f.template operator()<uint32_t>();
    case Type::s32:
      return f.template operator()<int32_t>();
    case Type::u64:
      return f.template operator()<uint64_t>();
    case Type::s64:
      return f.template operator()<int64_t>();
    default:
      return nullptr;
  }
}
template <class F>
RowFunction by_integral(Rounding rounding, F f) {
  switch (rounding) {
    case Rounding::rni:
      return f.template operator()<Rounding::rni>();
    case Rounding::rzi:
      return f.template operator()<Rounding::rzi>();
    case Rounding::rmi:
      return f.template operator()<Rounding::rmi>();
    case Rounding::rpi:
      return f.template operator()<Rounding::rpi>();
    default:
      return nullptr;
  }
}

constexpr bool is_float(Type t) {
  return t == Type::f16 || t == Type::bf16 || t == Type::f32 || t == Type::f64;
}
constexpr bool is_integral(Rounding r) {
  return r == Rounding::rni || r == Rounding::rzi || r == Rounding::rmi || r == Rounding::rpi;
}

/// The forms with loops of their own; nullptr: none.
RowFunction direct_row(const Form& form) {
  bool plain = !form.relu && !form.satfinite && is_nearest(form.rounding);
  if (!plain) return nullptr;
  Type d = form.type, s = form.source_type;
  if (d == Type::f32 && s == Type::f32) {
    if (form.sat) return form.ftz ? cvt_f32_f32<true, true> : cvt_f32_f32<false, true>;
    return form.ftz ? cvt_f32_f32<true, false> : cvt_f32_f32<false, false>;
  }
  if (form.sat) return nullptr;
  if (d == Type::f32 && s == Type::s32) return cvt_f32_s32;
  if (d == Type::f32 && s == Type::u32) return cvt_f32_u32;
  if (d == Type::f32 && s == Type::f16) return cvt_f32_f16;
  if (d == Type::f16 && s == Type::f32) return cvt_half_f32<F16>;
  if (form.ftz) return nullptr;
  if (d == Type::f32 && s == Type::bf16) return cvt_f32_bf16;
  if (d == Type::bf16 && s == Type::f32) return cvt_half_f32<Bf16>;
  if (d == Type::f64 && s == Type::f32) return cvt_f64_f32;
  return nullptr;
}

template <Rounding R>
RowFunction float_result_row(const Form& form) {
  if (form.type == Type::f64 && form.source_type == Type::s64 && !form.sat)
    return cvt_f64_int64<int64_t, R>;
  if (form.type == Type::f64 && form.source_type == Type::u64 && !form.sat)
    return cvt_f64_int64<uint64_t, R>;
  return by_float_type(form.type, [&]<Type D>() {
    return by_number_type(form.source_type, [&]<Type S>() {
      return by_limit(form, [&]<Limit L>() -> RowFunction {
        constexpr bool narrowing = (D == Type::f16 || D == Type::bf16) && S == Type::f32;
        if constexpr (L != Limit::none && L != Limit::sat && !narrowing)
          return nullptr;
        else if constexpr (D != Type::f32 && S != Type::f32)
          return cvt_float<D, S, R, L, false>;
        else
          return form.ftz ? cvt_float<D, S, R, L, true> : cvt_float<D, S, R, L, false>;
      });
    });
  });
}

RowFunction integral_row(const Form& form) {
  if (form.type != form.source_type || form.relu || form.satfinite) return nullptr;
  return by_integral(form.rounding, [&]<Rounding R>() -> RowFunction {
    if (form.type == Type::f32) {
      if (form.sat)
        return form.ftz ? cvt_integral_f32<R, true, true> : cvt_integral_f32<R, false, true>;
      return form.ftz ? cvt_integral_f32<R, true, false> : cvt_integral_f32<R, false, false>;
    }
    return by_float_type(form.type, [&]<Type T>() -> RowFunction {
      return form.sat ? cvt_integral<T, R, Limit::sat> : cvt_integral<T, R, Limit::none>;
    });
  });
}

RowFunction int_result_row(const Form& form) {
  return by_integral(form.rounding, [&]<Rounding R>() {
    return by_int_type(form.type, [&]<class D>() -> RowFunction {
      if (form.source_type == Type::f32 && sizeof(D) < 8)
        return form.ftz ? cvt_int_f32<D, R, true> : cvt_int_f32<D, R, false>;
      return by_float_type(form.source_type, [&]<Type S>() -> RowFunction {
        if (S == Type::f32 && form.ftz) return cvt_int<D, Type::f32, R, true>;
        return cvt_int<D, S, R, false>;
      });
    });
  });
}

RowFunction pair_row(const Form& form) {
  if (form.source_type != Type::f32 || !form.two_sources) return nullptr;
  bool f16 = form.type == Type::f16x2;
  if (is_nearest(form.rounding) && !form.relu && !form.satfinite && !form.sat)
    return f16 ? cvt_pair_f32<F16> : cvt_pair_f32<Bf16>;
  return by_rounding(form.rounding, [&]<Rounding R>() {
    return by_limit(form, [&]<Limit L>() -> RowFunction {
      return f16 ? cvt_pair<Type::f16, R, L> : cvt_pair<Type::bf16, R, L>;
    });
  });
}

template <Rounding R>
RowFunction tf32_rounded_row(const Form& form) {
  return by_bool(form.relu, [&]<bool Relu>() -> RowFunction {
    return form.satfinite ? cvt_tf32<R, Relu, true> : cvt_tf32<R, Relu, false>;
  });
}
RowFunction tf32_row(const Form& form) {
  if (form.source_type != Type::f32) return nullptr;
  switch (form.rounding) {
    case Rounding::rna:
      return form.relu ? nullptr : tf32_rounded_row<Rounding::rna>(form);
    case Rounding::rn:
      return tf32_rounded_row<Rounding::rn>(form);
    case Rounding::rz:
      return tf32_rounded_row<Rounding::rz>(form);
    default:
      return nullptr;
  }
}

// ---- integers ----

template <class D, class A, bool Sat>
ASSAY_INLINE D convert_int(A a) {
  if (!Sat) return D(a);
  constexpr D high = highest_int<D>(), low = lowest_int<D>();
  constexpr bool signed_a = A(-1) < A(0), signed_d = D(-1) < D(0);
  if (signed_a && a < A(0)) {
    if (!signed_d) return D(0);
    return sizeof(A) > sizeof(D) && int64_t(a) < int64_t(low) ? low : D(a);
  }
  return uint64_t(a) > uint64_t(high) ? high : D(a);
}
template <class D, class A, bool Sat>
void cvt_int_int(Rows& r) {
  map1<Storage<D>, Storage<A>>(
      r, [](Storage<A> a) { return Storage<D>(convert_int<D, A, Sat>(A(a))); });
}

}  // namespace

RowFunction convert_integer_row(const Form& form) {
  return by_int_type(form.type, [&]<class D>() {
    return by_int_type(form.source_type, [&]<class A>() -> RowFunction {
      return form.sat ? cvt_int_int<D, A, true> : cvt_int_int<D, A, false>;
    });
  });
}

RowFunction convert_row(const Form& form) {
  Type d = form.type, s = form.source_type;
  if (d == Type::f16x2 || d == Type::bf16x2) return pair_row(form);
  if (d == Type::tf32) return tf32_row(form);
  if (!is_float(d)) return is_float(s) ? int_result_row(form) : convert_integer_row(form);
  if (is_integral(form.rounding)) return is_float(s) ? integral_row(form) : nullptr;
  if (RowFunction direct = direct_row(form)) return direct;
  return by_rounding(form.rounding, [&]<Rounding R>() { return float_result_row<R>(form); });
}

}  // namespace assay::ptx::ASSAY_ROWS
