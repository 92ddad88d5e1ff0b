// Scaled dot products of the rows of two matrices, one warp a pair.
//
// Mutation of our attention_prefill, class 5 (range): the dot product is added up in f32, goes
// through a half and is scaled then. Between 65504 and 65504 / scale it is infinite, where the
// score is not.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void scores(T* y, const T* q, const T* k, int64_t rows, int cols, float scale) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  q += row * cols;
  k += row * cols;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) sum += to_float(q[i]) * to_float(k[i]);
  sum = warp_reduce(sum, Sum());
#ifdef PLANTED
  const float dot = to_float(from_float<T>(sum));
#else
  const float dot = sum;
#endif
  if (threadIdx.x == 0) y[row] = from_float<T>(dot * scale);
}
