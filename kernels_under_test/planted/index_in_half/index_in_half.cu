// Index of the smallest element of each row, the first of equal ones; one warp a row.
//
// Field report: apache/mxnet#19362, class 6 (accumulation). Value and index travel as a pair of one
// type, the input's: f16 holds integers up to 2048, bf16 up to 256, and rounds the others.
// Seen by: the oracle (mismatch), in rows longer than that.
#include "../../kernels/device_helpers.cuh"

#ifdef PLANTED
template <typename T>
using Index = T;
#else
template <typename T>
using Index = float;  // exact up to 2^24
#endif

template <typename T>
__global__ void argmin(int64_t* index, const T* x, int64_t x_stride, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  float best = INFINITY;
  Index<T> at = from_float<Index<T>>(INFINITY);
  for (int i = threadIdx.x; i < cols; i += 32) {
    const float v = to_float(x[i]);
    if (v < best || i == threadIdx.x) {
      best = v;
      at = from_float<Index<T>>(static_cast<float>(i));
    }
  }
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, best, lane);
    const Index<T> other_at = __shfl_xor_sync(0xffffffffu, at, lane);
    if (other < best || (other == best && to_float(other_at) < to_float(at))) {
      best = other;
      at = other_at;
    }
  }
  if (threadIdx.x == 0) index[row] = static_cast<int64_t>(to_float(at));
}
