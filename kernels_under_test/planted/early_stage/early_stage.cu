// Twice the input, by tiles of 128 elements that the first warp copies asynchronously, one tile ahead.
//
// Field report: vllm-project/vllm#11205, class 8 (races). A thread waits for its own asynchronous
// copies alone; no barrier tells the others that the tile is there.
// Seen by: the race check.
#include <cstdint>

constexpr int kTile = 128, kTiles = 4;

__device__ void copy_tile(float* to, const float* x, int64_t first, int64_t n) {
  const int64_t at = first + 4 * threadIdx.x;
  const int bytes = at < n ? static_cast<int>(min(int64_t{16}, 4 * (n - at))) : 0;
  const auto place = static_cast<uint32_t>(__cvta_generic_to_shared(to + 4 * threadIdx.x));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place),
               "l"(__cvta_generic_to_global(bytes > 0 ? x + at : x)), "r"(bytes)
               : "memory");
}

__global__ void __launch_bounds__(kTile) twice(float* y, const float* x, int64_t n) {
  __shared__ alignas(16) float stage[2][kTile];
  const int64_t first = int64_t{blockIdx.x} * kTile * kTiles;
  if (threadIdx.x < 32) copy_tile(stage[0], x, first, n);
  asm volatile("cp.async.commit_group;" ::: "memory");
  for (int tile = 0; tile < kTiles; ++tile) {
    if (threadIdx.x < 32 && tile + 1 < kTiles) {
      copy_tile(stage[(tile + 1) % 2], x, first + (tile + 1) * kTile, n);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 1;" ::: "memory");
#ifndef PLANTED
    __syncthreads();
#endif
    const int64_t i = first + tile * kTile + threadIdx.x;
    if (i < n) y[i] = 2.0f * stage[tile % 2][threadIdx.x];
    __syncthreads();
  }
}
