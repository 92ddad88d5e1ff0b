// Running sums along the middle dimension of a contiguous tensor, one thread a column.
//
// Field report: pytorch/pytorch#167086, class 1 (int32 offsets). Three sizes are multiplied in 32
// bits. Each of them, and each product of two, is in range; the product of all three is not.
// Seen by: the wrap checker.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void scan_middle(T* y, const T* x, unsigned length, unsigned inner) {
  const unsigned col = blockIdx.y * blockDim.x + threadIdx.x;
  if (col >= inner) return;
#ifdef PLANTED
  const unsigned first = blockIdx.x * length * inner;
#else
  const int64_t first = int64_t{blockIdx.x} * length * inner;
#endif
  x += first + col;
  y += first + col;
  float sum = 0.0f;
  for (unsigned l = 0; l < length; ++l) {
    sum += to_float(x[l * inner]);
    y[l * inner] = from_float<T>(sum);
  }
}
