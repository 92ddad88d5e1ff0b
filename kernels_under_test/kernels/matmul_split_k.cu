// y = x w, half precision into f32, for few rows and a deep K: every block takes a part of K and
// adds what it has to y, which a first launch has cleared. The order of the atomic additions is
// free.
#include "matmul_tile.cuh"

__global__ void clear(float* y, int64_t count) {
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * blockDim.x)
    y[i] = 0.0f;
}

template <typename T, int COLS>
__global__ void __launch_bounds__(kThreads)
    matmul_split_k(float* y, const T* x, const T* w, int64_t x_stride, int64_t w_stride, int M,
                   int N, int K, int part) {
  __shared__ alignas(16) Slice<T, COLS> slices[2];
  const int64_t first_row = int64_t{blockIdx.x} * kRows;
  const int64_t first_col = int64_t{blockIdx.y} * COLS;
  const int lane = threadIdx.x % 32;
  const int warp_row = threadIdx.x / 32 * 16;
  const int begin = blockIdx.z * part;
  const int end = min(K, begin + part);

  float sums[COLS / 8][4] = {};
  multiply_tile<T, COLS>(sums, slices, x, w, x_stride, w_stride, first_row, first_col, M, N, begin,
                         end);

#pragma unroll
  for (int c = 0; c < COLS; c += 8)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int64_t row = first_row + warp_row + lane / 4 + i / 2 * 8;
      const int64_t col = first_col + c + lane % 4 * 2 + i % 2;
      if (row < M && col < N) atomicAdd(y + row * N + col, sums[c / 8][i]);
    }
}
