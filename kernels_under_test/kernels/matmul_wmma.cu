// y = x w in half precision through the tensor cores' C++ interface, f32 accumulators.
//
// Four warps make a tile of 32 rows and 32 columns, each a 16 x 16 quarter. Both factors pass
// through shared memory, zeros beyond their edges, so that ragged sizes and any alignment work.
#include <mma.h>

#include "device_helpers.cuh"

namespace wmma = nvcuda::wmma;

constexpr int kTile = 32;
constexpr int kThreads = 128;

/// ROWS x COLS elements from (row, col) of a matrix of `rows` x `cols`, eight at a time where the
/// whole group lies inside and is aligned.
template <int ROWS, int COLS, int PITCH, typename T>
__device__ void stage(T (*to)[PITCH], const T* from, int64_t stride, int64_t row, int64_t col,
                      int64_t rows, int64_t cols, bool vectors) {
  for (int i = threadIdx.x; i < ROWS * COLS / 8; i += kThreads) {
    const int r = i / (COLS / 8);
    const int c = i % (COLS / 8) * 8;
    const T* source = from + (row + r) * stride + col + c;
    if (vectors && row + r < rows && col + c + 8 <= cols) {
      store<T, 8>(&to[r][c], load<8>(source));
    } else {
#pragma unroll
      for (int k = 0; k < 8; ++k)
        to[r][c + k] = row + r < rows && col + c + k < cols ? source[k] : from_float<T>(0.0f);
    }
  }
}

template <typename T, int DEPTH>
__global__ void __launch_bounds__(kThreads)
    matmul_wmma(T* y, const T* x, const T* w, int64_t x_stride, int64_t w_stride, int M, int N,
                int K) {
  // Rows padded by 16 bytes: a column's elements then lie in different banks.
  __shared__ alignas(16) T xs[kTile][DEPTH + 8];
  __shared__ alignas(16) T ws[DEPTH][kTile + 8];
  __shared__ alignas(32) float ys[kTile][kTile + 4];
  const int64_t first_row = int64_t{blockIdx.x} * kTile;
  const int64_t first_col = int64_t{blockIdx.y} * kTile;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / 2 * 16;
  const int warp_col = warp % 2 * 16;
  const bool x_vectors = aligned16(x) && x_stride % 8 == 0;
  const bool w_vectors = aligned16(w) && w_stride % 8 == 0;

  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
  wmma::fill_fragment(sums, 0.0f);
  for (int k0 = 0; k0 < K; k0 += DEPTH) {
    stage<kTile, DEPTH>(xs, x, x_stride, first_row, k0, M, K, x_vectors);
    stage<DEPTH, kTile>(ws, w, w_stride, k0, first_col, K, N, w_vectors);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < DEPTH; k += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> a;
      wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::row_major> b;
      wmma::load_matrix_sync(a, &xs[warp_row][k], DEPTH + 8);
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
