// Keys and values of new tokens into a paged cache, in vLLM's layout: keys as
// [page, head, dim / X, slot, X] with X elements in 16 bytes, values as [page, head, dim, slot]. One
// block a token, keys 16 bytes at a time where they start on 16 bytes; slot -1 is padding and writes
// nothing.
#include "device_helpers.cuh"

template <typename T>
__global__ void reshape_and_cache(const T* key, const T* value, T* key_cache, T* value_cache,
                                  const int64_t* slot_mapping, int64_t key_stride,
                                  int64_t value_stride, int heads, int dim, int page_size) {
  constexpr int X = 16 / sizeof(T);
  const int64_t token = blockIdx.x;
  const int64_t slot = slot_mapping[token];
  if (slot < 0) return;
  const int64_t page = slot / page_size;
  const int64_t place = slot % page_size;
  key += token * key_stride;
  value += token * value_stride;
  const int chunks = dim / X;
  if (aligned16(key, key_cache)) {
    for (int i = threadIdx.x; i < heads * chunks; i += blockDim.x)
      store(key_cache + ((page * heads * chunks + i) * page_size + place) * X, load<X>(key + i * X));
  } else {
    for (int i = threadIdx.x; i < heads * dim; i += blockDim.x)
      key_cache[((page * heads * chunks + i / X) * page_size + place) * X + i % X] = key[i];
  }
  for (int i = threadIdx.x; i < heads * dim; i += blockDim.x)
    value_cache[(page * heads * dim + i) * page_size + place] = value[i];
}
