// Average of values by softmax of scores, one warp a row, weights rounded to e4m3 as the second
// product of an fp8 attention takes them.
//
// Field report: ROCm/FlyDSL#1020, class 5 (range). The row sum takes the weights as they are before
// the rounding. Those below 2^-10 become 0 and are counted all the same: the weights do not add up
// to 1, and thousands of keys at -7 take most of the answer away.
// Seen by: the oracle (mismatch).
#include <cuda_fp8.h>

#include "../../kernels/device_helpers.cuh"

__device__ inline float to_e4m3_and_back(float v) {
  const __nv_fp8_storage_t code = __nv_cvt_float_to_fp8(v, __NV_SATFINITE, __NV_E4M3);
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(code, __NV_E4M3)));
}

template <typename T>
__global__ void fp8_mean(float* y, const T* x, const T* v, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * cols;
  v += row * cols;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += 32) m = fmaxf(m, to_float(x[i]));
  m = warp_reduce(m, Max());
  float total = 0.0f, sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) {
    const float e = expf(to_float(x[i]) - m);
    const float weight = to_e4m3_and_back(e);
#ifdef PLANTED
    total += e;
#else
    total += weight;
#endif
    sum += weight * to_float(v[i]);
  }
  total = warp_reduce(total, Sum());
  sum = warp_reduce(sum, Sum());
  if (threadIdx.x == 0) y[row] = sum / total;
}
