// Euclidean length of each row, over the whole range of f32; one warp a row.
//
// Field report: pytorch/pytorch#178123, class 5 (range). Squares overflow from 1.9e19 on, long
// before the length does. The twin scales the row by a power of two first.
// Seen by: the oracle (mismatch), under a contract that promises a safe range.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void row_length(float* y, const T* x, int64_t x_stride, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
#ifdef PLANTED
  const int e = 0;
#else
  float m = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) m = fmaxf(m, fabsf(to_float(x[i])));
  m = warp_reduce(m, Max());
  const int e = m > 0.0f && m < INFINITY ? ilogbf(m) : 0;  // largest magnitude in [2^e, 2^(e + 1))
#endif
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) {
    const float v = ldexpf(to_float(x[i]), -e);
    sum += v * v;
  }
  sum = warp_reduce(sum, Sum());
  if (threadIdx.x == 0) y[row] = ldexpf(sqrtf(sum), e);
}
