// Sum of all elements in one launch: each block stores its part, and the last one to take a ticket
// adds up the parts.
//
// Class 8 (races): threadFenceReduction of CUDA's samples without its __threadfence. Nothing keeps
// a block's part before its ticket.
// Seen by: the race check, from two blocks on.
#include "../../kernels/device_helpers.cuh"

__global__ void clear(unsigned* tickets) { *tickets = 0; }

__global__ void __launch_bounds__(64)
    total(int* y, int* parts, unsigned* tickets, const int* x, int64_t n) {
  __shared__ int sums[64];
  __shared__ bool last;
  const int t = threadIdx.x;
  int sum = 0;
  for (int64_t i = int64_t{blockIdx.x} * 64 + t; i < n; i += int64_t{gridDim.x} * 64) sum += x[i];
  sums[t] = sum;
  __syncthreads();
  if (t == 0) {
    sum = 0;
    for (int i = 0; i < 64; ++i) sum += sums[i];
    parts[blockIdx.x] = sum;
#ifndef PLANTED
    __threadfence();
#endif
    last = atomicAdd(tickets, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || t != 0) return;
  __threadfence();
  sum = 0;
  for (int block = 0; block < gridDim.x; ++block) sum += parts[block];
  *y = sum;
}
