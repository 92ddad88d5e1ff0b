// Product of a matrix and a vector, eight elements a load, one warp a row.
//
// Field report: tile-ai/tilelang#2381, class 3 (tails). Loads come in pairs and the number of pairs
// is rounded down: the last eight elements are left out where K is 8 mod 16.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void matrix_vector(float* y, const T* w, const T* x, int rows, int K) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  w += row * K;
#ifdef PLANTED
  const int end = K / 16 * 16;
#else
  const int end = K;
#endif
  float sum = 0.0f;
  for (int k = threadIdx.x * 8; k < end; k += 32 * 8) {
    const Vector<T, 8> a = load<8>(w + k), b = load<8>(x + k);
#pragma unroll
    for (int j = 0; j < 8; ++j) sum += to_float(a.at[j]) * to_float(b.at[j]);
  }
  sum = warp_reduce(sum, Sum());
  if (threadIdx.x == 0) y[row] = sum;
}
