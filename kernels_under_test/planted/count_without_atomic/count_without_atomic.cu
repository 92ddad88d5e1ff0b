// How often each bin occurs, one thread an element.
//
// A mutation of histogram, class 8 (races): counts in global memory are read, incremented and
// written back, so that increments by other threads in between are lost.
// Seen by: the race check, wherever a bin occurs twice; the oracle, where an increment is lost.
#include <cstdint>

__global__ void clear(int* counts, int bins) {
  for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) counts[bin] = 0;
}

__global__ void __launch_bounds__(64) count(int* counts, const int* x, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * 64 + threadIdx.x;
  if (i >= n) return;
#ifdef PLANTED
  counts[x[i]] += 1;
#else
  atomicAdd(counts + x[i], 1);
#endif
}
