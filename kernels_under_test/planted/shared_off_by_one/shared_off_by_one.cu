// Sums of neighbours, through shared memory with one element of halo.
//
// Field report: ROCm/aiter#5044 and bitsandbytes#2043 in shared memory's form, class 3 (tails). The
// tile lacks room for the halo, so the last thread's neighbour lies behind it.
// Seen by: an access outside shared memory, in every full block.
#include "../../kernels/device_helpers.cuh"

template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK) neighbour_sum(T* y, const T* x, int64_t n) {
#ifdef PLANTED
  __shared__ float tile[BLOCK];
#else
  __shared__ float tile[BLOCK + 1];
#endif
  const int64_t i = int64_t{blockIdx.x} * BLOCK + threadIdx.x;
  const bool last = threadIdx.x == BLOCK - 1 || i == n - 1;
  if (i < n) {
    tile[threadIdx.x] = to_float(x[i]);
    if (last) tile[threadIdx.x + 1] = to_float(x[i + 1]);  // x has n + 1 elements
  }
  __syncthreads();
  if (i < n) y[i] = from_float<T>(tile[threadIdx.x] + tile[threadIdx.x + 1]);
}
