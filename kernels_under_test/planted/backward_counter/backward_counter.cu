// A dropout mask by a counter-based generator, four numbers for each group of four elements, and
// the backward pass, an element a thread, which draws the same numbers again.
//
// Mutation of our dropout, class 8 (what threads share): the backward pass counts by its element
// where the mask counts by groups of four. Its numbers are as random as the mask's, and others.
// Seen by: the oracle (mismatch against the mask).
#include "../../kernels/device_helpers.cuh"

/// Philox4x32-10 (Salmon et al. 2011).
__device__ inline uint4 philox(uint2 key, int64_t group) {
  uint4 c{static_cast<uint32_t>(group), static_cast<uint32_t>(group >> 32), 0, 0};
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint32_t high0 = __umulhi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
    const uint32_t high1 = __umulhi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
    c = {high1 ^ c.y ^ key.x, low1, high0 ^ c.w ^ key.y, low0};
    key.x += 0x9E3779B9u;
    key.y += 0xBB67AE85u;
  }
  return c;
}

__device__ inline bool kept(uint4 c, int place, float p) {
  const uint32_t bits = place == 0 ? c.x : place == 1 ? c.y : place == 2 ? c.z : c.w;
  return static_cast<float>(bits >> 8) * 0x1p-24f >= p;
}

__global__ void draw_mask(uint8_t* mask, int64_t n, float p, uint32_t seed) {
  const int64_t group = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const uint4 c = philox({seed, 0}, group);
  for (int k = 0; k < 4; ++k)
    if (4 * group + k < n) mask[4 * group + k] = kept(c, k, p);
}

template <typename T>
__global__ void dropout_backward(T* dx, const T* dy, int64_t n, float p, uint32_t seed) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
#ifdef PLANTED
  const int64_t group = i;
#else
  const int64_t group = i / 4;
#endif
  const uint4 c = philox({seed, 0}, group);
  dx[i] = from_float<T>(kept(c, i % 4, p) ? to_float(dy[i]) / (1.0f - p) : 0.0f);
}
