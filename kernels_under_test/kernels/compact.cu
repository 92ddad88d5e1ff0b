// The elements above a threshold and their positions, in their order. One pass: blocks take tiles by
// ticket, so that every tile before a running one is running or done, and look back over the counts of
// those tiles until one has a prefix. State and count share one word, which one store publishes.
#include "device_helpers.cuh"

constexpr unsigned long long kHasCount = 1ull << 62;
constexpr unsigned long long kHasPrefix = 2ull << 62;
constexpr unsigned long long kState = 3ull << 62;

__global__ void clear_tiles(unsigned long long* tiles, unsigned* ticket, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) tiles[i] = 0;
  if (i == 0) *ticket = 0;
}

/// How many elements the tiles before this one keep.
__device__ inline int look_back(const volatile unsigned long long* tiles, int tile) {
  int before = 0;
  for (int at = tile - 1; at >= 0; --at) {
    unsigned long long word;
    do {
      word = tiles[at];
    } while ((word & kState) == 0);
    before += static_cast<int>(word & ~kState);
    if ((word & kState) == kHasPrefix) break;
  }
  return before;
}

template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    compact(T* kept, int* index, int* count, const T* x, float threshold,
            volatile unsigned long long* tiles, unsigned* ticket, int n) {
  __shared__ int warps[BLOCK / 32];
  __shared__ int tile_of_block;
  __shared__ int start;
  if (threadIdx.x == 0) tile_of_block = static_cast<int>(atomicAdd(ticket, 1u));
  __syncthreads();
  const int tile = tile_of_block;
  const int64_t i = int64_t{tile} * BLOCK + threadIdx.x;
  const bool keep = i < n && to_float(x[i]) > threshold;
  const unsigned votes = __ballot_sync(0xffffffffu, keep);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = __popc(votes);
  __syncthreads();

  int before = __popc(votes & ((1u << threadIdx.x % 32) - 1));
  int total = 0;
  for (int warp = 0; warp < BLOCK / 32; ++warp) {
    if (warp < threadIdx.x / 32) before += warps[warp];
    total += warps[warp];
  }
  if (threadIdx.x == 0) {
    if (tile > 0) tiles[tile] = kHasCount | static_cast<unsigned>(total);
    start = look_back(tiles, tile);
    tiles[tile] = kHasPrefix | static_cast<unsigned>(start + total);
    if (tile == static_cast<int>(gridDim.x) - 1) *count = start + total;
  }
  __syncthreads();
  if (keep) {
    kept[start + before] = x[i];
    index[start + before] = static_cast<int>(i);
  }
}
