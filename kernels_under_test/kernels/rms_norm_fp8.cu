// RMS norm with the residual added in place, quantised to fp8 with one scale a token, as inference
// engines fuse it: s = x + residual in f32; residual = T(s); n = T(T(s / rms(s)) * weight);
// scale = max |n| / 448; out = fp8(n / scale). One block a token, three passes over it, each of
// which computes n anew: the unrounded sum is what is normalised.
#include <cuda_fp8.h>

#include "device_helpers.cuh"

template <typename Q>
struct Fp8;
template <>
struct Fp8<__nv_fp8_e4m3> {
  static constexpr float kLargest = 448.0f;
  static constexpr __nv_fp8_interpretation_t kFormat = __NV_E4M3;
};
template <>
struct Fp8<__nv_fp8_e5m2> {
  static constexpr float kLargest = 57344.0f;
  static constexpr __nv_fp8_interpretation_t kFormat = __NV_E5M2;
};

template <typename T, typename Q, int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    rms_norm_fp8(Q* out, float* scales, T* residual, const T* x, const T* weight, int64_t x_stride,
                 int hidden, float eps, float min_scale) {
  __shared__ float sums[BLOCK / 32];
  __shared__ float maxima[BLOCK / 32];
  x += int64_t{blockIdx.x} * x_stride;
  out += int64_t{blockIdx.x} * hidden;
  residual += int64_t{blockIdx.x} * hidden;

  float squares = 0.0f;
  for (int i = threadIdx.x; i < hidden; i += BLOCK) {
    const float s = to_float(x[i]) + to_float(residual[i]);
    squares += s * s;
  }
  const float rms = rsqrtf(block_reduce<BLOCK>(squares, Sum(), sums) / hidden + eps);
  const auto normed = [&](int i) {
    const T n = from_float<T>((to_float(x[i]) + to_float(residual[i])) * rms);
    return to_float(from_float<T>(to_float(n) * to_float(weight[i])));
  };

  float largest = 0.0f;
  for (int i = threadIdx.x; i < hidden; i += BLOCK) largest = fmaxf(largest, fabsf(normed(i)));
  const float scale =
      fmaxf(block_reduce<BLOCK>(largest, Max(), maxima) / Fp8<Q>::kLargest, min_scale);
  if (threadIdx.x == 0) scales[blockIdx.x] = scale;

  for (int i = threadIdx.x; i < hidden; i += BLOCK) {
    out[i].__x = __nv_cvt_float_to_fp8(normed(i) / scale, __NV_SATFINITE, Fp8<Q>::kFormat);
    residual[i] = from_float<T>(to_float(x[i]) + to_float(residual[i]));
  }
}
