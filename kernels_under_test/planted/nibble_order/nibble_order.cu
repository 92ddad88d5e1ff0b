// 4-bit weights to numbers, as GPTQ stores them: eight neighbours along K in a word, the first in
// the lowest bits; every GROUP rows of a column have a scale and a zero point.
//
// Mutation of our matmul_int4, class 7 (integer semantics): the word is unpacked in AWQ's order,
// which interleaves even and odd places. Sums over a whole word hardly tell.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T, int GROUP>
__global__ void __launch_bounds__(64)
    dequantise(T* y, const uint32_t* weights, const T* scales, const uint8_t* zeros, int N, int K) {
  const int col = blockIdx.x * 64 + threadIdx.x;
  if (col >= N) return;
  const int64_t first = int64_t{blockIdx.y} * 8;
  const int64_t group = first / GROUP;
  const uint32_t word = weights[int64_t{blockIdx.y} * N + col];
  const int zero = zeros[group * N + col];
  const float scale = to_float(scales[group * N + col]);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
#ifdef PLANTED
    const int place = i % 2 * 4 + i / 2;
#else
    const int place = i;
#endif
    const int code = word >> (4 * place) & 15;
    y[(first + i) * N + col] = from_float<T>((code - zero) * scale);
  }
}
