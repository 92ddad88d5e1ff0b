// Product of a matrix and a vector, 96 rows a block. The vector comes by tiles of 32 elements into one
// of two buffers; where `specialised` a warp of its own loads it while three others multiply.
//
// Field report: triton-lang/triton#8311, class 12 (configuration): a product is wrong with warps that
// are specialised, and right without. The report does not say why; here the loading warp says that a
// tile is there, and nobody tells it that a buffer is free again: it may be two tiles ahead of those
// who read.
// Seen by: the race check, from three tiles on.
#include <cstdint>

constexpr int kTile = 32;

/// Named barriers of the whole block: `ready(b)` and `empty(b)` of buffer b; 0 is __syncthreads.
__device__ inline void arrive(int barrier) {
  asm volatile("bar.arrive %0, 128;" ::"r"(barrier) : "memory");
}
__device__ inline void wait(int barrier) {
  asm volatile("bar.sync %0, 128;" ::"r"(barrier) : "memory");
}
__device__ inline int ready(int buffer) { return 1 + buffer; }
__device__ inline int empty(int buffer) { return 3 + buffer; }

__global__ void __launch_bounds__(128)
    matrix_vector(float* y, const float* w, const float* x, int rows, int K, int specialised) {
  __shared__ float tile[2][kTile];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64_t row = int64_t{blockIdx.x} * 96 + threadIdx.x - 32;
  const bool consumes = warp > 0 && row < rows;
  const int tiles = (K + kTile - 1) / kTile;
  float sum = 0.0f;
  for (int t = 0; t < tiles; ++t) {
    const int buffer = t % 2, k0 = t * kTile;
    if (warp == 0) {
#ifndef PLANTED
      if (specialised && t >= 2) wait(empty(buffer));
#endif
      tile[buffer][lane] = k0 + lane < K ? x[k0 + lane] : 0.0f;
      if (specialised) arrive(ready(buffer));
    } else if (specialised) {
      wait(ready(buffer));
    }
    if (!specialised) __syncthreads();
    for (int k = 0; consumes && k < kTile && k0 + k < K; ++k) {
      sum += w[row * K + k0 + k] * tile[buffer][k];
    }
    __syncwarp();  // rows may end inside a warp, and a warp arrives as one
#ifndef PLANTED
    if (specialised && warp > 0 && t + 2 < tiles) arrive(empty(buffer));
#endif
    if (!specialised) __syncthreads();
  }
  if (consumes) y[row] = sum;
}
