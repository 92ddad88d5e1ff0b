// Logic, shifts, bit fields, permutes and selections: PTX ISA 9.7.1 (bit fields), 9.7.8 (logic and
// shifts), and of 9.7.7 and 9.7.9 slct, selp, mov, prmt.
#pragma once

#include "devices/ptx/semantics_integer.inc.hpp"

namespace assay::ptx::ASSAY_ROWS {
namespace {

template <class U>
void and_bits(Rows& r) {
  map2<U, U, U>(r, [](U a, U b) { return U(a & b); });
}
template <class U>
void or_bits(Rows& r) {
  map2<U, U, U>(r, [](U a, U b) { return U(a | b); });
}
template <class U>
void xor_bits(Rows& r) {
  map2<U, U, U>(r, [](U a, U b) { return U(a ^ b); });
}
template <class U>
void not_bits(Rows& r) {
  map1<U, U>(r, [](U a) { return U(~a); });
}
template <class U>
void cnot_bits(Rows& r) {
  map1<U, U>(r, [](U a) { return U(a == 0); });
}
void and_pred(Rows& r) { r.p_out = r.pa & r.pb; }
void or_pred(Rows& r) { r.p_out = r.pa | r.pb; }
void xor_pred(Rows& r) { r.p_out = r.pa ^ r.pb; }
void not_pred(Rows& r) { r.p_out = ~r.pa; }
void mov_pred(Rows& r) { r.p_out = r.pa; }

/// The table's bit (a b c), a most significant, answers for each bit of the result; the table is an
/// immediate, so lane 0 holds it for all.
ASSAY_INLINE uint32_t lookup3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t result = 0;
  for (uint32_t k = 0; k < 8; ++k) {
    uint32_t chosen = uint32_t(0) - ((table >> k) & 1u);
    uint32_t match = ((k & 4) ? a : ~a) & ((k & 2) ? b : ~b) & ((k & 1) ? c : ~c);
    result |= match & chosen;
  }
  return result;
}
void lop3_bits(Rows& r) {
  uint32_t table = *static_cast<const uint32_t*>(r.e);
  map3<uint32_t, uint32_t, uint32_t, uint32_t>(
      r, [table](uint32_t a, uint32_t b, uint32_t c) { return lookup3(a, b, c, table); });
}
// lop3.BoolOp.b32 d|p: also p = (d != 0) BoolOp q.
template <BoolOp Op>
void lop3_pred(Rows& r) {
  lop3_bits(r);
  const uint32_t* d = static_cast<const uint32_t*>(r.d);
  uint32_t nonzero = mask_where(d, d, [](uint32_t x, uint32_t) { return x != 0; });
  r.p_out = Op == BoolOp::and_  ? nonzero & r.pa
            : Op == BoolOp::or_ ? nonzero | r.pa
                                : nonzero ^ r.pa;
}

// Shift amounts of the width or more give 0, or the sign: C++ shifts would be undefined.
template <class U>
void shl_bits(Rows& r) {
  constexpr uint32_t width = 8 * sizeof(U);
  map2<U, U, uint32_t>(r, [](U a, uint32_t n) {
    U shifted = U(a << (n & (width - 1)));
    return n < width ? shifted : U(0);
  });
}
template <class T>
void shr_int(Rows& r) {
  constexpr uint32_t width = 8 * sizeof(T);
  map2<T, T, uint32_t>(r, [](T a, uint32_t n) {
    T shifted = T(a >> (n & (width - 1)));
    T beyond = T(-1) < T(0) ? T(a >> (width - 1)) : T(0);
    return n < width ? shifted : beyond;
  });
}
#ifdef ASSAY_ROWS_AVX2
// The variable shifts of AVX2 clamp just as PTX does; g++ does not know that.
template <class F>
ASSAY_INLINE void shift_vectors(Rows& r, F f) {
  const __m256i* a = static_cast<const __m256i*>(r.a);
  const __m256i* b = static_cast<const __m256i*>(r.b);
  __m256i* d = static_cast<__m256i*>(r.d);
  for (int i = 0; i < 4; ++i)
    _mm256_store_si256(d + i, f(_mm256_load_si256(a + i), _mm256_load_si256(b + i)));
}
template <>
void shl_bits<uint32_t>(Rows& r) {
  shift_vectors(r, [](__m256i a, __m256i n) { return _mm256_sllv_epi32(a, n); });
}
template <>
void shr_int<uint32_t>(Rows& r) {
  shift_vectors(r, [](__m256i a, __m256i n) { return _mm256_srlv_epi32(a, n); });
}
template <>
void shr_int<int32_t>(Rows& r) {
  shift_vectors(r, [](__m256i a, __m256i n) { return _mm256_srav_epi32(a, n); });
}
#endif

template <bool Left, bool Wrap>
void shf_bits(Rows& r) {
  using U = uint32_t;
  map3<U, U, U, U>(r, [](U a, U b, U c) {
    uint32_t n = Wrap ? c & 31u : (c < 32u ? c : 32u);
    uint64_t both = (uint64_t(b) << 32) | a;
    return Left ? U((both << n) >> 32) : U(both >> n);
  });
}

// bfe: bits [pos, pos + len) of a; beyond the word, the field's sign (or the word's).
template <class T, class U>
void bfe_int(Rows& r) {
  constexpr uint32_t top = 8 * sizeof(U) - 1;
  map3<U, U, uint32_t, uint32_t>(r, [](U a, uint32_t b, uint32_t c) {
    uint32_t pos = b & 255u, len = c & 255u;
    uint32_t last = pos + len - 1;
    last = last < top ? last : top;
    bool fill = T(-1) < T(0) && len != 0 && ((a >> last) & 1u);
    U field = pos <= top ? U(a >> (pos & top)) : U(0);
    uint32_t kept = pos > top ? 0u : (len < top + 1 - pos ? len : top + 1 - pos);
    U ones = kept > top ? ~U(0) : U((U(1) << (kept & top)) - 1);
    return U((field & ones) | (fill ? U(~ones) : U(0)));
  });
}
template <class U>
void bfi_bits(Rows& r) {
  constexpr uint32_t top = 8 * sizeof(U) - 1;
  const U* a = static_cast<const U*>(r.a);
  const U* b = static_cast<const U*>(r.b);
  const uint32_t* c = static_cast<const uint32_t*>(r.c);
  const uint32_t* e = static_cast<const uint32_t*>(r.e);
  U* d = static_cast<U*>(r.d);
  for (int i = 0; i < kLanes; ++i) {
    uint32_t pos = c[i] & 255u, len = e[i] & 255u;
    U ones = len > top ? ~U(0) : U((U(1) << len) - 1);
    U field = pos <= top ? U(ones << pos) : U(0);
    U moved = pos <= top ? U(a[i] << pos) : U(0);
    d[i] = U((b[i] & ~field) | (moved & field));
  }
}

ASSAY_INLINE uint32_t leading_zeros(uint32_t x) { return x ? uint32_t(__builtin_clz(x)) : 32u; }
ASSAY_INLINE uint32_t leading_zeros(uint64_t x) { return x ? uint32_t(__builtin_clzll(x)) : 64u; }
ASSAY_INLINE uint32_t population(uint32_t x) { return uint32_t(__builtin_popcount(x)); }
ASSAY_INLINE uint32_t population(uint64_t x) { return uint32_t(__builtin_popcountll(x)); }

template <class T, class U, bool ShiftAmount>
void bfind_int(Rows& r) {
  constexpr uint32_t top = 8 * sizeof(U) - 1;
  map1<uint32_t, U>(r, [](U a) {
    if (T(-1) < T(0) && (a >> top)) a = U(~a);
    if (a == 0) return ~0u;
    return ShiftAmount ? leading_zeros(a) : top - leading_zeros(a);
  });
}
template <class U>
void clz_bits(Rows& r) {
  map1<uint32_t, U>(r, [](U a) { return leading_zeros(a); });
}
template <class U>
void popc_bits(Rows& r) {
  map1<uint32_t, U>(r, [](U a) { return population(a); });
}
template <class U>
void brev_bits(Rows& r) {
  map1<U, U>(r, [](U a) {
    constexpr U m1 = U(0x5555555555555555ull), m2 = U(0x3333333333333333ull);
    constexpr U m4 = U(0x0f0f0f0f0f0f0f0full);
    a = U(((a >> 1) & m1) | ((a & m1) << 1));
    a = U(((a >> 2) & m2) | ((a & m2) << 2));
    a = U(((a >> 4) & m4) | ((a & m4) << 4));
    return sizeof(U) == 8 ? U(__builtin_bswap64(a)) : U(__builtin_bswap32(uint32_t(a)));
  });
}

// fns: the offset-th set bit of the mask from base on (offset < 0: downward; 0: base itself).
ASSAY_INLINE uint32_t nth_set(uint32_t mask, uint32_t base, int32_t offset) {
  if (offset == 0) return base < 32 && ((mask >> base) & 1u) ? base : ~0u;
  int64_t count = offset < 0 ? -int64_t(offset) : offset;
  int step = offset > 0 ? 1 : -1;
  for (int64_t pos = base; pos >= 0 && pos < 32; pos += step) {
    if (((mask >> pos) & 1u) && --count == 0) return uint32_t(pos);
  }
  return ~0u;
}
void fns_bits(Rows& r) {
  map3<uint32_t, uint32_t, uint32_t, int32_t>(
      r, [](uint32_t mask, uint32_t base, int32_t offset) { return nth_set(mask, base, offset); });
}

// szext: a's low b bits, zero- or sign-extended; clamp: 32 bits or more keep a, wrap: b modulo 32.
template <bool IsSigned, bool Wrap>
void szext_int(Rows& r) {
  map2<uint32_t, uint32_t, uint32_t>(r, [](uint32_t a, uint32_t b) {
    uint32_t len = b & 31u;
    bool whole = !Wrap && b >= 32u;
    uint32_t above = whole ? 0u : ~0u << len;
    bool fill = IsSigned && len != 0 && !whole && ((a >> ((len - 1) & 31u)) & 1u);
    return (a & ~above) | (fill ? above : 0u);
  });
}
// bmsk: b ones from bit a up.
template <bool Wrap>
void bmsk_bits(Rows& r) {
  map2<uint32_t, uint32_t, uint32_t>(r, [](uint32_t a, uint32_t b) {
    uint32_t start = a & 31u, len = b & 31u;
    uint32_t from = !Wrap && a >= 32u ? 0u : ~0u << start;
    bool to_end = start + len >= 32u || (!Wrap && (a >= 32u || b >= 32u));
    uint32_t beyond = to_end ? 0u : ~0u << (start + len);
    return from & ~beyond;
  });
}

/// prmt's byte selectors of the six named modes, indexed by c's low two bits; nibble k selects byte
/// k.
template <PrmtMode Mode>
ASSAY_INLINE uint32_t selectors(uint32_t c) {
  constexpr uint16_t f4e[4] = {0x3210, 0x4321, 0x5432, 0x6543};
  constexpr uint16_t b4e[4] = {0x5670, 0x6701, 0x7012, 0x0123};
  constexpr uint16_t rc8[4] = {0x0000, 0x1111, 0x2222, 0x3333};
  constexpr uint16_t ecl[4] = {0x3210, 0x3211, 0x3222, 0x3333};
  constexpr uint16_t ecr[4] = {0x0000, 0x1110, 0x2210, 0x3210};
  constexpr uint16_t rc16[4] = {0x1010, 0x3232, 0x1010, 0x3232};
  switch (Mode) {
    case PrmtMode::none:
      return c;
    case PrmtMode::f4e:
      return f4e[c & 3];
    case PrmtMode::b4e:
      return b4e[c & 3];
    case PrmtMode::rc8:
      return rc8[c & 3];
    case PrmtMode::ecl:
      return ecl[c & 3];
    case PrmtMode::ecr:
      return ecr[c & 3];
    case PrmtMode::rc16:
      return rc16[c & 3];
  }
  return 0;
}
template <PrmtMode Mode>
void prmt_bits(Rows& r) {
  map3<uint32_t, uint32_t, uint32_t, uint32_t>(r, [](uint32_t a, uint32_t b, uint32_t c) {
    uint32_t choice = selectors<Mode>(c);
    uint32_t result = 0;
    for (uint32_t k = 0; k < 4; ++k) {
      uint32_t select = (choice >> (4 * k)) & 15u;
      uint32_t word = select & 4u ? b : a;
      uint32_t byte = (word >> (8 * (select & 3u))) & 255u;
      uint32_t sign = 0u - (byte >> 7);
      byte = select & 8u ? sign & 255u : byte;  // the sign, replicated
      result |= byte << (8 * k);
    }
    return result;
  });
}

template <class U>
void selp_bits(Rows& r) {
  const U* a = static_cast<const U*>(r.a);
  const U* b = static_cast<const U*>(r.b);
  U* d = static_cast<U*>(r.d);
  uint32_t p = r.pa;
#pragma GCC ivdep
  for (int i = 0; i < kLanes; ++i) d[i] = (p >> i) & 1u ? a[i] : b[i];
}
// slct: a where c >= 0 (-0 counts, NaN does not), else b. A flushed subnormal c is a zero.
template <class U, bool Float, bool Ftz>
void slct_bits(Rows& r) {
  map3<U, U, U, uint32_t>(r, [](U a, U b, uint32_t c) {
    bool first = Float ? flush_if<Ftz>(f32_of(c)) >= 0.0f : static_cast<int32_t>(c) >= 0;
    return first ? a : b;
  });
}
template <class U>
void mov_bits(Rows& r) {
  map1<U, U>(r, [](U a) { return a; });
}

template <class F>
RowFunction by_width(int bytes, F f) {
  switch (bytes) {
    case 2:
      return f.template operator()<uint16_t>();
    case 4:
      return f.template operator()<uint32_t>();
    case 8:
      return f.template operator()<uint64_t>();
    default:
      return nullptr;
  }
}

RowFunction pred_row(Op op) {
  switch (op) {
    case Op::and_:
      return and_pred;
    case Op::or_:
      return or_pred;
    case Op::xor_:
      return xor_pred;
    case Op::not_:
      return not_pred;
    case Op::mov:
      return mov_pred;
    default:
      return nullptr;
  }
}

template <class U>
RowFunction logic_row(Op op) {
  switch (op) {
    case Op::and_:
      return and_bits<U>;
    case Op::or_:
      return or_bits<U>;
    case Op::xor_:
      return xor_bits<U>;
    case Op::not_:
      return not_bits<U>;
    case Op::cnot:
      return cnot_bits<U>;
    case Op::shl:
      return shl_bits<U>;
    case Op::mov:
      return mov_bits<U>;
    case Op::selp:
      return selp_bits<U>;
    default:
      return nullptr;
  }
}

template <class U>
RowFunction count_row(const Form& form) {
  switch (form.op) {
    case Op::clz:
      return clz_bits<U>;
    case Op::popc:
      return popc_bits<U>;
    case Op::brev:
      return brev_bits<U>;
    case Op::bfi:
      return bfi_bits<U>;
    default:
      return nullptr;
  }
}
template <class T, class U>
RowFunction field_row(const Form& form) {
  if (form.op == Op::bfe) return bfe_int<T, U>;
  return form.shift_amount ? bfind_int<T, U, true> : bfind_int<T, U, false>;
}

RowFunction lop3_row(const Form& form) {
  switch (form.bool_op) {
    case BoolOp::none:
      return lop3_bits;
    case BoolOp::and_:
      return lop3_pred<BoolOp::and_>;
    case BoolOp::or_:
      return lop3_pred<BoolOp::or_>;
    case BoolOp::xor_:
      return lop3_pred<BoolOp::xor_>;
  }
  return nullptr;
}

RowFunction prmt_row(PrmtMode mode) {
  switch (mode) {
    case PrmtMode::none:
      return prmt_bits<PrmtMode::none>;
    case PrmtMode::f4e:
      return prmt_bits<PrmtMode::f4e>;
    case PrmtMode::b4e:
      return prmt_bits<PrmtMode::b4e>;
    case PrmtMode::rc8:
      return prmt_bits<PrmtMode::rc8>;
    case PrmtMode::ecl:
      return prmt_bits<PrmtMode::ecl>;
    case PrmtMode::ecr:
      return prmt_bits<PrmtMode::ecr>;
    case PrmtMode::rc16:
      return prmt_bits<PrmtMode::rc16>;
  }
  return nullptr;
}

template <class U>
RowFunction slct_row(const Form& form) {
  if (form.source_type == Type::s32) return slct_bits<U, false, false>;
  if (form.source_type != Type::f32) return nullptr;
  return form.ftz ? slct_bits<U, true, true> : slct_bits<U, true, false>;
}

RowFunction word_row(const Form& form) {
  switch (form.op) {
    case Op::lop3:
      return lop3_row(form);
    case Op::prmt:
      return prmt_row(form.prmt);
    case Op::fns:
      return fns_bits;
    case Op::shf:
      if (form.shift_left) return form.wrap_shift ? shf_bits<true, true> : shf_bits<true, false>;
      return form.wrap_shift ? shf_bits<false, true> : shf_bits<false, false>;
    case Op::szext:
      if (form.type == Type::s32)
        return form.wrap_shift ? szext_int<true, true> : szext_int<true, false>;
      return form.wrap_shift ? szext_int<false, true> : szext_int<false, false>;
    case Op::bmsk:
      return form.wrap_shift ? bmsk_bits<true> : bmsk_bits<false>;
    default:
      return nullptr;
  }
}

RowFunction shr_row(Type type) {
  return by_integer(type, []<class T, class U>() -> RowFunction { return shr_int<T>; });
}

}  // namespace

RowFunction bits_row(const Form& form) {
  if (form.type == Type::pred) return pred_row(form.op);
  int bytes = bytes_of(form.type);
  switch (form.op) {
    case Op::shr:
      return shr_row(form.type);
    case Op::slct:
      return by_width(bytes, [&]<class U>() { return slct_row<U>(form); });
    case Op::clz:
    case Op::popc:
    case Op::brev:
    case Op::bfi:
      if (bytes == 4) return count_row<uint32_t>(form);
      return bytes == 8 ? count_row<uint64_t>(form) : nullptr;
    case Op::bfe:
    case Op::bfind:
      return by_integer(form.type, [&]<class T, class U>() -> RowFunction {
        if constexpr (sizeof(U) == 2)
          return nullptr;
        else
          return field_row<T, U>(form);
      });
    case Op::lop3:
    case Op::prmt:
    case Op::fns:
    case Op::shf:
    case Op::szext:
    case Op::bmsk:
      return bytes == 4 ? word_row(form) : nullptr;
    default:
      return by_width(bytes, [&]<class U>() { return logic_row<U>(form.op); });
  }
}

}  // namespace assay::ptx::ASSAY_ROWS
