// Largest element of each row, one warp a row.
//
// Mutation of our row_max, class 4 (identities): lanes without an element hold 0, as for a sum.
// Rows with a positive element are right, and so are those of 32 columns and more.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void row_max(T* y, const T* x, int64_t x_stride, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
#ifdef PLANTED
  float m = threadIdx.x < cols ? to_float(x[threadIdx.x]) : 0.0f;
#else
  float m = threadIdx.x < cols ? to_float(x[threadIdx.x]) : -INFINITY;
#endif
  for (int i = threadIdx.x + 32; i < cols; i += 32) m = fmaxf(m, to_float(x[i]));
  m = warp_reduce(m, Max());
  if (threadIdx.x == 0) y[row] = from_float<T>(m);
}
