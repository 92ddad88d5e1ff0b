// How often each bin occurs: a block counts in bytes, four to a word of shared memory, and adds them
// to the counts at the end.
//
// A mutation of histogram, class 7 (integer semantics): a byte holds 255; the count after it becomes
// 0 and carries into the bin beside it. The twin empties the bytes before one can overflow.
// Seen by: the oracle (sums of integers are exact), wherever a block meets a bin 256 times.
#include <cstdint>

__global__ void clear(int32_t* counts, int bins) {
  const int bin = blockIdx.x * blockDim.x + threadIdx.x;
  if (bin < bins) counts[bin] = 0;
}

template <int BLOCK>
__device__ inline void empty_bytes(int32_t* counts, uint32_t* local, int bins) {
  __syncthreads();
  for (int word = threadIdx.x; 4 * word < bins; word += BLOCK) {
    for (int k = 0; k < 4 && 4 * word + k < bins; ++k) {
      const int count = local[word] >> 8 * k & 0xff;
      if (count != 0) atomicAdd(counts + 4 * word + k, count);
    }
    local[word] = 0;
  }
  __syncthreads();
}

template <int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    count_in_bytes(int32_t* counts, const int32_t* x, int64_t n, int bins) {
  __shared__ uint32_t local[256];  // bins <= 1024
  for (int word = threadIdx.x; 4 * word < bins; word += BLOCK) local[word] = 0;
  __syncthreads();
  const int64_t step = int64_t{gridDim.x} * BLOCK;
  int rounds = 0;
  for (int64_t first = int64_t{blockIdx.x} * BLOCK; first < n; first += step) {
    const int64_t i = first + threadIdx.x;
    const int bin = i < n ? x[i] : -1;
    if (bin >= 0 && bin < bins) atomicAdd(local + bin / 4, 1u << bin % 4 * 8);
#ifndef PLANTED
    if (++rounds == 255 / BLOCK) {
      empty_bytes<BLOCK>(counts, local, bins);
      rounds = 0;
    }
#endif
  }
  empty_bytes<BLOCK>(counts, local, bins);
}
