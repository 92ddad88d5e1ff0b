// Cross entropy of each row's logits with its label, one warp a row.
//
// Mutation of our cross_entropy, class 5 (range): the maximum is dropped from the sum of exponentials.
// Logits of a network in training are small; from 89 on an exponential overflows, and far below 0 the
// sum is 0 and its logarithm -inf.
// Seen by: the oracle (mismatch: an infinity where a finite value is right).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void cross_entropy(float* y, const T* x, int64_t x_stride, const int64_t* label,
                              int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
#ifdef PLANTED
  const float m = 0.0f;
#else
  float m = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += 32) m = fmaxf(m, to_float(x[i]));
  m = warp_reduce(m, Max());
#endif
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) sum += expf(to_float(x[i]) - m);
  sum = warp_reduce(sum, Sum());
  if (threadIdx.x == 0) y[row] = logf(sum) - (to_float(x[label[row]]) - m);
}
