// How often each bin occurs, counted in shared memory by one block.
//
// A mutation of histogram, class 8 (races, atomics): the count is read, incremented and written back; of lanes that meet in a
// bin all but one are lost.
// Seen by: the oracle (sums of integers are exact), wherever two elements of one warp share a bin.
#include <cstdint>

template <int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    count_bins(int32_t* counts, const int32_t* x, int64_t n, int bins) {
  __shared__ int32_t local[1024];  // bins <= 1024
  for (int bin = threadIdx.x; bin < bins; bin += BLOCK) local[bin] = 0;
  __syncthreads();
  for (int64_t i = threadIdx.x; i < n; i += BLOCK) {
#ifdef PLANTED
    local[x[i]] += 1;
#else
    atomicAdd(local + x[i], 1);
#endif
  }
  __syncthreads();
  for (int bin = threadIdx.x; bin < bins; bin += BLOCK) counts[bin] = local[bin];
}
