// Grouped matrix product of a mixture of experts: the rows of x are sorted by expert, offsets[e] to
// offsets[e + 1] belong to expert e, whose weights they are multiplied by. Rows from offsets[E] on
// are padding and get 0. One warp a tile of 16 rows and 16 columns, of which a lane moves eight
// neighbours: at once where the rows of the factor, or of y, start on 16 bytes.
#include <mma.h>

#include "device_helpers.cuh"

namespace wmma = nvcuda::wmma;

constexpr int kTile = 16;

template <typename T>
__global__ void __launch_bounds__(32)
    matmul_experts(T* y, const T* x, const T* w, const int32_t* counts, const int32_t* offsets,
                   int64_t w_expert, int E, int N, int K, int rows) {
  __shared__ alignas(32) T xs[kTile][kTile];
  __shared__ alignas(32) T ws[kTile][kTile];
  __shared__ alignas(32) float ys[kTile][kTile];
  const int expert = blockIdx.z;
  const int first = offsets[expert];
  const int count = expert < E ? counts[expert] : rows - first;
  const int tile_row = blockIdx.x * kTile;
  if (tile_row >= count) return;
  const int first_col = blockIdx.y * kTile;
  const int64_t row0 = first + tile_row;
  const int live = min(kTile, count - tile_row);

  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
  wmma::fill_fragment(sums, 0.0f);
  w += expert * w_expert;
  const bool x_vectors = K % 8 == 0 && aligned16(x);
  const bool w_vectors = N % 8 == 0 && aligned16(w);
  const int r = threadIdx.x / 2;
  const int c = threadIdx.x % 2 * 8;
  const int col = first_col + c;
  const T* x_row = x + (row0 + r) * K;
  for (int k0 = 0; k0 < (expert < E ? K : 0); k0 += kTile) {
    const int k = k0 + r;
    store(&xs[r][c], load_part<8>(x_row + k0 + c, r < live ? K - k0 - c : 0, x_vectors));
    store(&ws[r][c], load_part<8>(w + int64_t{k} * N + col, k < K ? N - col : 0, w_vectors));
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::row_major> b;
    wmma::load_matrix_sync(a, &xs[0][0], kTile);
    wmma::load_matrix_sync(b, &ws[0][0], kTile);
    wmma::mma_sync(sums, a, b, sums);
    __syncwarp();
  }
  wmma::store_matrix_sync(&ys[0][0], sums, kTile, wmma::mem_row_major);
  __syncwarp();
  Vector<T, 8> out;
#pragma unroll
  for (int j = 0; j < 8; ++j) out.at[j] = from_float<T>(ys[r][c + j]);
  store_part(y + (row0 + r) * N + col, out, r < live ? N - col : 0, N % 8 == 0 && aligned16(y));
}
