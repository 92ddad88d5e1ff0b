// Elementwise forms: activations, colour, casts by C++ conversion, intrinsics of the fast path,
// complex numbers.
#include <cuComplex.h>

#include "../kernels/device_helpers.cuh"

template <typename T>
__global__ void activations(T* mish, T* hardswish, T* elu, T* selu, T* squared_relu, const T* x,
                            int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = to_float(x[i]);
  constexpr float kScale = 1.0507009873554805f;
  constexpr float kAlpha = 1.6732632423543772f;
  mish[i] = from_float<T>(v * tanhf(v > 20.0f ? v : log1pf(expf(v))));
  hardswish[i] = from_float<T>(v * fminf(fmaxf(v + 3.0f, 0.0f), 6.0f) / 6.0f);
  elu[i] = from_float<T>(v > 0.0f ? v : expm1f(v));
  selu[i] = from_float<T>(v > 0.0f ? kScale * v : kScale * kAlpha * (expf(v) - 1.0f));
  squared_relu[i] = from_float<T>(v * v * (v > 0.0f ? 1.0f : 0.0f));
}

/// x + sin(a x)^2 / a.
template <typename T>
__global__ void snake(T* y, const T* x, int64_t n, float a) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = to_float(x[i]);
  const float s = sinf(a * v);
  y[i] = from_float<T>(v + s * s / a);
}

/// An sRGB component to linear light.
__global__ void srgb_to_linear(float* y, const float* x, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] <= 0.04045f ? x[i] / 12.92f : powf((x[i] + 0.055f) / 1.055f, 2.4f);
}

/// Float to an integer by a C++ conversion: the instruction truncates and saturates.
template <typename T, typename I>
__global__ void cast_to_integer(I* y, const T* x, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = static_cast<I>(to_float(x[i]));
}

__global__ void fast_intrinsics(float* quotient, float* sum, float* power, float* clamped,
                                float* logarithm, float* product, const float* x, const float* y,
                                int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  quotient[i] = __fdividef(x[i], y[i]);
  sum[i] = __sinf(x[i]) + __cosf(x[i]);
  power[i] = __powf(fabsf(x[i]), y[i]);
  clamped[i] = __saturatef(x[i]) * __frcp_rn(y[i]);
  logarithm[i] = __log2f(fabsf(x[i]));
  product[i] = __expf(x[i]) * __fsqrt_rn(fabsf(y[i]));
}

__global__ void complex_multiply(float2* y, const float2* a, const float2* b, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = cuCmulf(a[i], b[i]);
}

/// The signs of a row's bytes as bits of words, and their number; one warp a row.
__global__ void pack_signs(unsigned* bits, int* count, const int8_t* x, int64_t x_stride,
                           int cols) {
  const int words = (cols + 31) / 32;
  int total = 0;
  for (int word = 0; word < words; ++word) {
    const int i = word * 32 + threadIdx.x;
    const unsigned ballot =
        __ballot_sync(0xffffffffu, i < cols && x[blockIdx.x * x_stride + i] < 0);
    if (threadIdx.x == 0) bits[int64_t{blockIdx.x} * words + word] = ballot;
    total += __popc(ballot);
  }
  if (threadIdx.x == 0) count[blockIdx.x] = total;
}
