// A tile of y = x w in half precision by mma.sync: two buffers in shared memory, the next slice of
// both factors copied asynchronously while this one is multiplied. Groups of eight elements are
// copied whole, so K, N, the strides and the base addresses are multiples of eight elements.
//
// Four warps, each 16 rows of all COLS columns of a tile of 64 x COLS.
#pragma once

#include "tensor_core.cuh"

constexpr int kRows = 64;
constexpr int kDepth = 32;
constexpr int kThreads = 128;

template <typename T, int COLS>
struct Slice {
  T x[kRows][kDepth + 8];  // 16 bytes of padding keep ldmatrix free of bank conflicts
  T w[kDepth][COLS + 8];
};

template <typename T, int COLS>
__device__ void copy_slice(Slice<T, COLS>& to, const T* x, const T* w, int64_t x_stride,
                           int64_t w_stride, int64_t first_row, int64_t first_col, int k0, int M,
                           int N, int K) {
#pragma unroll
  for (int i = threadIdx.x; i < kRows * kDepth / 8; i += kThreads) {
    const int r = i / (kDepth / 8);
    const int c = i % (kDepth / 8) * 8;
    const bool inside = first_row + r < M && k0 + c < K;
    copy_async16(&to.x[r][c], inside ? x + (first_row + r) * x_stride + k0 + c : x, inside);
  }
#pragma unroll
  for (int i = threadIdx.x; i < kDepth * COLS / 8; i += kThreads) {
    const int r = i / (COLS / 8);
    const int c = i % (COLS / 8) * 8;
    const bool inside = k0 + r < K && first_col + c < N;
    copy_async16(&to.w[r][c], inside ? w + (k0 + r) * w_stride + first_col + c : w, inside);
  }
}

/// sums += x[., begin..end) w[begin..end, .); lane l of a warp holds what multiply_add says, eight
/// columns each.
template <typename T, int COLS>
__device__ void multiply_tile(float (&sums)[COLS / 8][4], Slice<T, COLS> (&slices)[2], const T* x,
                              const T* w, int64_t x_stride, int64_t w_stride, int64_t first_row,
                              int64_t first_col, int M, int N, int begin, int end) {
  const int lane = threadIdx.x % 32;
  const int warp_row = threadIdx.x / 32 * 16;
  const int steps = (end - begin + kDepth - 1) / kDepth;
  if (steps > 0)
    copy_slice(slices[0], x, w, x_stride, w_stride, first_row, first_col, begin, M, N, end);
  commit_copies();
  for (int step = 0; step < steps; ++step) {
    if (step + 1 < steps)
      copy_slice(slices[(step + 1) % 2], x, w, x_stride, w_stride, first_row, first_col,
                 begin + (step + 1) * kDepth, M, N, end);
    commit_copies();  // an empty group at the end keeps the count
    wait_for_copies<1>();
    __syncthreads();
    const Slice<T, COLS>& slice = slices[step % 2];
#pragma unroll
    for (int k = 0; k < kDepth; k += 16) {
      uint32_t a[4];
      load_matrices(a, &slice.x[warp_row + lane % 16][k + lane / 16 * 8]);
#pragma unroll
      for (int c = 0; c < COLS; c += 16) {
        uint32_t b[4];  // two matrices of eight columns, each 16 deep
        load_matrices_transposed(b, &slice.w[k + lane % 16][c + lane / 16 * 8]);
        multiply_add<T>(sums[c / 8], a, b[0], b[1]);
        multiply_add<T>(sums[c / 8 + 1], a, b[2], b[3]);
      }
    }
    __syncthreads();  // the next copy overwrites this slice
  }
}
