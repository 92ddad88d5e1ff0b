// RMS norm with the residual added in place, quantised to fp8 with one scale a token, as inference
// engines fuse it: s = x + residual in f32; residual = T(s); n = T(T(s / rms(s)) * weight);
// scale = max |n| / 448; out = fp8(n / scale). One block a token, three passes over it, each of
// which computes n anew: the unrounded sum is what is normalised. 16 bytes are read at a time where
// the token's rows start on 16 bytes.
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

/// Calls `use(i, s)` for every element of a thread, s being x[i] + residual[i] in f32; 16 bytes are
/// read at a time below `whole`.
template <int BLOCK, typename T, typename Use>
__device__ inline void for_sums(const T* x, const T* residual, int whole, int hidden, Use use) {
  constexpr int V = 16 / sizeof(T);
  for (int i = threadIdx.x * V; i < whole; i += BLOCK * V) {
    const Vector<T, V> a = load<V>(x + i);
    const Vector<T, V> b = load<V>(residual + i);
#pragma unroll
    for (int j = 0; j < V; ++j) use(i + j, to_float(a.at[j]) + to_float(b.at[j]));
  }
  for (int i = whole + threadIdx.x; i < hidden; i += BLOCK)
    use(i, to_float(x[i]) + to_float(residual[i]));
}

template <typename T, typename Q, int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    rms_norm_fp8(Q* out, float* scales, T* residual, const T* x, const T* weight, int64_t x_stride,
                 int hidden, float eps, float min_scale) {
  __shared__ float sums[BLOCK / 32];
  __shared__ float maxima[BLOCK / 32];
  x += int64_t{blockIdx.x} * x_stride;
  out += int64_t{blockIdx.x} * hidden;
  residual += int64_t{blockIdx.x} * hidden;
  constexpr int V = 16 / sizeof(T);
  const int whole = aligned16(x, residual) ? hidden / V * V : 0;

  float squares = 0.0f;
  for_sums<BLOCK>(x, residual, whole, hidden, [&](int, float s) { squares += s * s; });
  const float rms = rsqrtf(block_reduce<BLOCK>(squares, Sum(), sums) / hidden + eps);
  const auto normed = [&](int i, float s) {
    return to_float(from_float<T>(to_float(from_float<T>(s * rms)) * to_float(weight[i])));
  };

  float largest = 0.0f;
  for_sums<BLOCK>(x, residual, whole, hidden,
                  [&](int i, float s) { largest = fmaxf(largest, fabsf(normed(i, s))); });
  const float scale =
      fmaxf(block_reduce<BLOCK>(largest, Max(), maxima) / Fp8<Q>::kLargest, min_scale);
  if (threadIdx.x == 0) scales[blockIdx.x] = scale;

  for_sums<BLOCK>(x, residual, whole, hidden, [&](int i, float s) {
    out[i].__x = __nv_cvt_float_to_fp8(normed(i, s) / scale, __NV_SATFINITE, Fp8<Q>::kFormat);
    residual[i] = from_float<T>(s);
  });
}
