// Sum of each row: up to eight blocks take a part of it each, and a second launch adds what they
// have.
//
// Mutation of our matmul_split_k, class 3 (tails): the length of a part is rounded down, so that up
// to seven elements at the end are in none. Lengths that the number of parts divides are right.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void split_sum(float* parts, const T* x, int cols, int splits) {
  if (blockIdx.y >= splits) return;
#ifdef PLANTED
  const int each = cols / splits;
#else
  const int each = (cols + splits - 1) / splits;
#endif
  const int first = blockIdx.y * each;
  const int last = min(cols, first + each);
  x += int64_t{blockIdx.x} * cols;
  float sum = 0.0f;
  for (int i = first + threadIdx.x; i < last; i += 32) sum += to_float(x[i]);
  sum = warp_reduce(sum, Sum());
  if (threadIdx.x == 0) parts[int64_t{blockIdx.x} * 8 + blockIdx.y] = sum;
}

__global__ void add_parts(float* y, const float* parts, int splits) {
  float sum = threadIdx.x < splits ? parts[int64_t{blockIdx.x} * 8 + threadIdx.x] : 0.0f;
  sum = warp_reduce(sum, Sum());
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
