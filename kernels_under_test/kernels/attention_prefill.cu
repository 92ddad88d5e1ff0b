// Attention of whole prompts, FlashAttention's way: a block takes 64 queries of one head, four
// warps of 16 rows each, and passes over the keys in tiles of 32 with an online softmax. Both
// products run on tensor cores; the weights are rounded to T before the second, their sum is not.
//
// o[b, i, h] = sum_j softmax_j(q[b, i, h] . k[b, j, h / G] * scale) v[b, j, h / G]; with `causal`
// query i sees keys up to i + Lk - Lq. A query that sees no key gets 0.
#include "tensor_core.cuh"

constexpr int kQueries = 64;
constexpr int kKeys = 32;
constexpr int kThreads = 128;
constexpr float kLog2e = 1.4426950408889634f;

/// Rows of D elements into shared memory, zeros from `rows` on.
template <int ROWS, int D, typename T>
__device__ void stage_rows(T (*to)[D + 8], const T* from, int64_t stride, int rows, bool vectors) {
  for (int i = threadIdx.x; i < ROWS * D / 8; i += kThreads) {
    const int r = i / (D / 8);
    const int c = i % (D / 8) * 8;
    const T* source = from + r * stride + c;
    Vector<T, 8> group;
    if (r < rows && vectors) {
      group = load<8>(source);
    } else {
#pragma unroll
      for (int k = 0; k < 8; ++k) group.at[k] = r < rows ? source[k] : from_float<T>(0.0f);
    }
    store<T, 8>(&to[r][c], group);
  }
}

template <typename T>
__device__ inline uint32_t packed(float a, float b) {
  const Vector<T, 2> pair{from_float<T>(a), from_float<T>(b)};
  uint32_t bits;
  memcpy(&bits, &pair, sizeof bits);
  return bits;
}

/// The four lanes that hold one row of a tile.
template <typename Op>
__device__ inline float reduce_row(float v, Op op) {
  v = op(v, __shfl_xor_sync(0xffffffffu, v, 1));
  return op(v, __shfl_xor_sync(0xffffffffu, v, 2));
}

/// One tile of scores becomes weights; returns what the sums of earlier tiles are multiplied by.
__device__ inline float update_row(float (&s)[kKeys / 8][4], int half, float scale_log2,
                                   float& row_max, float& row_sum) {
  float largest = row_max;
#pragma unroll
  for (int t = 0; t < kKeys / 8; ++t) largest = fmaxf(largest, fmaxf(s[t][half], s[t][half + 1]));
  largest = reduce_row(largest, Max());
  // All masked so far: subtracting -inf would make NaN of it.
  const float base = largest == -INFINITY ? 0.0f : largest * scale_log2;
  const float rescale = exp2f(row_max * scale_log2 - base);
  float sum = 0.0f;
#pragma unroll
  for (int t = 0; t < kKeys / 8; ++t)
#pragma unroll
    for (int k = half; k < half + 2; ++k) {
      s[t][k] = exp2f(s[t][k] * scale_log2 - base);
      sum += s[t][k];
    }
  row_sum = row_sum * rescale + sum;
  row_max = largest;
  return rescale;
}

template <typename T, int D, bool CAUSAL>
__global__ void __launch_bounds__(kThreads)
    attention_prefill(T* o, const T* q, const T* k, const T* v, int64_t q_stride0,
                      int64_t q_stride1, int64_t q_stride2, int64_t k_stride0, int64_t k_stride1,
                      int64_t k_stride2, int64_t v_stride0, int64_t v_stride1, int64_t v_stride2,
                      int Lq, int Lk, int H, int G, float scale) {
  __shared__ alignas(16) T queries[kQueries][D + 8];
  __shared__ alignas(16) T keys[kKeys][D + 8];
  __shared__ alignas(16) T values[kKeys][D + 8];
  const int first = blockIdx.x * kQueries;
  const int head = blockIdx.y;
  const int64_t batch = blockIdx.z;
  q += batch * q_stride0 + first * q_stride1 + head * q_stride2;
  k += batch * k_stride0 + head / G * k_stride2;
  v += batch * v_stride0 + head / G * v_stride2;
  const bool k_vectors = aligned16(k) && k_stride1 % 8 == 0;
  const bool v_vectors = aligned16(v) && v_stride1 % 8 == 0;
  const int lane = threadIdx.x % 32;
  const int warp_row = threadIdx.x / 32 * 16;
  const int row = first + warp_row + lane / 4;  // and row + 8
  const float scale_log2 = scale * kLog2e;

  stage_rows<kQueries, D>(queries, q, q_stride1, Lq - first, aligned16(q) && q_stride1 % 8 == 0);
  __syncthreads();
  uint32_t q_parts[D / 16][4];
#pragma unroll
  for (int d = 0; d < D; d += 16)
    load_matrices(q_parts[d / 16], &queries[warp_row + lane % 16][d + lane / 16 * 8]);

  float sums[D / 8][4] = {};
  float row_max[2] = {-INFINITY, -INFINITY};
  float row_sum[2] = {};
  const int visible = CAUSAL ? min(Lk, first + kQueries + Lk - Lq) : Lk;
  for (int j0 = 0; j0 < visible; j0 += kKeys) {
    stage_rows<kKeys, D>(keys, k + j0 * k_stride1, k_stride1, Lk - j0, k_vectors);
    stage_rows<kKeys, D>(values, v + j0 * v_stride1, v_stride1, Lk - j0, v_vectors);
    __syncthreads();

    float s[kKeys / 8][4] = {};
#pragma unroll
    for (int d = 0; d < D; d += 16)
#pragma unroll
      for (int j = 0; j < kKeys; j += 16) {
        uint32_t b[4];
        load_matrices(b, &keys[j + lane / 16 * 8 + lane % 8][d + lane / 8 % 2 * 8]);
        multiply_add<T>(s[j / 8], q_parts[d / 16], b[0], b[1]);
        multiply_add<T>(s[j / 8 + 1], q_parts[d / 16], b[2], b[3]);
      }

#pragma unroll
    for (int t = 0; t < kKeys / 8; ++t)
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int key = j0 + t * 8 + lane % 4 * 2 + c % 2;
        const int last = CAUSAL ? min(Lk - 1, row + c / 2 * 8 + Lk - Lq) : Lk - 1;
        if (key > last) s[t][c] = -INFINITY;
      }

#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float rescale = update_row(s, half * 2, scale_log2, row_max[half], row_sum[half]);
#pragma unroll
      for (int d = 0; d < D / 8; ++d) {
        sums[d][half * 2] *= rescale;
        sums[d][half * 2 + 1] *= rescale;
      }
    }

#pragma unroll
    for (int j = 0; j < kKeys; j += 16) {
      const float(&left)[4] = s[j / 8];
      const float(&right)[4] = s[j / 8 + 1];
      const uint32_t p[4] = {packed<T>(left[0], left[1]), packed<T>(left[2], left[3]),
                             packed<T>(right[0], right[1]), packed<T>(right[2], right[3])};
#pragma unroll
      for (int d = 0; d < D; d += 16) {
        uint32_t b[4];
        load_matrices_transposed(b, &values[j + lane % 16][d + lane / 16 * 8]);
        multiply_add<T>(sums[d / 8], p, b[0], b[1]);
        multiply_add<T>(sums[d / 8 + 1], p, b[2], b[3]);
      }
    }
    __syncthreads();
  }

#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float total = reduce_row(row_sum[half], Sum());
    const int64_t i = row + half * 8;
    if (i >= Lq) continue;
    T* out = o + ((batch * Lq + i) * H + head) * D;
#pragma unroll
    for (int d = 0; d < D / 8; ++d)
#pragma unroll
      for (int c = 0; c < 2; ++c)
        out[d * 8 + lane % 4 * 2 + c] =
            from_float<T>(total == 0.0f ? 0.0f : sums[d][half * 2 + c] / total);
  }
}
