// Rows moved by 16-byte vectors where the addresses allow it, with scalar heads or tails, as
// inference engines write them.
#include "../kernels/device_helpers.cuh"

/// RMS norm of one row a block; vectors of 16 bytes, then the columns left over.
template <typename T, int BLOCK>
__global__ void rms_norm_vectorized(T* y, const T* x, const T* weight, int64_t x_stride, int cols,
                                    float eps) {
  constexpr int kWidth = 16 / sizeof(T);
  __shared__ float partial[BLOCK / 32];
  x += blockIdx.x * x_stride;
  y += int64_t{blockIdx.x} * cols;
  const int vectors = aligned16(x, y, weight) ? cols / kWidth : 0;
  float squares = 0.0f;
  for (int v = threadIdx.x; v < vectors; v += BLOCK) {
    const Vector<T, kWidth> in = load<kWidth>(x + v * kWidth);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) squares += to_float(in.at[j]) * to_float(in.at[j]);
  }
  for (int i = vectors * kWidth + threadIdx.x; i < cols; i += BLOCK)
    squares += to_float(x[i]) * to_float(x[i]);
  const float rstd = rsqrtf(block_reduce<BLOCK>(squares, Sum(), partial) / cols + eps);
  for (int v = threadIdx.x; v < vectors; v += BLOCK) {
    const Vector<T, kWidth> in = load<kWidth>(x + v * kWidth);
    const Vector<T, kWidth> w = load<kWidth>(weight + v * kWidth);
    Vector<T, kWidth> out;
#pragma unroll
    for (int j = 0; j < kWidth; ++j)
      out.at[j] = from_float<T>(to_float(in.at[j]) * rstd * to_float(w.at[j]));
    store(y + v * kWidth, out);
  }
  for (int i = vectors * kWidth + threadIdx.x; i < cols; i += BLOCK)
    y[i] = from_float<T>(to_float(x[i]) * rstd * to_float(weight[i]));
}

/// Layer norm of rows of whole vectors, kept in registers between the passes: at most 4 a thread.
template <typename T, int BLOCK>
__global__ void layer_norm_vectorized(T* y, const T* x, const T* weight, const T* bias, int vectors,
                                      float eps) {
  constexpr int kWidth = 8 / sizeof(T);
  constexpr int kMost = 4;
  __shared__ float partial[2][BLOCK / 32];
  const int64_t base = int64_t{blockIdx.x} * vectors * kWidth;
  const int cols = vectors * kWidth;
  float kept[kMost][kWidth];
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < kMost; ++k) {
    const int v = k * BLOCK + threadIdx.x;
    if (v >= vectors) break;
    const Vector<T, kWidth> in = load<kWidth>(x + base + v * kWidth);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) sum += kept[k][j] = to_float(in.at[j]);
  }
  const float mean = block_reduce<BLOCK>(sum, Sum(), partial[0]) / cols;
  float squares = 0.0f;
#pragma unroll
  for (int k = 0; k < kMost; ++k) {
    if (k * BLOCK + threadIdx.x >= vectors) break;
#pragma unroll
    for (int j = 0; j < kWidth; ++j) squares += (kept[k][j] - mean) * (kept[k][j] - mean);
  }
  const float rstd = rsqrtf(block_reduce<BLOCK>(squares, Sum(), partial[1]) / cols + eps);
#pragma unroll
  for (int k = 0; k < kMost; ++k) {
    const int v = k * BLOCK + threadIdx.x;
    if (v >= vectors) break;
    const Vector<T, kWidth> w = load<kWidth>(weight + v * kWidth);
    const Vector<T, kWidth> b = load<kWidth>(bias + v * kWidth);
    Vector<T, kWidth> out;
#pragma unroll
    for (int j = 0; j < kWidth; ++j)
      out.at[j] = from_float<T>((kept[k][j] - mean) * rstd * to_float(w.at[j]) + to_float(b.at[j]));
    store(y + base + v * kWidth, out);
  }
}

/// Gate and up halves of a token by uint4, scalar where a width is odd.
template <typename T, int BLOCK>
__global__ void silu_and_mul_vectorized(T* y, const T* x, int width) {
  constexpr int kWidth = 16 / sizeof(T);
  const T* gate = x + int64_t{blockIdx.x} * 2 * width;
  const T* up = gate + width;
  y += int64_t{blockIdx.x} * width;
  const int vectors = aligned16(gate, up, y) ? width / kWidth : 0;
  const auto silu = [](T v) { return from_float<T>(to_float(v) / (1.0f + expf(-to_float(v)))); };
  const auto gated = [&](T a, T b) { return from_float<T>(to_float(silu(a)) * to_float(b)); };
  for (int v = threadIdx.x; v < vectors; v += BLOCK) {
    union Words {
      uint4 words;
      T at[kWidth];
      __device__ Words(uint4 w) : words(w) {}
    };
    Words a = __ldg(reinterpret_cast<const uint4*>(gate) + v);
    const Words b = __ldg(reinterpret_cast<const uint4*>(up) + v);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) a.at[j] = gated(a.at[j], b.at[j]);
    reinterpret_cast<uint4*>(y)[v] = a.words;
  }
  for (int i = vectors * kWidth + threadIdx.x; i < width; i += BLOCK) y[i] = gated(gate[i], up[i]);
}

/// Rotary embedding of adjacent pairs in place, a pair a half2, by half-precision intrinsics.
__global__ void rope_half2(__half2* x, const __half2* cos_sin, const int* position, int heads,
                           int pairs) {
  const int64_t token = blockIdx.x;
  const __half2* turn = cos_sin + int64_t{position[token]} * pairs;
  for (int i = threadIdx.x; i < heads * pairs; i += blockDim.x) {
    const float2 v = __half22float2(x[token * heads * pairs + i]);
    const float2 cs = __half22float2(turn[i % pairs]);
    x[token * heads * pairs + i] =
        __floats2half2_rn(v.x * cs.x - v.y * cs.y, v.y * cs.x + v.x * cs.y);
  }
}

/// A scaled copy: a scalar head up to the first 16-byte boundary, vectors, a scalar tail.
template <typename T>
__global__ void scale_vectorized(T* y, const T* x, int64_t n, float factor) {
  constexpr int kWidth = 16 / sizeof(T);
  const int64_t thread = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t threads = int64_t{gridDim.x} * blockDim.x;
  const uintptr_t from = reinterpret_cast<uintptr_t>(x) & 15;
  int64_t head = 0;
  int64_t vectors = 0;
  if (from == (reinterpret_cast<uintptr_t>(y) & 15)) {
    head = min(n, int64_t((16 - from) % 16 / sizeof(T)));
    vectors = (n - head) / kWidth;
  }
  if (thread < head) y[thread] = from_float<T>(to_float(x[thread]) * factor);
  for (int64_t v = thread; v < vectors; v += threads) {
    Vector<T, kWidth> at = load<kWidth>(x + head + v * kWidth);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) at.at[j] = from_float<T>(to_float(at.at[j]) * factor);
    store(y + head + v * kWidth, at);
  }
  for (int64_t i = head + vectors * kWidth + thread; i < n; i += threads)
    y[i] = from_float<T>(to_float(x[i]) * factor);
}
