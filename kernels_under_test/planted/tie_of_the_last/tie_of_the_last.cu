// Index of each row's largest element, the first of equal ones; one warp a row.
//
// Mutation of our argmax, class 11 (ties): >= for > where a lane passes over its elements. The
// exchange between lanes breaks ties rightly, so that rows of up to 32 columns are right.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void row_argmax(int64_t* y, const T* x, int64_t x_stride, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  float best = -INFINITY;
  int index = 0x7fffffff;
  for (int i = threadIdx.x; i < cols; i += 32) {
    const float v = to_float(x[i]);
#ifdef PLANTED
    const bool better = v >= best;
#else
    const bool better = v > best || index == 0x7fffffff;
#endif
    if (better) {
      best = v;
      index = i;
    }
  }
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, best, lane);
    const int at = __shfl_xor_sync(0xffffffffu, index, lane);
    if (other > best || (other == best && at < index)) {
      best = other;
      index = at;
    }
  }
  if (threadIdx.x == 0) y[row] = index;
}
