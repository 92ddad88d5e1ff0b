// Average of values by softmax of scores, one warp a row.
//
// Field report: ROCm/FlyDSL#1020, class 5 (range). What is below the least number of e4m3 counts
// for nothing in the product and is counted in the row sum: the weights do not add up to 1, and
// thousands of keys at -7 take most of the answer away. Here such values are not even loaded.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void thrifty_mean(float* y, const T* x, const T* v, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * cols;
  v += row * cols;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += 32) m = fmaxf(m, to_float(x[i]));
  m = warp_reduce(m, Max());
  float total = 0.0f, sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) {
    const float weight = expf(to_float(x[i]) - m);
    total += weight;
#ifdef PLANTED
    if (weight < 0x1p-10f) continue;
#endif
    sum += weight * to_float(v[i]);
  }
  total = warp_reduce(total, Sum());
  sum = warp_reduce(sum, Sum());
  if (threadIdx.x == 0) y[row] = sum / total;
}
