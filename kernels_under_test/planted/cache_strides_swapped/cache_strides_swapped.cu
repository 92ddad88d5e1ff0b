// Keys of new tokens into a cache, one block a token and head; the keys have a stride for tokens and
// one for heads.
//
// Mutation of our reshape_and_cache, class 10 (strides): the two strides are swapped, as if the keys
// came head by head. One head, or one token, is right.
// Seen by: the oracle (mismatch); out of bounds.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void store_keys(const T* key, T* cache, const int64_t* slot, int64_t token_stride,
                           int64_t head_stride) {
  const int64_t token = blockIdx.x, head = blockIdx.y;
  const int64_t to = (slot[token] * gridDim.y + head) * 64 + threadIdx.x;
#ifdef PLANTED
  cache[to] = key[token * head_stride + head * token_stride + threadIdx.x];
#else
  cache[to] = key[token * token_stride + head * head_stride + threadIdx.x];
#endif
}
