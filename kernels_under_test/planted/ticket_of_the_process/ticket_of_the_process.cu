// Modelled on CUDA's threadFenceReduction: the last block to come adds the blocks' sums; the ticket is
// a variable of the program. Fault: nobody sets the ticket back, so that in the second launch of a
// process no block is the last, and nothing is written.
__device__ unsigned ticket = 0;

__global__ void total(int* y, int* parts, const int* x, long long n) {
  __shared__ int part;
  if (threadIdx.x == 0) part = 0;
  __syncthreads();
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n) atomicAdd(&part, x[i]);
  __syncthreads();
  if (threadIdx.x != 0) return;
  parts[blockIdx.x] = part;
  __threadfence();
  if (atomicAdd(&ticket, 1u) != gridDim.x - 1) return;
  __threadfence();
  int sum = 0;
  for (int block = 0; block < gridDim.x; ++block) sum += __ldcg(&parts[block]);
#ifndef PLANTED
  ticket = 0;
#endif
  y[0] = sum;
}
