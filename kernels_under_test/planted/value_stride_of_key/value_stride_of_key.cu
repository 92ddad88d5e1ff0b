// Keys and values of chosen tokens, one block a token. Both come out of one projection, as slices
// with strides that need not be the same.
//
// Mutation of our reshape_and_cache, class 10 (strides): one stride serves both. Slices of the same
// tensor are right; with fewer heads of values than of keys they are not.
// Seen by: the oracle (mismatch); out of bounds.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void gather_pairs(T* keys, T* values, const T* k, const T* v, const int64_t* at,
                             int64_t k_stride, int64_t v_stride) {
  const int64_t out = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t token = at[blockIdx.x];
  keys[out] = k[token * k_stride + threadIdx.x];
#ifdef PLANTED
  values[out] = v[token * k_stride + threadIdx.x];
#else
  values[out] = v[token * v_stride + threadIdx.x];
#endif
}
