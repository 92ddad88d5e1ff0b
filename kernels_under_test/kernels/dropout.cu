// Dropout by Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): the
// counter is the index of a group of four elements and the call's offset, the key the seed. The
// backward pass keeps no mask: it draws the same numbers again.
#include "device_helpers.cuh"

struct Four {
  uint32_t at[4];
};

__device__ inline Four philox(uint64_t seed, uint64_t group, uint64_t offset) {
  uint32_t c0 = static_cast<uint32_t>(group), c1 = static_cast<uint32_t>(group >> 32);
  uint32_t c2 = static_cast<uint32_t>(offset), c3 = static_cast<uint32_t>(offset >> 32);
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint32_t high0 = __umulhi(0xD2511F53u, c0), low0 = 0xD2511F53u * c0;
    const uint32_t high1 = __umulhi(0xCD9E8D57u, c2), low1 = 0xCD9E8D57u * c2;
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {c0, c1, c2, c3};
}

/// 24 bits: every value is exact.
__device__ inline float uniform(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    dropout(T* y, uint8_t* mask, const T* x, int64_t n, float p, uint64_t seed, uint64_t offset) {
  const float scale = 1.0f / (1.0f - p);
  const int64_t step = int64_t{gridDim.x} * BLOCK;
  for (int64_t group = int64_t{blockIdx.x} * BLOCK + threadIdx.x; 4 * group < n; group += step) {
    const Four random = philox(seed, group, offset);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int64_t i = 4 * group + k;
      if (i >= n) break;
      const bool keep = uniform(random.at[k]) >= p;
      mask[i] = keep;
      y[i] = from_float<T>(keep ? to_float(x[i]) * scale : 0.0f);
    }
  }
}

template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    dropout_backward(T* dx, const T* dy, int64_t n, float p, uint64_t seed, uint64_t offset) {
  const float scale = 1.0f / (1.0f - p);
  const int64_t step = int64_t{gridDim.x} * BLOCK;
  for (int64_t group = int64_t{blockIdx.x} * BLOCK + threadIdx.x; 4 * group < n; group += step) {
    const Four random = philox(seed, group, offset);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int64_t i = 4 * group + k;
      if (i >= n) break;
      const bool keep = uniform(random.at[k]) >= p;
      dx[i] = from_float<T>(keep ? to_float(dy[i]) * scale : 0.0f);
    }
  }
}
