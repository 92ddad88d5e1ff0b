// One new row a sequence into its paged cache: `lens` rows are there, the new one is number lens.
//
// Mutation of our reshape_and_cache, class 3 (tails): the page is that of the last row that is
// there, the slot the new one's. Once in 16 tokens a page begins, and the row overwrites the first
// slot of the page before.
// Seen by: the oracle (mismatch of a named element, change of another).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void append_token(const T* x, T* cache, const int32_t* table, const int32_t* lens,
                             int W) {
  const int64_t b = blockIdx.x;
  const int length = lens[b];
#ifdef PLANTED
  const int64_t page = table[b * W + (length - 1) / 16];
#else
  const int64_t page = table[b * W + length / 16];
#endif
  cache[(page * 16 + length % 16) * blockDim.x + threadIdx.x] = x[b * blockDim.x + threadIdx.x];
}
