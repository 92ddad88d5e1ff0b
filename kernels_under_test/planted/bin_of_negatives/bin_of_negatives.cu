// How many values fall into each bin of a width; values outside count nowhere.
//
// Mutation of our histogram, class 7 (integer semantics): the quotient is rounded towards zero, so
// the values just below the first bin, which count nowhere, are added to it.
// Seen by: the oracle (mismatch).
#include <cstdint>

template <typename Index>
__global__ void count_bins(int32_t* counts, const Index* x, int64_t n, int bins, int width) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Index bin = x[i] / width;
#ifdef PLANTED
  const bool inside = bin >= 0 && bin < bins;
#else
  const bool inside = x[i] >= 0 && bin < bins;
#endif
  if (inside) atomicAdd(counts + bin, 1);
}
