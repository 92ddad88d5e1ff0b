// y = x w with 4-bit weights, as GPTQ stores them: eight neighbours along K in a 32-bit word, the
// first in the lowest bits; every GROUP rows of a column have a scale, and a zero point, of which
// eight neighbouring columns' share a word. Weights are rounded to T, then multiplied by wmma.
#include <mma.h>

#include "device_helpers.cuh"

namespace wmma = nvcuda::wmma;

constexpr int kTile = 32;
constexpr int kDepth = 32;
constexpr int kThreads = 128;

__device__ inline int nibble(uint32_t word, int at) { return word >> (4 * at) & 15; }

template <typename T, int GROUP>
__global__ void __launch_bounds__(kThreads)
    matmul_int4(T* y, const T* x, const uint32_t* weights, const T* scales, const uint32_t* zeros,
                int64_t x_stride, int M, int N, int K) {
  static_assert(GROUP % kDepth == 0, "a slice of K lies in one group");
  __shared__ alignas(16) T xs[kTile][kDepth + 8];
  __shared__ alignas(16) T ws[kDepth][kTile + 8];
  __shared__ alignas(32) float ys[kTile][kTile + 4];
  const int64_t first_row = int64_t{blockIdx.x} * kTile;
  const int64_t first_col = int64_t{blockIdx.y} * kTile;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / 2 * 16;
  const int warp_col = warp % 2 * 16;

  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
  wmma::fill_fragment(sums, 0.0f);
  for (int k0 = 0; k0 < K; k0 += kDepth) {
    for (int i = threadIdx.x; i < kTile * kDepth; i += kThreads) {
      const int r = i / kDepth;
      const int c = i % kDepth;
      xs[r][c] = first_row + r < M && k0 + c < K ? x[(first_row + r) * x_stride + k0 + c]
                                                 : from_float<T>(0.0f);
    }
    // A thread unpacks one word: eight rows of one column.
    const int c = threadIdx.x % kTile;
    const int r = threadIdx.x / kTile * 8;
    const int64_t col = first_col + c;
    if (col < N && k0 + r < K) {
      const int64_t group = k0 / GROUP;
      const uint32_t word = weights[int64_t{(k0 + r) / 8} * N + col];
      const int zero = nibble(zeros[group * (N / 8) + col / 8], col % 8);
      const float scale = to_float(scales[group * N + col]);
#pragma unroll
      for (int i = 0; i < 8; ++i)
        ws[r + i][c] = from_float<T>(static_cast<float>(nibble(word, i) - zero) * scale);
    } else {
#pragma unroll
      for (int i = 0; i < 8; ++i) ws[r + i][c] = from_float<T>(0.0f);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kDepth; k += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> a;
      wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::row_major> b;
      wmma::load_matrix_sync(a, &xs[warp_row][k], kDepth + 8);
      wmma::load_matrix_sync(b, &ws[k][warp_col], kTile + 8);
      wmma::mma_sync(sums, a, b, sums);
    }
    __syncthreads();
  }

  wmma::store_matrix_sync(&ys[warp_row][warp_col], sums, kTile + 4, wmma::mem_row_major);
  __syncthreads();
  for (int i = threadIdx.x; i < kTile * kTile; i += kThreads) {
    const int64_t row = first_row + i / kTile;
    const int64_t col = first_col + i % kTile;
    if (row < M && col < N) y[row * N + col] = from_float<T>(ys[i / kTile][i % kTile]);
  }
}
