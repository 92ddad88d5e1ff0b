// y = x w in half precision, a tile of 64 x COLS a block (matmul_tile.cuh).
#include "matmul_tile.cuh"

template <typename T, int COLS>
__global__ void __launch_bounds__(kThreads)
    matmul_mma(T* y, const T* x, const T* w, int64_t x_stride, int64_t w_stride, int M, int N,
               int K) {
  __shared__ alignas(16) Slice<T, COLS> slices[2];
  const int64_t first_row = int64_t{blockIdx.x} * kRows;
  const int64_t first_col = int64_t{blockIdx.y} * COLS;
  const int lane = threadIdx.x % 32;
  const int warp_row = threadIdx.x / 32 * 16;

  float sums[COLS / 8][4] = {};
  multiply_tile<T, COLS>(sums, slices, x, w, x_stride, w_stride, first_row, first_col, M, N, 0, K);

#pragma unroll
  for (int c = 0; c < COLS; c += 8) {
    const int64_t col = first_col + c + lane % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t row = first_row + warp_row + lane / 4 + half * 8;
      if (row >= M || col >= N) continue;  // N is even: both columns or none
      const Vector<T, 2> pair{from_float<T>(sums[c / 8][half * 2]),
                              from_float<T>(sums[c / 8][half * 2 + 1])};
      store<T, 2>(y + row * N + col, pair);
    }
  }
}
