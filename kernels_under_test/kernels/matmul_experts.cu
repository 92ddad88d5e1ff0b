// Grouped matrix product of a mixture of experts: the rows of x are sorted by expert, offsets[e] to
// offsets[e + 1] belong to expert e, whose weights they are multiplied by. Rows from offsets[E] on
// are padding and get 0. One warp a tile of 16 rows and 16 columns.
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
  for (int k0 = 0; k0 < (expert < E ? K : 0); k0 += kTile) {
    for (int i = threadIdx.x; i < kTile * kTile; i += 32) {
      const int r = i / kTile;
      const int c = i % kTile;
      xs[r][c] = r < live && k0 + c < K ? x[(row0 + r) * K + k0 + c] : from_float<T>(0.0f);
      ws[r][c] = k0 + r < K && first_col + c < N ? w[int64_t{k0 + r} * N + first_col + c]
                                                 : from_float<T>(0.0f);
    }
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
  for (int i = threadIdx.x; i < kTile * kTile; i += 32) {
    const int r = i / kTile;
    const int c = i % kTile;
    if (r < live && first_col + c < N) y[(row0 + r) * N + first_col + c] = from_float<T>(ys[r][c]);
  }
}
