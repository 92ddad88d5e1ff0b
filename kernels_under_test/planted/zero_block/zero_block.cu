// Rows divided by their largest magnitude, as a quantiser divides before it rounds; one warp a row.
//
// Field report: huggingface/kernels-community#681, ROCm/aiter#4289, class 4 (NaN). A row of zeros
// has a scale of 0, and 0 / 0 is NaN.
// Seen by: the oracle (mismatch: NaN where 0 is right).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void normalise(T* y, float* amax, const T* x, int64_t x_stride, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  y += row * cols;
  float m = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) m = fmaxf(m, fabsf(to_float(x[i])));
  m = warp_reduce(m, Max());
  if (threadIdx.x == 0) amax[row] = m;
#ifdef PLANTED
  const float scale = m;
#else
  const float scale = m == 0.0f ? 1.0f : m;
#endif
  for (int i = threadIdx.x; i < cols; i += 32) y[i] = from_float<T>(to_float(x[i]) / scale);
}
