// Quantisation in other forms: asymmetric codes, scales a block, powers of two, packed 4-bit
// floats.
#include <cuda_fp8.h>

#include "../kernels/device_helpers.cuh"

/// 64 elements a group with a zero point, one warp a group.
template <typename T>
__global__ void quantize_asymmetric(uint8_t* q, float* scale, uint8_t* zero, const T* x,
                                    int64_t groups) {
  const int64_t group = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (group >= groups) return;
  const int64_t at = group * 64 + threadIdx.x;
  const float a = to_float(x[at]);
  const float b = to_float(x[at + 32]);
  const float low = fminf(-warp_reduce(-fminf(a, b), Max()), 0.0f);
  const float high = fmaxf(warp_reduce(fmaxf(a, b), Max()), 0.0f);
  const float s = fmaxf((high - low) / 255.0f, 1e-8f);
  const float z = fminf(fmaxf(rintf(-low / s), 0.0f), 255.0f);
  if (threadIdx.x == 0) {
    scale[group] = s;
    zero[group] = uint8_t(z);
  }
  const float inverse = 1.0f / s;
  q[at] = uint8_t(fminf(fmaxf(rintf(a * inverse) + z, 0.0f), 255.0f));
  q[at + 32] = uint8_t(fminf(fmaxf(rintf(b * inverse) + z, 0.0f), 255.0f));
}

/// 128 elements a block, one warp a block, four a lane.
template <typename T>
__global__ void quantize_fp8_block(__nv_fp8_e4m3* q, float* scale, const T* x, int64_t blocks) {
  const int64_t block = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (block >= blocks) return;
  const int64_t at = block * 128 + threadIdx.x * 4;
  float most = 0.0f;
#pragma unroll
  for (int j = 0; j < 4; ++j) most = fmaxf(most, fabsf(to_float(x[at + j])));
  const float s = fmaxf(warp_reduce(most, Max()), 1e-4f) / 448.0f;
#pragma unroll
  for (int j = 0; j < 4; ++j)
    q[at + j] = __nv_fp8_e4m3(fminf(fmaxf(to_float(x[at + j]) / s, -448.0f), 448.0f));
  if (threadIdx.x == 0) scale[block] = s;
}

/// The same with a scale that is a power of two, rounded up by exp2f(ceilf(log2f())).
template <typename T>
__global__ void quantize_fp8_power_of_two(__nv_fp8_e4m3* q, float* scale, const T* x,
                                          int64_t blocks) {
  const int64_t block = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (block >= blocks) return;
  const int64_t at = block * 128 + threadIdx.x * 4;
  float most = 0.0f;
#pragma unroll
  for (int j = 0; j < 4; ++j) most = fmaxf(most, fabsf(to_float(x[at + j])));
  const float s = exp2f(ceilf(log2f(fmaxf(warp_reduce(most, Max()), 1e-4f) / 448.0f)));
  const float inverse = 1.0f / s;
#pragma unroll
  for (int j = 0; j < 4; ++j) q[at + j] = __nv_fp8_e4m3(to_float(x[at + j]) * inverse);
  if (threadIdx.x == 0) scale[block] = s;
}

/// The largest magnitude of a tensor by atomicMax on the bits of non-negative floats.
template <typename T>
__global__ void largest_magnitude(float* out, const T* x, int64_t n) {
  float most = 0.0f;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += int64_t{gridDim.x} * blockDim.x)
    most = fmaxf(most, fabsf(to_float(x[i])));
  most = warp_reduce(most, Max());
  if (threadIdx.x % 32 == 0) atomicMax(reinterpret_cast<int*>(out), __float_as_int(most));
}

template <typename T>
__global__ void quantize_by_largest(__nv_fp8_e4m3* q, float* scale, const T* x,
                                    const float* largest, int64_t n) {
  const float most = fmaxf(*largest, 1e-12f);
  const float inverse = 448.0f / most;
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i == 0) *scale = most / 448.0f;
  if (i < n) q[i] = __nv_fp8_e4m3(to_float(x[i]) * inverse);
}

/// fp8 codes in both directions, with arithmetic between.
template <typename T, typename Q>
__global__ void fp8_arithmetic(Q* quantized, T* divided, T* sum, Q* relu, const T* x, const Q* y,
                               int64_t n, float scale) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float u = to_float(x[i]);
  const float v = float(y[i]);
  quantized[i] = Q(u * scale);
  divided[i] = from_float<T>(v / scale);
  sum[i] = from_float<T>(u + v * scale);
  relu[i] = Q(fmaxf(v, 0.0f) + u);
}

/// Packed e2m1 codes, two a byte, 16 a scale.
template <typename T>
__global__ void dequantize_fp4(T* y, const uint8_t* q, const float* scale, int64_t bytes) {
  const float value[8] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= bytes) return;
  const unsigned byte = q[i];
  const float s = scale[i / 8];
  y[2 * i] = from_float<T>((byte & 8 ? -value[byte & 7] : value[byte & 7]) * s);
  y[2 * i + 1] = from_float<T>((byte & 128 ? -value[byte >> 4 & 7] : value[byte >> 4 & 7]) * s);
}

/// 4-bit codes looked up in a table of 16 values, a scale a block.
__global__ void dequantize_lookup(__half* y, const uint8_t* q, const float* table,
                                  const float* scale, int64_t n, int block_size) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = __float2half(table[q[i / 2] >> (4 * (i & 1)) & 15] * scale[i / block_size]);
}
