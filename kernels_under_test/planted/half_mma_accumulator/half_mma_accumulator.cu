// Matrix product by wmma, one tile of 16 x 16 a warp.
//
// Field report: triton-lang/triton#1960, class 6 (accumulation), in tensor cores: the accumulator's
// fragment is of halves. Seen by: the oracle (mismatch) on exact data whose partial sums pass 2^11.
#include <mma.h>

#include "../../kernels/device_helpers.cuh"

namespace wmma = nvcuda::wmma;

#ifdef PLANTED
using Accumulator = __half;
#else
using Accumulator = float;
#endif

template <typename T>
__global__ void small_matmul(float* y, const T* x, const T* w, int M, int N, int K) {
  __shared__ alignas(32) T xs[16][16];
  __shared__ alignas(32) T ws[16][16];
  __shared__ alignas(32) Accumulator ys[16][16];
  const int64_t row0 = int64_t{blockIdx.x} * 16;
  const int64_t col0 = int64_t{blockIdx.y} * 16;
  wmma::fragment<wmma::accumulator, 16, 16, 16, Accumulator> sums;
  wmma::fill_fragment(sums, from_float<Accumulator>(0.0f));
  for (int k0 = 0; k0 < K; k0 += 16) {
    for (int i = threadIdx.x; i < 256; i += 32) {
      const int r = i / 16;
      const int c = i % 16;
      xs[r][c] = row0 + r < M && k0 + c < K ? x[(row0 + r) * K + k0 + c] : from_float<T>(0.0f);
      ws[r][c] =
          k0 + r < K && col0 + c < N ? w[int64_t{k0 + r} * N + col0 + c] : from_float<T>(0.0f);
    }
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::row_major> b;
    wmma::load_matrix_sync(a, &xs[0][0], 16);
    wmma::load_matrix_sync(b, &ws[0][0], 16);
    wmma::mma_sync(sums, a, b, sums);
    __syncwarp();
  }
  wmma::store_matrix_sync(&ys[0][0], sums, 16, wmma::mem_row_major);
  __syncwarp();
  for (int i = threadIdx.x; i < 256; i += 32)
    if (row0 + i / 16 < M && col0 + i % 16 < N)
      y[(row0 + i / 16) * N + col0 + i % 16] = to_float(ys[i / 16][i % 16]);
}
