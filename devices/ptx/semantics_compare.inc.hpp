// setp and set: PTX ISA 9.7.6. Ordered comparisons are false when an operand is NaN, unordered ones
// (equ, ...) true.
#pragma once

#include "devices/ptx/semantics_half.inc.hpp"

namespace assay::ptx::ASSAY_ROWS {
namespace {

template <Compare C, class T>
ASSAY_INLINE bool compare(T a, T b) {
  switch (C) {
    case Compare::eq:
      return a == b;
    case Compare::ne:
      return a < b || a > b;
    case Compare::lo:
    case Compare::lt:
      return a < b;
    case Compare::ls:
    case Compare::le:
      return a <= b;
    case Compare::hi:
    case Compare::gt:
      return a > b;
    case Compare::hs:
    case Compare::ge:
      return a >= b;
    case Compare::equ:
      return !(a < b || a > b);
    case Compare::neu:
      return !(a == b);
    case Compare::ltu:
      return !(a >= b);
    case Compare::leu:
      return !(a > b);
    case Compare::gtu:
      return !(a <= b);
    case Compare::geu:
      return !(a < b);
    case Compare::num:
      return a == a && b == b;
    case Compare::nan:
      return !(a == a && b == b);
    case Compare::none:
      return false;
  }
  return false;
}

// What is compared: reads lanes, or for the x2 types low and high halves, and gives their masks.
template <class T, bool Ftz>
struct Plain {
  template <Compare C>
  static ASSAY_INLINE uint32_t low(const Rows& r) {
    return mask_where(static_cast<const T*>(r.a), static_cast<const T*>(r.b), [](T a, T b) {
      if constexpr (Ftz)
        return compare<C>(flush(a), flush(b));
      else
        return compare<C>(a, b);
    });
  }
};
/// f16 and bf16: compared as f32, whose conversion is exact. Ftz flushes subnormal halves.
template <class H, bool Ftz>
ASSAY_INLINE float widen_flushed(uint16_t h) {
  if (Ftz && (h & H::infinity) == 0) h &= 0x8000u;
  return H::widen(h);
}
template <class H, bool Ftz>
struct HalfLanes {
  template <Compare C>
  static ASSAY_INLINE uint32_t low(const Rows& r) {
    float a[kLanes], b[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      a[i] = widen_flushed<H, Ftz>(static_cast<const uint16_t*>(r.a)[i]);
      b[i] = widen_flushed<H, Ftz>(static_cast<const uint16_t*>(r.b)[i]);
    }
    return mask_where(a, b, [](float x, float y) { return compare<C>(x, y); });
  }
};
template <class H, bool Ftz, int Which>
ASSAY_INLINE void split_half(float* d, const void* row) {
  const uint32_t* a = static_cast<const uint32_t*>(row);
  for (int i = 0; i < kLanes; ++i) d[i] = widen_flushed<H, Ftz>(uint16_t(a[i] >> (16 * Which)));
}
template <class H, bool Ftz>
struct HalfPairs {
  template <Compare C, int Which>
  static __attribute__((noinline)) uint32_t part(const Rows& r) {
    float a[kLanes], b[kLanes];
    split_half<H, Ftz, Which>(a, r.a);
    split_half<H, Ftz, Which>(b, r.b);
    return mask_where(a, b, [](float x, float y) { return compare<C>(x, y); });
  }
};

template <BoolOp B>
ASSAY_INLINE uint32_t combine(uint32_t truth, uint32_t with) {
  switch (B) {
    case BoolOp::none:
      return truth;
    case BoolOp::and_:
      return truth & with;
    case BoolOp::or_:
      return truth | with;
    case BoolOp::xor_:
      return truth ^ with;
  }
  return truth;
}
// Out of line: the forms with a combining predicate, and set, call it.
template <class Source, Compare C>
__attribute__((noinline)) void setp_plain(Rows& r) {
  uint32_t truth = Source::template low<C>(r);
  r.p_out = truth;
  r.p_out2 = ~truth;
}
template <class Source, Compare C, BoolOp B>
void setp_combined(Rows& r) {
  setp_plain<Source, C>(r);
  r.p_out = combine<B>(r.p_out, r.pa);
  r.p_out2 = combine<B>(r.p_out2, r.pa);
}
// setp.f16x2 p|q: p from the low halves, q from the high ones.
template <class Source, Compare C, BoolOp B>
void setp_pairs(Rows& r) {
  if (B == BoolOp::none) {
    r.p_out = Source::template part<C, 0>(r);
    r.p_out2 = Source::template part<C, 1>(r);
  } else {
    setp_pairs<Source, C, BoolOp::none>(r);
    r.p_out = combine<B>(r.p_out, r.pa);
    r.p_out2 = combine<B>(r.p_out2, r.pa);
  }
}

template <class Source, Compare C>
RowFunction setp_row(BoolOp op) {
  switch (op) {
    case BoolOp::none:
      return setp_plain<Source, C>;
    case BoolOp::and_:
      return setp_combined<Source, C, BoolOp::and_>;
    case BoolOp::or_:
      return setp_combined<Source, C, BoolOp::or_>;
    case BoolOp::xor_:
      return setp_combined<Source, C, BoolOp::xor_>;
  }
  return nullptr;
}
template <class Source, Compare C>
RowFunction setp_pairs_row(BoolOp op) {
  switch (op) {
    case BoolOp::none:
      return setp_pairs<Source, C, BoolOp::none>;
    case BoolOp::and_:
      return setp_pairs<Source, C, BoolOp::and_>;
    case BoolOp::or_:
      return setp_pairs<Source, C, BoolOp::or_>;
    case BoolOp::xor_:
      return setp_pairs<Source, C, BoolOp::xor_>;
  }
  return nullptr;
}

// ---- set ----

template <class U, U True>
__attribute__((noinline)) void spread(void* row, uint32_t truth) {
  U* d = static_cast<U*>(row);
  for (int i = 0; i < kLanes; ++i) d[i] = (truth >> i) & 1u ? True : U(0);
}
template <uint32_t True>
__attribute__((noinline)) void spread_pairs(void* row, uint32_t low, uint32_t high) {
  uint32_t* d = static_cast<uint32_t*>(row);
  for (int i = 0; i < kLanes; ++i) {
    uint32_t lower = (low >> i) & 1u ? True : 0u, upper = (high >> i) & 1u ? True : 0u;
    d[i] = lower | (upper << 16);
  }
}

/// A true lane of the result type: 1.0 for floats, all ones for integers. Pairs hold one in each
/// half.
template <class U, U True, class Source, Compare C, BoolOp B>
void set_plain(Rows& r) {
  setp_plain<Source, C>(r);
  spread<U, True>(r.d, combine<B>(r.p_out, r.pa));
  r.p_out = r.p_out2 = 0;  // set has no predicate result
}
template <uint32_t True, class Source, Compare C, BoolOp B>
void set_pairs(Rows& r) {
  setp_pairs<Source, C, BoolOp::none>(r);
  spread_pairs<True>(r.d, combine<B>(r.p_out, r.pa), combine<B>(r.p_out2, r.pa));
  r.p_out = r.p_out2 = 0;
}

template <class Source, Compare C, BoolOp B>
RowFunction set_to(Type type) {
  switch (type) {
    case Type::u32:
    case Type::s32:
      return set_plain<uint32_t, ~0u, Source, C, B>;
    case Type::f32:
      return set_plain<uint32_t, 0x3f800000u, Source, C, B>;
    case Type::u16:
    case Type::s16:
      return set_plain<uint16_t, 0xffff, Source, C, B>;
    case Type::f16:
      return set_plain<uint16_t, 0x3c00, Source, C, B>;
    case Type::bf16:
      return set_plain<uint16_t, 0x3f80, Source, C, B>;
    default:
      return nullptr;
  }
}
template <class Source, Compare C, BoolOp B>
RowFunction set_pairs_to(Type type) {
  switch (type) {
    case Type::u32:
    case Type::s32:
      return set_pairs<0xffffu, Source, C, B>;
    case Type::f16x2:
      return set_pairs<0x3c00u, Source, C, B>;
    case Type::bf16x2:
      return set_pairs<0x3f80u, Source, C, B>;
    default:
      return nullptr;
  }
}
template <class Source, Compare C>
RowFunction set_row(const Form& form) {
  switch (form.bool_op) {
    case BoolOp::none:
      return set_to<Source, C, BoolOp::none>(form.type);
    case BoolOp::and_:
      return set_to<Source, C, BoolOp::and_>(form.type);
    case BoolOp::or_:
      return set_to<Source, C, BoolOp::or_>(form.type);
    case BoolOp::xor_:
      return set_to<Source, C, BoolOp::xor_>(form.type);
  }
  return nullptr;
}
template <class Source, Compare C>
RowFunction set_pairs_row(const Form& form) {
  switch (form.bool_op) {
    case BoolOp::none:
      return set_pairs_to<Source, C, BoolOp::none>(form.type);
    case BoolOp::and_:
      return set_pairs_to<Source, C, BoolOp::and_>(form.type);
    case BoolOp::or_:
      return set_pairs_to<Source, C, BoolOp::or_>(form.type);
    case BoolOp::xor_:
      return set_pairs_to<Source, C, BoolOp::xor_>(form.type);
  }
  return nullptr;
}

// ---- choice ----

template <class F>
RowFunction by_int_compare(Compare c, bool is_signed, bool ordered, F f) {
  if (!ordered && c != Compare::eq && c != Compare::ne) return nullptr;  // b16, b32, b64
  switch (c) {
    case Compare::eq:
      return f.template operator()<Compare::eq>();
    case Compare::ne:
      return f.template operator()<Compare::ne>();
    case Compare::lt:
      return f.template operator()<Compare::lt>();
    case Compare::le:
      return f.template operator()<Compare::le>();
    case Compare::gt:
      return f.template operator()<Compare::gt>();
    case Compare::ge:
      return f.template operator()<Compare::ge>();
    default:
      break;
  }
  if (is_signed) return nullptr;
  switch (c) {
    case Compare::lo:
      return f.template operator()<Compare::lt>();
    case Compare::ls:
      return f.template operator()<Compare::le>();
    case Compare::hi:
      return f.template operator()<Compare::gt>();
    case Compare::hs:
      return f.template operator()<Compare::ge>();
    default:
      return nullptr;
  }
}
template <class F>
RowFunction by_float_compare(Compare c, F f) {
  switch (c) {
    case Compare::equ:
      return f.template operator()<Compare::equ>();
    case Compare::neu:
      return f.template operator()<Compare::neu>();
    case Compare::ltu:
      return f.template operator()<Compare::ltu>();
    case Compare::leu:
      return f.template operator()<Compare::leu>();
    case Compare::gtu:
      return f.template operator()<Compare::gtu>();
    case Compare::geu:
      return f.template operator()<Compare::geu>();
    case Compare::num:
      return f.template operator()<Compare::num>();
    case Compare::nan:
      return f.template operator()<Compare::nan>();
    default:
      return by_int_compare(c, true, true, f);
  }
}

template <class Source, Compare C>
RowFunction lanes_row(const Form& form) {
  return form.op == Op::setp ? setp_row<Source, C>(form.bool_op) : set_row<Source, C>(form);
}
template <class Source>
RowFunction int_lanes_row(const Form& form, bool is_signed, bool ordered) {
  return by_int_compare(form.compare, is_signed, ordered,
                        [&]<Compare C>() { return lanes_row<Source, C>(form); });
}
template <class Source>
RowFunction float_lanes_row(const Form& form) {
  return by_float_compare(form.compare, [&]<Compare C>() { return lanes_row<Source, C>(form); });
}
template <class Source>
RowFunction pairs_row(const Form& form) {
  return by_float_compare(form.compare, [&]<Compare C>() {
    return form.op == Op::setp ? setp_pairs_row<Source, C>(form.bool_op)
                               : set_pairs_row<Source, C>(form);
  });
}

RowFunction compare_float_row(const Form& form) {
  switch (form.source_type) {
    case Type::f32:
      return form.ftz ? float_lanes_row<Plain<float, true>>(form)
                      : float_lanes_row<Plain<float, false>>(form);
    case Type::f64:
      return float_lanes_row<Plain<double, false>>(form);
    case Type::f16:
      return form.ftz ? float_lanes_row<HalfLanes<F16, true>>(form)
                      : float_lanes_row<HalfLanes<F16, false>>(form);
    case Type::bf16:
      return float_lanes_row<HalfLanes<Bf16, false>>(form);
    case Type::f16x2:
      return form.ftz ? pairs_row<HalfPairs<F16, true>>(form)
                      : pairs_row<HalfPairs<F16, false>>(form);
    case Type::bf16x2:
      return pairs_row<HalfPairs<Bf16, false>>(form);
    default:
      return nullptr;
  }
}

}  // namespace

RowFunction compare_row(const Form& form) {
  switch (form.source_type) {
    case Type::b16:
      return int_lanes_row<Plain<uint16_t, false>>(form, false, false);
    case Type::b32:
      return int_lanes_row<Plain<uint32_t, false>>(form, false, false);
    case Type::b64:
      return int_lanes_row<Plain<uint64_t, false>>(form, false, false);
    case Type::u16:
      return int_lanes_row<Plain<uint16_t, false>>(form, false, true);
    case Type::u32:
      return int_lanes_row<Plain<uint32_t, false>>(form, false, true);
    case Type::u64:
      return int_lanes_row<Plain<uint64_t, false>>(form, false, true);
    case Type::s16:
      return int_lanes_row<Plain<int16_t, false>>(form, true, true);
    case Type::s32:
      return int_lanes_row<Plain<int32_t, false>>(form, true, true);
    case Type::s64:
      return int_lanes_row<Plain<int64_t, false>>(form, true, true);
    default:
      return compare_float_row(form);
  }
}

}  // namespace assay::ptx::ASSAY_ROWS
