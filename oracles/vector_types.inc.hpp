// Four doubles at a time in the compiler's vector types: the same source, and without contraction
// the same bits, with and without AVX2. Included within an unnamed namespace.
#pragma once

typedef double Vec __attribute__((vector_size(32)));
typedef long long Mask __attribute__((vector_size(32)));
#define ASSAY_INLINE inline __attribute__((always_inline))

ASSAY_INLINE Vec load(const double* p) {
  Vec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
ASSAY_INLINE void store(double* p, Vec v) { __builtin_memcpy(p, &v, sizeof v); }
ASSAY_INLINE Vec splat(double x) { return Vec{x, x, x, x}; }
ASSAY_INLINE Vec vabs(Vec x) { return (Vec)((Mask)x & 0x7fffffffffffffffll); }
ASSAY_INLINE Vec vlarger(Vec a, Vec b) { return a > b ? a : b; }
ASSAY_INLINE Mask vfinite(Vec x) { return x - x == 0; }
ASSAY_INLINE Vec vpower_below(Vec x) { return (Vec)((Mask)x & 0x7ff0000000000000ll); }
ASSAY_INLINE bool any(Mask m) { return (m[0] | m[1] | m[2] | m[3]) != 0; }
