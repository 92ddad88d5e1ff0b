// Logarithm of the softmax of each row, one warp a row.
//
// Mutation of our log_softmax, class 5 (range): the logarithm is taken of the quotient. 104 below
// the maximum the quotient is 0 and its logarithm -inf; near 0 digits are lost before that.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void log_softmax(T* y, const T* x, int64_t x_stride, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  y += row * cols;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += 32) m = fmaxf(m, to_float(x[i]));
  m = warp_reduce(m, Max());
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) sum += expf(to_float(x[i]) - m);
  sum = warp_reduce(sum, Sum());
  const float log_sum = logf(sum);
  for (int i = threadIdx.x; i < cols; i += 32) {
    const float shifted = to_float(x[i]) - m;
#ifdef PLANTED
    y[i] = from_float<T>(logf(expf(shifted) / sum));
#else
    y[i] = from_float<T>(shifted - log_sum);
#endif
  }
}
