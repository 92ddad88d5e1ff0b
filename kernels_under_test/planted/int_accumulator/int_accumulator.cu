// Sum of each row of 32-bit integers as 64-bit integers, one thread a row.
//
// Field report: pytorch/pytorch#167086 for a product that outgrows its factors, here a sum; class 7
// (integer semantics). The accumulator has the type of the elements.
// Seen by: the oracle (mismatch), where a partial sum passes 2^31 or 2^32.
#include <cstdint>

template <typename T>
__global__ void row_sum(int64_t* y, const T* x, int64_t x_stride, int rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  x += row * x_stride;
#ifdef PLANTED
  T sum = 0;
#else
  int64_t sum = 0;
#endif
  for (int i = 0; i < cols; ++i) sum += x[i];
  y[row] = sum;
}
