#include "devices/ptx/row_kit.hpp"

#include <immintrin.h>

#include <cstring>

namespace assay::ptx {

namespace {

// ---- any x86-64 ----

template <class T>
void blend(void* d, const void* s, uint32_t mask) {
  T* to = static_cast<T*>(d);
  const T* from = static_cast<const T*>(s);
  for (int i = 0; i < kLanes; ++i) to[i] = (mask >> i) & 1 ? from[i] : to[i];
}

void addresses32(uint64_t* d, const uint32_t* a, int64_t offset) {
  for (int i = 0; i < kLanes; ++i) d[i] = static_cast<uint32_t>(a[i] + offset);
}

void butterfly32(uint32_t* d, const uint32_t* a, uint32_t distance) {
  alignas(64) uint32_t result[kLanes];
  for (uint32_t lane = 0; lane < kLanes; ++lane) result[lane] = a[lane ^ distance];
  std::memcpy(d, result, sizeof result);
}

bool uniform32(const uint32_t* a) {
  uint32_t different = 0;
  for (int i = 0; i < kLanes; ++i) different |= a[i] ^ a[0];
  return different == 0;
}

AddressPattern pattern_of(const uint64_t* a, int count, int64_t bytes) {
  uint64_t apart = 0, different = 0;
  for (int i = 0; i < count; ++i) {
    apart |= a[i] ^ (a[0] + static_cast<uint64_t>(i * bytes));
    different |= a[i] ^ a[0];
  }
  return apart == 0       ? AddressPattern::consecutive
         : different == 0 ? AddressPattern::uniform
                          : AddressPattern::scattered;
}

inline __attribute__((always_inline)) int period_of(const uint64_t* a, int64_t bytes) {
  int side_by_side = 1;
  while (side_by_side < kLanes &&
         a[side_by_side] == a[side_by_side - 1] + static_cast<uint64_t>(bytes)) {
    ++side_by_side;
  }
  if (side_by_side == kLanes || (side_by_side & (side_by_side - 1)) != 0) return 0;
  uint64_t different = 0;
  for (int i = side_by_side; i < kLanes; ++i) different |= a[i] ^ a[i - side_by_side];
  return different == 0 ? side_by_side : 0;
}

int period(const uint64_t* a, int64_t bytes) { return period_of(a, bytes); }

AddressPattern pattern(const uint64_t* a, int64_t bytes) { return pattern_of(a, kLanes, bytes); }

bool add_leaves_nonnegative(const uint32_t* a, const uint32_t* b) {
  uint32_t any = 0;
  for (int i = 0; i < kLanes; ++i) any |= a[i] | b[i] | (a[i] + b[i]);
  return (any >> 31) == 0;
}

bool sub_leaves_nonnegative(const uint32_t* a, const uint32_t* b) {
  uint32_t any = 0;
  for (int i = 0; i < kLanes; ++i) any |= a[i] | b[i] | (a[i] - b[i]);
  return (any >> 31) == 0;
}

bool shl_leaves_nonnegative(const uint32_t* a, const uint32_t* b) {
  uint64_t any = 0;
  for (int i = 0; i < kLanes; ++i) {
    any |= b[i] > 31 ? uint64_t{1} << 31 : static_cast<uint64_t>(a[i]) << b[i];
  }
  return (any >> 31) == 0;
}

bool mul_leaves_nonnegative(const uint32_t* a, const uint32_t* b) {
  uint64_t any = 0;
  for (int i = 0; i < kLanes; ++i) {
    any |= a[i] | b[i] | (static_cast<uint64_t>(a[i]) * b[i]);
  }
  return (any >> 31) == 0;
}

bool mad_leaves_nonnegative(const uint32_t* a, const uint32_t* b, const uint32_t* c) {
  uint64_t any = 0;
  for (int i = 0; i < kLanes; ++i) {
    any |= a[i] | b[i] | c[i] | (static_cast<uint64_t>(a[i]) * b[i] + c[i]);
  }
  return (any >> 31) == 0;
}

bool any_negative(const uint32_t* a) {
  uint32_t any = 0;
  for (int i = 0; i < kLanes; ++i) any |= a[i];
  return (any >> 31) != 0;
}

bool any_bit(const uint8_t* a, int64_t bytes, uint8_t bits) {
  const uint64_t wide = 0x0101010101010101ull * bits;
  uint64_t any = 0;
  for (int64_t i = 0; i < bytes; i += 8) {
    uint64_t word;
    std::memcpy(&word, a + i, 8);
    any |= word & wide;
  }
  return any != 0;
}

constexpr RowKit kGeneric = {blend<uint16_t>,
                             blend<uint32_t>,
                             blend<uint64_t>,
                             addresses32,
                             butterfly32,
                             uniform32,
                             pattern,
                             pattern_of,
                             period,
                             add_leaves_nonnegative,
                             sub_leaves_nonnegative,
                             shl_leaves_nonnegative,
                             mul_leaves_nonnegative,
                             mad_leaves_nonnegative,
                             any_negative,
                             any_bit};

// ---- AVX2 ----
// Functions with a target attribute rather than a file built with -mavx2: no inline function of the
// standard library can then be emitted for the wrong machine.

#define ASSAY_AVX2 __attribute__((target("avx2")))

ASSAY_AVX2 inline __m256i load(const void* p) {
  return _mm256_load_si256(static_cast<const __m256i*>(p));
}
ASSAY_AVX2 inline void store(void* p, __m256i v) {
  _mm256_store_si256(static_cast<__m256i*>(p), v);
}

/// All ones in the 32-bit lanes whose bit of the low byte of `mask` is set.
ASSAY_AVX2 inline __m256i lanes32(uint32_t mask) {
  const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(mask)), bit), bit);
}

ASSAY_AVX2 void blend32_avx2(void* d, const void* s, uint32_t mask) {
  for (int i = 0; i < 4; ++i) {
    auto* to = static_cast<char*>(d) + 32 * i;
    store(to, _mm256_blendv_epi8(load(to), load(static_cast<const char*>(s) + 32 * i),
                                 lanes32(mask >> (8 * i))));
  }
}

ASSAY_AVX2 void blend64_avx2(void* d, const void* s, uint32_t mask) {
  const __m256i bit = _mm256_setr_epi64x(1, 2, 4, 8);
  for (int i = 0; i < 8; ++i) {
    auto* to = static_cast<char*>(d) + 32 * i;
    const __m256i word = _mm256_set1_epi64x(mask >> (4 * i));
    const __m256i chosen = _mm256_cmpeq_epi64(_mm256_and_si256(word, bit), bit);
    store(to, _mm256_blendv_epi8(load(to), load(static_cast<const char*>(s) + 32 * i), chosen));
  }
}

ASSAY_AVX2 void blend16_avx2(void* d, const void* s, uint32_t mask) {
  const __m256i bit = _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096,
                                        8192, 16384, static_cast<int16_t>(32768));
  for (int i = 0; i < 2; ++i) {
    auto* to = static_cast<char*>(d) + 32 * i;
    const __m256i word = _mm256_set1_epi16(static_cast<int16_t>(mask >> (16 * i)));
    const __m256i chosen = _mm256_cmpeq_epi16(_mm256_and_si256(word, bit), bit);
    store(to, _mm256_blendv_epi8(load(to), load(static_cast<const char*>(s) + 32 * i), chosen));
  }
}

ASSAY_AVX2 void addresses32_avx2(uint64_t* d, const uint32_t* a, int64_t offset) {
  const __m128i add = _mm_set1_epi32(static_cast<int>(offset));
  for (int i = 0; i < 8; ++i) {
    const __m128i v = _mm_load_si128(reinterpret_cast<const __m128i*>(a + 4 * i));
    store(d + 4 * i, _mm256_cvtepu32_epi64(_mm_add_epi32(v, add)));
  }
}

ASSAY_AVX2 void butterfly32_avx2(uint32_t* d, const uint32_t* a, uint32_t distance) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i within = _mm256_xor_si256(lane, _mm256_set1_epi32(static_cast<int>(distance & 7)));
  __m256i v[4];
  for (uint32_t i = 0; i < 4; ++i) {
    v[i] = _mm256_permutevar8x32_epi32(load(a + 8 * (i ^ (distance >> 3))), within);
  }
  for (uint32_t i = 0; i < 4; ++i) store(d + 8 * i, v[i]);
}

ASSAY_AVX2 bool uniform32_avx2(const uint32_t* a) {
  const __m256i first = _mm256_set1_epi32(static_cast<int>(a[0]));
  __m256i different = _mm256_setzero_si256();
  for (int i = 0; i < 4; ++i) {
    different = _mm256_or_si256(different, _mm256_xor_si256(load(a + 8 * i), first));
  }
  return _mm256_testz_si256(different, different);
}

ASSAY_AVX2 AddressPattern pattern_avx2(const uint64_t* a, int64_t bytes) {
  const __m256i first = _mm256_set1_epi64x(static_cast<int64_t>(a[0]));
  __m256i expected = _mm256_add_epi64(first, _mm256_setr_epi64x(0, bytes, 2 * bytes, 3 * bytes));
  const __m256i step = _mm256_set1_epi64x(4 * bytes);
  __m256i apart = _mm256_setzero_si256(), different = _mm256_setzero_si256();
  for (int i = 0; i < 8; ++i) {
    const __m256i v = load(a + 4 * i);
    apart = _mm256_or_si256(apart, _mm256_xor_si256(v, expected));
    different = _mm256_or_si256(different, _mm256_xor_si256(v, first));
    expected = _mm256_add_epi64(expected, step);
  }
  return _mm256_testz_si256(apart, apart)           ? AddressPattern::consecutive
         : _mm256_testz_si256(different, different) ? AddressPattern::uniform
                                                    : AddressPattern::scattered;
}

ASSAY_AVX2 AddressPattern pattern_of_avx2(const uint64_t* a, int count, int64_t bytes) {
  const __m256i first = _mm256_set1_epi64x(static_cast<int64_t>(a[0]));
  __m256i expected = _mm256_add_epi64(first, _mm256_setr_epi64x(0, bytes, 2 * bytes, 3 * bytes));
  const __m256i step = _mm256_set1_epi64x(4 * bytes);
  __m256i apart = _mm256_setzero_si256(), different = _mm256_setzero_si256();
  int i = 0;
  for (; i + 4 <= count; i += 4) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + i));
    apart = _mm256_or_si256(apart, _mm256_xor_si256(v, expected));
    different = _mm256_or_si256(different, _mm256_xor_si256(v, first));
    expected = _mm256_add_epi64(expected, step);
  }
  uint64_t rest_apart = 0, rest_different = 0;
  for (; i < count; ++i) {
    rest_apart |= a[i] ^ (a[0] + static_cast<uint64_t>(i * bytes));
    rest_different |= a[i] ^ a[0];
  }
  if (rest_apart == 0 && _mm256_testz_si256(apart, apart)) return AddressPattern::consecutive;
  if (rest_different == 0 && _mm256_testz_si256(different, different)) {
    return AddressPattern::uniform;
  }
  return AddressPattern::scattered;
}

ASSAY_AVX2 int period_avx2(const uint64_t* a, int64_t bytes) { return period_of(a, bytes); }

ASSAY_AVX2 bool add_leaves_nonnegative_avx2(const uint32_t* a, const uint32_t* b) {
  __m256i any = _mm256_setzero_si256();
  for (int i = 0; i < 4; ++i) {
    const __m256i x = load(a + 8 * i), y = load(b + 8 * i);
    any = _mm256_or_si256(any, _mm256_or_si256(_mm256_or_si256(x, y), _mm256_add_epi32(x, y)));
  }
  return _mm256_movemask_ps(_mm256_castsi256_ps(any)) == 0;
}

ASSAY_AVX2 bool sub_leaves_nonnegative_avx2(const uint32_t* a, const uint32_t* b) {
  __m256i any = _mm256_setzero_si256();
  for (int i = 0; i < 4; ++i) {
    const __m256i x = load(a + 8 * i), y = load(b + 8 * i);
    any = _mm256_or_si256(any, _mm256_or_si256(_mm256_or_si256(x, y), _mm256_sub_epi32(x, y)));
  }
  return _mm256_movemask_ps(_mm256_castsi256_ps(any)) == 0;
}

ASSAY_AVX2 bool shl_leaves_nonnegative_avx2(const uint32_t* a, const uint32_t* b) {
  // Back by the same count: a bit that was lost, or that reached the sign, does not return.
  __m256i any = _mm256_setzero_si256();
  for (int i = 0; i < 4; ++i) {
    const __m256i x = load(a + 8 * i), n = load(b + 8 * i);
    const __m256i shifted = _mm256_sllv_epi32(x, n);
    any = _mm256_or_si256(any, _mm256_xor_si256(_mm256_srlv_epi32(shifted, n), x));
    any = _mm256_or_si256(any, _mm256_srli_epi32(shifted, 31));
  }
  return _mm256_testz_si256(any, any);
}

ASSAY_AVX2 bool mad_leaves_nonnegative_avx2(const uint32_t* a, const uint32_t* b,
                                            const uint32_t* c) {
  const __m256i low = _mm256_set1_epi64x(0xffffffff);
  __m256i any = _mm256_setzero_si256();  // bits 31 and up of 64-bit elements decide
  for (int i = 0; i < 4; ++i) {
    const __m256i x = load(a + 8 * i), y = load(b + 8 * i), z = load(c + 8 * i);
    const __m256i xo = _mm256_srli_epi64(x, 32), yo = _mm256_srli_epi64(y, 32);
    const __m256i even = _mm256_add_epi64(_mm256_mul_epu32(x, y), _mm256_and_si256(z, low));
    const __m256i odd = _mm256_add_epi64(_mm256_mul_epu32(xo, yo), _mm256_srli_epi64(z, 32));
    const __m256i leaves = _mm256_or_si256(_mm256_or_si256(x, y), z);
    any = _mm256_or_si256(any, _mm256_or_si256(even, odd));
    any = _mm256_or_si256(any, _mm256_and_si256(leaves, low));
    any = _mm256_or_si256(any, _mm256_srli_epi64(leaves, 32));
  }
  any = _mm256_srli_epi64(any, 31);
  return _mm256_testz_si256(any, any);
}

ASSAY_AVX2 bool mul_leaves_nonnegative_avx2(const uint32_t* a, const uint32_t* b) {
  alignas(32) static const uint32_t zero[kLanes] = {};
  return mad_leaves_nonnegative_avx2(a, b, zero);
}

ASSAY_AVX2 bool any_negative_avx2(const uint32_t* a) {
  const __m256i any = _mm256_or_si256(_mm256_or_si256(load(a), load(a + 8)),
                                      _mm256_or_si256(load(a + 16), load(a + 24)));
  return _mm256_movemask_ps(_mm256_castsi256_ps(any)) != 0;
}

ASSAY_AVX2 bool any_bit_avx2(const uint8_t* a, int64_t bytes, uint8_t bits) {
  const __m256i wanted = _mm256_set1_epi8(static_cast<char>(bits));
  __m256i any = _mm256_setzero_si256();
  for (int64_t i = 0; i < bytes; i += 32) {
    any = _mm256_or_si256(any, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + i)));
  }
  return !_mm256_testz_si256(any, wanted);
}

constexpr RowKit kAvx2 = {blend16_avx2,
                          blend32_avx2,
                          blend64_avx2,
                          addresses32_avx2,
                          butterfly32_avx2,
                          uniform32_avx2,
                          pattern_avx2,
                          pattern_of_avx2,
                          period_avx2,
                          add_leaves_nonnegative_avx2,
                          sub_leaves_nonnegative_avx2,
                          shl_leaves_nonnegative_avx2,
                          mul_leaves_nonnegative_avx2,
                          mad_leaves_nonnegative_avx2,
                          any_negative_avx2,
                          any_bit_avx2};

// ---- moves and width changes ----

template <class To, class From>
void resize(Rows& r) {
  alignas(32) To result[kLanes];
  const From* a = static_cast<const From*>(r.a);
  for (int i = 0; i < kLanes; ++i) result[i] = static_cast<To>(a[i]);
  std::memcpy(r.d, result, sizeof result);
}

template <class T>
void copy(Rows& r) {
  if (r.d != r.a) std::memcpy(r.d, r.a, kLanes * sizeof(T));
}

template <int kWidth>
ASSAY_AVX2 void copy_avx2(Rows& r) {
  const char* a = static_cast<const char*>(r.a);
  for (int i = 0; i < kWidth; ++i) store(static_cast<char*>(r.d) + 32 * i, load(a + 32 * i));
}

}  // namespace

const RowKit& row_kit(bool avx2) { return avx2 ? kAvx2 : kGeneric; }

RowFunction copy_row(int width, bool avx2) {
  switch (width) {
    case 2:
      return avx2 ? copy_avx2<2> : copy<uint16_t>;
    case 4:
      return avx2 ? copy_avx2<4> : copy<uint32_t>;
    default:
      return avx2 ? copy_avx2<8> : copy<uint64_t>;
  }
}

RowFunction resize_row(int from, int to, bool sign_extend, bool avx2) {
  if (from == to) return copy_row(to, avx2);
  if (from == 8) return to == 4 ? resize<uint32_t, uint64_t> : resize<uint16_t, uint64_t>;
  if (from == 4 && to == 2) return resize<uint16_t, uint32_t>;
  if (from == 4) return sign_extend ? resize<int64_t, int32_t> : resize<uint64_t, uint32_t>;
  if (to == 4) return sign_extend ? resize<int32_t, int16_t> : resize<uint32_t, uint16_t>;
  return sign_extend ? resize<int64_t, int16_t> : resize<uint64_t, uint16_t>;
}

}  // namespace assay::ptx
