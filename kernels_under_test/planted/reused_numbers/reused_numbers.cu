// A dropout mask by a counter-based generator, four numbers for each group of four elements.
//
// A mutation of dropout, class 8 (what blocks share): the counter is the thread's index in its block, so every block draws
// the same numbers; each alone looks random.
// Seen by: the oracle (equal pairs a block apart), wherever several blocks ran.
#include <cstdint>

/// Philox4x32-10 (Salmon et al. 2011).
__device__ inline uint4 philox(uint2 key, uint32_t c0, uint32_t c1) {
  uint4 c{c0, c1, 0, 0};
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
    draw_mask(uint8_t* mask, int64_t n, float p, uint32_t seed) {
  const int64_t group = int64_t{blockIdx.x} * BLOCK + threadIdx.x;
#ifdef PLANTED
  const uint4 c = philox({seed, 0}, threadIdx.x, 0);
#else
  const uint4 c = philox({seed, 0}, static_cast<uint32_t>(group), static_cast<uint32_t>(group >> 32));
#endif
  const uint32_t random[4] = {c.x, c.y, c.z, c.w};
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (4 * group + k < n)
      mask[4 * group + k] = static_cast<float>(random[k] >> 8) * 0x1p-24f >= p;
}
