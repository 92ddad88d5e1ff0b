// A dropout mask by a counter-based generator: a seed, and an offset that a caller advances by what
// the call before has used up.
//
// A mutation of dropout, class 8 (what calls share): the offset is not part of the counter, so every
// call of a training step drops the same elements; each mask alone looks random.
// Seen by: the oracle (two calls' masks, declared independent, are equal), from some 50 elements on.
#include <cstdint>

/// Philox4x32-10 (Salmon et al. 2011).
__device__ inline uint4 philox(uint64_t seed, uint64_t group, uint64_t offset) {
  uint2 key{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  uint4 c{static_cast<uint32_t>(group), static_cast<uint32_t>(group >> 32),
          static_cast<uint32_t>(offset), static_cast<uint32_t>(offset >> 32)};
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

template <int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    draw_mask(uint8_t* mask, int64_t n, float p, uint64_t seed, uint64_t offset) {
  const int64_t group = int64_t{blockIdx.x} * BLOCK + threadIdx.x;
#ifdef PLANTED
  const uint4 c = philox(seed, group, 0);
#else
  const uint4 c = philox(seed, group, offset);
#endif
  const uint32_t random[4] = {c.x, c.y, c.z, c.w};
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (4 * group + k < n)
      mask[4 * group + k] = static_cast<float>(random[k] >> 8) * 0x1p-24f >= p;
}
