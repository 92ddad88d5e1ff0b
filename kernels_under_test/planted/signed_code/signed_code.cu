// 4-bit weights in two's complement to numbers: eight neighbours along K in a word, the first in
// the lowest bits; every GROUP rows of a column have a scale.
//
// Mutation of our matmul_int4, class 7 (integer semantics): the code is masked out of its word and
// its sign stays behind, so that -8 to -1 are taken as 8 to 15.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T, int GROUP>
__global__ void __launch_bounds__(64)
    dequantise(T* y, const uint32_t* weights, const T* scales, int N, int K) {
  const int col = blockIdx.x * 64 + threadIdx.x;
  if (col >= N) return;
  const int64_t first = int64_t{blockIdx.y} * 8;
  const uint32_t word = weights[int64_t{blockIdx.y} * N + col];
  const float scale = to_float(scales[first / GROUP * N + col]);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
#ifdef PLANTED
    const int code = word >> (4 * i) & 15;
#else
    const int code = static_cast<int>(word << (28 - 4 * i)) >> 28;
#endif
    y[(first + i) * N + col] = from_float<T>(code * scale);
  }
}
