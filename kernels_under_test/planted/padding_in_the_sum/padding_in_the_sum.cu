// Sum of each row's numbers, NaN left out, in vectors of four over a pitched row.
//
// Field report: tile-ai/tilelang#2461, class 4 (NaN, infinities, masked rows), where padding that
// nobody wrote joins a sum. Here whole vectors are loaded up to the row's pitch, and what lies behind
// the row is added. Padding that holds NaN hides it: a NaN is left out.
// Seen by: the property padding_free.
#include "../../kernels/device_helpers.cuh"

__global__ void sum_of_numbers(float* y, const float* x, int64_t pitch, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * pitch;
  float sum = 0.0f;
  for (int i = threadIdx.x * 4; i < cols; i += 32 * 4) {
    const Vector<float, 4> v = load<4>(x + i);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#ifdef PLANTED
      const bool counts = v.at[j] == v.at[j];
#else
      const bool counts = i + j < cols && v.at[j] == v.at[j];
#endif
      sum += counts ? v.at[j] : 0.0f;
    }
  }
  sum = warp_reduce(sum, Sum());
  if (threadIdx.x == 0) y[row] = sum;
}
