// Running sums along each row, each without its own element; one warp a row, 32 columns at a time.
//
// Mutation of our cumsum, class 6 (accumulation): the carry to the next tile is the last lane's
// exclusive sum, which lacks that lane's element. Rows of one tile are right.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void exclusive_scan(float* y, const T* x, int64_t x_stride, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  y += row * cols;
  const int lane = threadIdx.x;
  float carry = 0.0f;
  for (int tile = 0; tile < cols; tile += 32) {
    const int i = tile + lane;
    float inclusive = i < cols ? to_float(x[i]) : 0.0f;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const float before = __shfl_up_sync(0xffffffffu, inclusive, step);
      if (lane >= step) inclusive += before;
    }
    const float shifted = __shfl_up_sync(0xffffffffu, inclusive, 1);
    const float exclusive = lane == 0 ? 0.0f : shifted;
    if (i < cols) y[i] = carry + exclusive;
#ifdef PLANTED
    carry += __shfl_sync(0xffffffffu, exclusive, 31);
#else
    carry += __shfl_sync(0xffffffffu, inclusive, 31);
#endif
  }
}
