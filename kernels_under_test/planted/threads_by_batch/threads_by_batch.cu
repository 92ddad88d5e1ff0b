// RMS norm without weights, one block a row.
//
// Field report: vllm-project/vllm#48391, class 13 (batch and run variance). The number of threads
// that share a row is chosen by the number of rows, so a row's squares are added in another order in a
// large batch than in a small one: the same row, other last bits.
// Seen by: the property rows_independent. Every single run is within the allowance.
#include "../../kernels/device_helpers.cuh"

constexpr int kBlock = 256;

template <typename T>
__global__ void __launch_bounds__(kBlock)
    norm_rows(T* y, const T* x, int64_t x_stride, int rows, int cols, float eps) {
  __shared__ float partial[kBlock / 32];
#ifdef PLANTED
  const int threads = rows < 256 ? kBlock : 64;
#else
  const int threads = kBlock;
#endif
  x += int64_t{blockIdx.x} * x_stride;
  y += int64_t{blockIdx.x} * cols;
  float squares = 0.0f;
  if (threadIdx.x < threads) {
    for (int col = threadIdx.x; col < cols; col += threads) {
      squares += to_float(x[col]) * to_float(x[col]);
    }
  }
  squares = block_reduce<kBlock>(squares, Sum(), partial);
  const float scale = rsqrtf(squares / cols + eps);
  for (int col = threadIdx.x; col < cols; col += kBlock) y[col] = from_float<T>(to_float(x[col]) * scale);
}
