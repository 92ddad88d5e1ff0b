// Rows normalised to mean 0 and variance 1; a block keeps a padded row in registers.
//
// Field report: triton-lang/triton#344, class 3 (tails). The mask of the ragged end is put on x and
// forgotten on x - mean, so each padding lane adds mean^2 to the variance.
// Seen by: the oracle (mismatch), wherever cols is no multiple of BLOCK and the mean is not 0.
#include "../../kernels/device_helpers.cuh"

template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    standardise(T* y, const T* x, int64_t x_stride, int cols, float eps) {
  constexpr int kItems = 4;  // cols <= kItems * BLOCK
  __shared__ float sums[BLOCK / 32], squares[BLOCK / 32];
  x += int64_t{blockIdx.x} * x_stride;
  y += int64_t{blockIdx.x} * cols;

  float v[kItems], sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int col = threadIdx.x + i * BLOCK;
    v[i] = col < cols ? to_float(x[col]) : 0.0f;
    sum += v[i];
  }
  const float mean = block_reduce<BLOCK>(sum, Sum(), sums) / cols;

  float square = 0.0f;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
#ifdef PLANTED
    const float difference = v[i] - mean;
#else
    const float difference = threadIdx.x + i * BLOCK < cols ? v[i] - mean : 0.0f;
#endif
    square += difference * difference;
  }
  const float scale = rsqrtf(block_reduce<BLOCK>(square, Sum(), squares) / cols + eps);

#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int col = threadIdx.x + i * BLOCK;
    if (col < cols) y[col] = from_float<T>((v[i] - mean) * scale);
  }
}
