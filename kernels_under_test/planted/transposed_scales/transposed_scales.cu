// int8 weights to numbers; every 32 rows of a column have a scale, in a [group, column] matrix.
//
// Mutation of our matmul_int4, class 10 (strides): the scales are read as if a column's lay
// together, as the loader of another format leaves them. The number of scales is the same, so no
// read is out of bounds; one group, or one column, is right.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void dequantise(T* y, const signed char* w, const T* scales, int K, int N) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y;
  if (col >= N) return;
  const int groups = (K + 31) / 32;
#ifdef PLANTED
  const float scale = to_float(scales[int64_t{col} * groups + row / 32]);
#else
  const float scale = to_float(scales[int64_t{row / 32} * N + col]);
#endif
  const int64_t at = int64_t{row} * N + col;
  y[at] = from_float<T>(w[at] * scale);
}
