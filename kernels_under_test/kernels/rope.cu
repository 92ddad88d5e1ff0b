// Rotary position embedding of queries or keys in place, from a cache of cosines and sines by
// position. Neox rotates (i, i + half), GPT-J neighbours (2i, 2i + 1). One block a token; heads lie
// at a stride, so elements beyond the rotated ones stay as they are. Products and sums are f32,
// rounded once; with ROUNDED each product is rounded to T before they are added, as arithmetic on
// half tensors does it. A thread moves 16 bytes of each part where heads and cache start on 16
// bytes and are whole vectors, otherwise one pair.
#include "device_helpers.cuh"

/// A product as the sum takes it.
template <typename T, bool ROUNDED>
__device__ inline float product(float a, float b) {
  return ROUNDED ? to_float(from_float<T>(a * b)) : a * b;
}

/// Rotates PAIRS pairs of a head from pair i on: as many cosines and sines, and the pairs' elements
/// in two vectors, which neox has `half` apart and GPT-J side by side.
template <bool NEOX, bool ROUNDED, int PAIRS, typename T>
__device__ inline void rotate(T* head, const T* cosines, const T* sines, int i, int half) {
  const Vector<T, PAIRS> c = load<PAIRS>(cosines + i);
  const Vector<T, PAIRS> s = load<PAIRS>(sines + i);
  T* const places[2] = {head + (NEOX ? i : 2 * i), head + (NEOX ? half + i : 2 * i + PAIRS)};
  Vector<T, PAIRS> v[2] = {load<PAIRS>(places[0]), load<PAIRS>(places[1])};
#pragma unroll
  for (int j = 0; j < PAIRS; ++j) {
    T& first = NEOX ? v[0].at[j] : v[2 * j / PAIRS].at[2 * j % PAIRS];
    T& second = NEOX ? v[1].at[j] : v[(2 * j + 1) / PAIRS].at[(2 * j + 1) % PAIRS];
    const float a = to_float(first);
    const float b = to_float(second);
    const float cosine = to_float(c.at[j]);
    const float sine = to_float(s.at[j]);
    first = from_float<T>(product<T, ROUNDED>(a, cosine) - product<T, ROUNDED>(b, sine));
    second = from_float<T>(product<T, ROUNDED>(b, cosine) + product<T, ROUNDED>(a, sine));
  }
  store(places[0], v[0]);
  store(places[1], v[1]);
}

template <bool NEOX, bool ROUNDED, int BLOCK, int PAIRS, typename T>
__device__ inline void rotate_heads(T* q, const T* cosines, const T* sines, int64_t head_stride,
                                    int heads, int half) {
  const int packs = half / PAIRS;
  for (int i = threadIdx.x; i < heads * packs; i += BLOCK) {
    rotate<NEOX, ROUNDED, PAIRS>(q + (i / packs) * head_stride, cosines, sines, i % packs * PAIRS,
                                 half);
  }
}

template <typename T, typename I, bool NEOX, int BLOCK, bool ROUNDED = false>
__global__ void __launch_bounds__(BLOCK)
    rope(T* q, const I* positions, const T* cache, int64_t token_stride, int64_t head_stride,
         int heads, int half) {
  const T* cosines = cache + static_cast<int64_t>(positions[blockIdx.x]) * (2 * half);
  const T* sines = cosines + half;
  q += int64_t{blockIdx.x} * token_stride;
  constexpr int V = 16 / sizeof(T);
  if (half % V == 0 && head_stride % V == 0 && aligned16(q, cosines)) {
    rotate_heads<NEOX, ROUNDED, BLOCK, V>(q, cosines, sines, head_stride, heads, half);
  } else {
    rotate_heads<NEOX, ROUNDED, BLOCK, 1>(q, cosines, sines, head_stride, heads, half);
  }
}
