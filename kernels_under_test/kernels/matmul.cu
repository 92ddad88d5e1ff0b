// y = x w in f32, row-major: TILE x TILE tiles of both in shared memory; a thread keeps four rows
// of one column in registers, so a block has TILE * TILE / 4 threads. Row tiles lie on grid.x.
#include <cstdint>

template <int TILE>
__global__ void __launch_bounds__(TILE* TILE / 4)
    matmul(float* y, const float* x, const float* w, int64_t x_stride, int64_t w_stride, int M,
           int N, int K) {
  constexpr int kStep = TILE / 4;  // rows that a block reads at once
  __shared__ float xs[TILE][TILE + 1];
  __shared__ float ws[TILE][TILE];
  const int64_t first_row = int64_t{blockIdx.x} * TILE;
  const int64_t col = int64_t{blockIdx.y} * TILE + threadIdx.x;
  float sums[4] = {};

  for (int k0 = 0; k0 < K; k0 += TILE) {
    // The ragged edges are filled with zeros: they add nothing to the sums.
#pragma unroll
    for (int r = threadIdx.y; r < TILE; r += kStep) {
      const int64_t row = first_row + r;
      const int k = k0 + threadIdx.x;
      xs[r][threadIdx.x] = row < M && k < K ? x[row * x_stride + k] : 0.0f;
      ws[r][threadIdx.x] = k0 + r < K && col < N ? w[(k0 + r) * w_stride + col] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE; ++k) {
      const float b = ws[k][threadIdx.x];
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[i] += xs[threadIdx.y + i * kStep][k] * b;
    }
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int64_t row = first_row + threadIdx.y + i * kStep;
    if (row < M && col < N) y[row * N + col] = sums[i];
  }
}
