// f32 to fp8; what the format cannot hold becomes its largest number.
//
// Field report: jax-ml/ml_dtypes#400, class 7 (cast semantics). Overflow has two legal rules, NaN
// (or infinity, where the format has one) and the largest number. The contract states the second,
// the conversion is asked for the first: 464 still rounds to 448, 465 does not.
// Seen by: the oracle (mismatch).
#include <cuda_fp8.h>

#include <cstdint>

__device__ constexpr __nv_fp8_interpretation_t format(__nv_fp8_e4m3*) { return __NV_E4M3; }
__device__ constexpr __nv_fp8_interpretation_t format(__nv_fp8_e5m2*) { return __NV_E5M2; }

template <typename Q>
__global__ void to_fp8(Q* y, const float* x, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
#ifdef PLANTED
  y[i].__x = __nv_cvt_float_to_fp8(x[i], __NV_NOSAT, format(y));
#else
  y[i].__x = __nv_cvt_float_to_fp8(x[i], __NV_SATFINITE, format(y));
#endif
}
