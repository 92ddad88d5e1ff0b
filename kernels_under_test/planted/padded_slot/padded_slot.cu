// Values of new tokens into a cache of pages, [page, slot, dim]; one block a token.
//
// A mutation of reshape_and_cache, class 3 (tails): slot -1 marks a padded token, which the kernel must not write. Taken as unsigned
// it passes the guard against the cache's end, and lands on its last slot.
// Seen by: the oracle (stored to, but no index names it), wherever a token is padded and nothing
// names that slot.
#include <cstdint>

template <typename T>
__global__ void store_tokens(T* cache, const T* value, const int64_t* slot_mapping, int64_t slots,
                             int dim) {
  const int64_t token = blockIdx.x;
  int64_t slot = slot_mapping[token];
#ifdef PLANTED
  slot = static_cast<uint64_t>(slot) < slots ? slot : slots - 1;  // clamped
#else
  if (slot < 0) return;
#endif
  for (int d = threadIdx.x; d < dim; d += blockDim.x)
    cache[slot * dim + d] = value[token * dim + d];
}
