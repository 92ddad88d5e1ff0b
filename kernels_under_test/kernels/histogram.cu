// How often each bin occurs; values outside of [0, bins) count nowhere. A first launch clears the
// counts. With SHARED, a block counts in shared memory and adds what it has at the end; otherwise
// every element is an atomic of its own.
#include <cstdint>

__global__ void clear(int32_t* counts, int bins) {
  const int bin = blockIdx.x * blockDim.x + threadIdx.x;
  if (bin < bins) counts[bin] = 0;
}

template <typename Index, int BLOCK, int SHARED>
__global__ void __launch_bounds__(BLOCK)
    histogram(int32_t* counts, const Index* x, int64_t n, int bins) {
  extern __shared__ int32_t local[];
  if (SHARED) {
    for (int bin = threadIdx.x; bin < bins; bin += BLOCK) local[bin] = 0;
    __syncthreads();
  }
  const int64_t step = int64_t{gridDim.x} * BLOCK;
  for (int64_t i = int64_t{blockIdx.x} * BLOCK + threadIdx.x; i < n; i += step) {
    const Index bin = x[i];
    if (bin >= 0 && bin < bins) atomicAdd((SHARED ? local : counts) + bin, 1);
  }
  if (SHARED) {
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += BLOCK)
      if (local[bin] != 0) atomicAdd(counts + bin, local[bin]);
  }
}
