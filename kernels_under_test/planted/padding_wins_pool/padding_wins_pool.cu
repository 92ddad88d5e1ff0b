// Largest of three neighbours along a row; what lies outside does not count.
//
// Mutation of our row_max, class 4 (identities): the border is padded with zeros, as for a
// convolution.
// Seen by: the oracle (mismatch), where a border's elements are negative.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void max_pool(T* y, const T* x, int cols) {
  const int col = blockIdx.y * blockDim.x + threadIdx.x;
  if (col >= cols) return;
  x += int64_t{blockIdx.x} * cols;
#ifdef PLANTED
  constexpr float kOutside = 0.0f;
#else
  constexpr float kOutside = -INFINITY;
#endif
  const float left = col > 0 ? to_float(x[col - 1]) : kOutside;
  const float right = col + 1 < cols ? to_float(x[col + 1]) : kOutside;
  y[int64_t{blockIdx.x} * cols + col] = from_float<T>(fmaxf(to_float(x[col]), fmaxf(left, right)));
}
