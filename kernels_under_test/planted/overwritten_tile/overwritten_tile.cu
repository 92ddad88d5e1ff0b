// y = x w in f32, tiles of 16 x 16 of both in shared memory.
//
// Mutation of kernels/matmul.cu, class 8 (races): no barrier at the end of the loop, so a warp
// stores its part of the next tile while another still reads this one.
// Seen by: the race check, for K beyond one tile.
#include <cstdint>

constexpr int kTile = 16;

__global__ void __launch_bounds__(kTile* kTile)
    product(float* y, const float* x, const float* w, int M, int N, int K) {
  __shared__ float xs[kTile][kTile + 1];
  __shared__ float ws[kTile][kTile];
  const int64_t row = int64_t{blockIdx.x} * kTile + threadIdx.y;
  const int64_t col = int64_t{blockIdx.y} * kTile + threadIdx.x;
  float sum = 0.0f;
  for (int k0 = 0; k0 < K; k0 += kTile) {
    const int64_t xk = k0 + threadIdx.x, wk = k0 + threadIdx.y;
    xs[threadIdx.y][threadIdx.x] = row < M && xk < K ? x[row * K + xk] : 0.0f;
    ws[threadIdx.y][threadIdx.x] = wk < K && col < N ? w[wk * N + col] : 0.0f;
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += xs[threadIdx.y][k] * ws[k][threadIdx.x];
#ifndef PLANTED
    __syncthreads();
#endif
  }
  if (row < M && col < N) y[row * N + col] = sum;
}
