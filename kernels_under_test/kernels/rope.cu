// Rotary position embedding of queries or keys in place, from a cache of cosines and sines by
// position. Neox rotates (i, i + half), GPT-J neighbours (2i, 2i + 1). One block a token; heads lie
// at a stride, so elements beyond the rotated ones stay as they are. Products and sums are f32,
// rounded once; with ROUNDED each product is rounded to T before they are added, as arithmetic on
// half tensors does it.
#include "device_helpers.cuh"

/// A product as the sum takes it.
template <typename T, bool ROUNDED>
__device__ inline float product(float a, float b) {
  return ROUNDED ? to_float(from_float<T>(a * b)) : a * b;
}

template <typename T, typename I, bool NEOX, int BLOCK, bool ROUNDED = false>
__global__ void __launch_bounds__(BLOCK)
    rope(T* q, const I* positions, const T* cache, int64_t token_stride, int64_t head_stride,
         int heads, int half) {
  const T* cosines = cache + static_cast<int64_t>(positions[blockIdx.x]) * (2 * half);
  const T* sines = cosines + half;
  q += int64_t{blockIdx.x} * token_stride;
  for (int i = threadIdx.x; i < heads * half; i += BLOCK) {
    const int rotated = i % half;
    T* head = q + (i / half) * head_stride;
    T* first = head + (NEOX ? rotated : 2 * rotated);
    T* second = first + (NEOX ? half : 1);
    const float c = to_float(cosines[rotated]);
    const float s = to_float(sines[rotated]);
    const float a = to_float(*first);
    const float b = to_float(*second);
    *first = from_float<T>(product<T, ROUNDED>(a, c) - product<T, ROUNDED>(b, s));
    *second = from_float<T>(product<T, ROUNDED>(b, c) + product<T, ROUNDED>(a, s));
  }
}
