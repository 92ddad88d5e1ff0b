// Sum of each row, one warp a row.
//
// Mutation of our row_sum, class 3 (tails): <= for < in the comparison that ends the loop. Each row
// takes in the first element of the next one.
// Seen by: the oracle (mismatch); in the last row as a read past the end.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void row_sum(float* y, const T* x, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * cols;
  float sum = 0.0f;
#ifdef PLANTED
  for (int i = threadIdx.x; i <= cols; i += 32) {
#else
  for (int i = threadIdx.x; i < cols; i += 32) {
#endif
    sum += to_float(x[i]);
  }
  sum = warp_reduce(sum, Sum());
  if (threadIdx.x == 0) y[row] = sum;
}
