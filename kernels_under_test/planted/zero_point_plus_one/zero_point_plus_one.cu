// 4-bit weights to numbers: eight neighbours along K in a word, the first in the lowest bits; every
// GROUP rows of a column have a scale and a zero point.
//
// Mutation of our matmul_int4, class 7 (integer semantics): GPTQ's first format stores zero points
// less one, its second as they are; the contract states the second, the kernel adds one.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T, int GROUP>
__global__ void __launch_bounds__(64)
    dequantise(T* y, const uint32_t* weights, const T* scales, const uint8_t* zeros, int N, int K) {
  const int col = blockIdx.x * 64 + threadIdx.x;
  if (col >= N) return;
  const int64_t first = int64_t{blockIdx.y} * 8;
  const int64_t at = first / GROUP * N + col;
  const uint32_t word = weights[int64_t{blockIdx.y} * N + col];
#ifdef PLANTED
  const int zero = (zeros[at] + 1) & 15;
#else
  const int zero = zeros[at];
#endif
#pragma unroll
  for (int i = 0; i < 8; ++i)
    y[(first + i) * N + col] =
        from_float<T>((static_cast<int>(word >> (4 * i) & 15) - zero) * to_float(scales[at]));
}
