// Dropout by Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011):
// the counter is the index of a group of four elements and the call's offset, the key the seed; a
// group moves as one vector where all four are aligned to it. The backward pass keeps no mask: it
// draws the same numbers again.
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

/// Which elements of a group of four stay.
__device__ inline Vector<uint8_t, 4> draw(uint64_t seed, uint64_t group, uint64_t offset, float p) {
  const Four random = philox(seed, group, offset);
  Vector<uint8_t, 4> kept;
#pragma unroll
  for (int k = 0; k < 4; ++k) kept.at[k] = uniform(random.at[k]) >= p;
  return kept;
}

/// y = x scale where kept, otherwise 0, of the first `count` elements of a group.
template <typename T>
__device__ inline void scale_kept(T* y, const T* x, float scale, const Vector<uint8_t, 4>& kept,
                                  int count, bool vectors) {
  Vector<T, 4> v = load_part<4>(x, count, vectors);
#pragma unroll
  for (int k = 0; k < 4; ++k)
    v.at[k] = from_float<T>(kept.at[k] ? to_float(v.at[k]) * scale : 0.0f);
  store_part(y, v, count, vectors);
}

template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    dropout(T* y, uint8_t* mask, const T* x, int64_t n, float p, uint64_t seed, uint64_t offset) {
  const float scale = 1.0f / (1.0f - p);
  const bool vectors = aligned<4 * sizeof(T)>(y, x) && aligned<4>(mask);
  const int64_t step = int64_t{gridDim.x} * BLOCK;
  for (int64_t group = int64_t{blockIdx.x} * BLOCK + threadIdx.x; 4 * group < n; group += step) {
    const Vector<uint8_t, 4> kept = draw(seed, group, offset, p);
    const int64_t i = 4 * group;
    const int count = n - i < 4 ? static_cast<int>(n - i) : 4;
    store_part(mask + i, kept, count, vectors);
    scale_kept(y + i, x + i, scale, kept, count, vectors);
  }
}

template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    dropout_backward(T* dx, const T* dy, int64_t n, float p, uint64_t seed, uint64_t offset) {
  const float scale = 1.0f / (1.0f - p);
  const bool vectors = aligned<4 * sizeof(T)>(dx, dy);
  const int64_t step = int64_t{gridDim.x} * BLOCK;
  for (int64_t group = int64_t{blockIdx.x} * BLOCK + threadIdx.x; 4 * group < n; group += step) {
    const Vector<uint8_t, 4> kept = draw(seed, group, offset, p);
    const int64_t i = 4 * group;
    const int count = n - i < 4 ? static_cast<int>(n - i) : 4;
    scale_kept(dx + i, dy + i, scale, kept, count, vectors);
  }
}
