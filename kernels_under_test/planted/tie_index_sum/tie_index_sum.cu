// Index of the largest element of each row, the first of equal ones; one warp a row.
//
// Field report: pytorch/pytorch#93630, class 11 (ties). First the maximum, then the indices at
// which it stands, combined by a sum: with two of them the answer is neither.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

extern "C" __global__ void argmax(int* index, const float* x, int64_t x_stride, int rows,
                                  int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += 32) m = fmaxf(m, x[i]);
  m = warp_reduce(m, Max());
#ifdef PLANTED
  int at = 0;
  for (int i = threadIdx.x; i < cols; i += 32) at += x[i] == m ? i : 0;
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) at += __shfl_xor_sync(0xffffffffu, at, lane);
#else
  int at = cols;
  for (int i = threadIdx.x; i < cols; i += 32) at = min(at, x[i] == m ? i : cols);
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) at = min(at, __shfl_xor_sync(0xffffffffu, at, lane));
#endif
  if (threadIdx.x == 0) index[row] = at;
}
