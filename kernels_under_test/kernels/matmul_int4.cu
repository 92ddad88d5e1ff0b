// y = x w with 4-bit weights, as GPTQ stores them: eight neighbours along K in a 32-bit word, the
// first in the lowest bits; every GROUP rows of a column have a scale, and a zero point, of which
// eight neighbouring columns' share a word. Weights are unpacked in pairs and rounded to T, then
// multiplied by wmma; x and y move 16 bytes at a time where their rows start on 16 bytes.
#include <mma.h>

#include "device_helpers.cuh"

namespace wmma = nvcuda::wmma;

constexpr int kTile = 32;
constexpr int kDepth = 32;
constexpr int kThreads = 128;

// Two of T, and the bits of the two powers of two above which T counts in ones: a code in the
// lowest bits is added to it.
template <typename T>
struct Pair;
template <>
struct Pair<__half> {
  using Type = __half2;
  static constexpr uint32_t kBase = 0x64006400;  // 1024
};
template <>
struct Pair<__nv_bfloat16> {
  using Type = __nv_bfloat162;
  static constexpr uint32_t kBase = 0x43004300;  // 128
};

template <typename T>
__device__ inline typename Pair<T>::Type above_base(uint32_t codes) {
  const uint32_t bits = codes | Pair<T>::kBase;
  return *reinterpret_cast<const typename Pair<T>::Type*>(&bits);
}

/// (code - zero) scale of a word's eight codes: the difference is exact, the product rounds once.
template <typename T>
__device__ inline Vector<T, 8> dequantize(uint32_t word, uint32_t zero, T scale) {
  const typename Pair<T>::Type zeros = above_base<T>(zero << 16 | zero);
  const typename Pair<T>::Type scales{scale, scale};
  Vector<T, 8> weights;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const auto pair = __hmul2(__hsub2(above_base<T>(word >> (4 * i) & 0x000f000f), zeros), scales);
    weights.at[i] = pair.x;
    weights.at[i + 4] = pair.y;
  }
  return weights;
}

template <typename T, int GROUP>
__global__ void __launch_bounds__(kThreads)
    matmul_int4(T* y, const T* x, const uint32_t* weights, const T* scales, const uint32_t* zeros,
                int64_t x_stride, int M, int N, int K) {
  static_assert(GROUP % kDepth == 0, "a slice of K lies in one group");
  __shared__ alignas(16) T xs[kTile][kDepth + 8];
  __shared__ alignas(16) T ws[kTile][kDepth + 8];  // by column
  __shared__ alignas(32) float ys[kTile][kTile + 4];
  const int64_t first_row = int64_t{blockIdx.x} * kTile;
  const int64_t first_col = int64_t{blockIdx.y} * kTile;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / 2 * 16;
  const int warp_col = warp % 2 * 16;

  // Of x and y a thread moves eight columns of one row, of the weights eight rows of one column.
  const int r = threadIdx.x / (kDepth / 8);
  const int c = threadIdx.x % (kDepth / 8) * 8;
  const bool x_vectors = x_stride % 8 == 0 && aligned16(x);
  const T* x_row = x + (first_row + r) * x_stride;
  const int w_row = threadIdx.x / kTile * 8;
  const int w_col = threadIdx.x % kTile;
  const int64_t col = first_col + w_col;

  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
  wmma::fill_fragment(sums, 0.0f);
  for (int k0 = 0; k0 < K; k0 += kDepth) {
    store(&xs[r][c], load_part<8>(x_row + k0 + c, first_row + r < M ? K - k0 - c : 0, x_vectors));
    Vector<T, 8> unpacked;
#pragma unroll
    for (int j = 0; j < 8; ++j) unpacked.at[j] = T(0);
    if (col < N && k0 + w_row < K) {
      const int64_t group = k0 / GROUP;
      const uint32_t word = weights[int64_t{(k0 + w_row) / 8} * N + col];
      const uint32_t zero = zeros[group * (N / 8) + col / 8] >> (4 * (col % 8)) & 15;
      unpacked = dequantize(word, zero, scales[group * N + col]);
    }
    store(&ws[w_col][w_row], unpacked);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kDepth; k += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> a;
      wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::col_major> b;
      wmma::load_matrix_sync(a, &xs[warp_row][k], kDepth + 8);
      wmma::load_matrix_sync(b, &ws[warp_col][k], kDepth + 8);
      wmma::mma_sync(sums, a, b, sums);
    }
    __syncthreads();
  }

  wmma::store_matrix_sync(&ys[warp_row][warp_col], sums, kTile + 4, wmma::mem_row_major);
  __syncthreads();
  Vector<T, 8> out;
#pragma unroll
  for (int j = 0; j < 8; ++j) out.at[j] = from_float<T>(ys[r][c + j]);
  const int64_t row = first_row + r;
  if (row < M && first_col + c < N)
    store_part(y + row * N + first_col + c, out, 8, aligned16(y));  // N is a multiple of 8
}
