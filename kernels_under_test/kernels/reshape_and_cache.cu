// Keys and values of new tokens into a paged cache, in vLLM's layout: keys as
// [page, head, dim / X, slot, X] with X elements in 16 bytes, values as [page, head, dim, slot]. One
// block a token; slot -1 is padding and writes nothing.
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
  for (int i = threadIdx.x; i < heads * dim; i += blockDim.x) {
    const int64_t head = page * heads + i / dim;
    const int d = i % dim;
    key_cache[((head * (dim / X) + d / X) * page_size + place) * X + d % X] = key[i];
    value_cache[(head * dim + d) * page_size + place] = value[i];
  }
}
