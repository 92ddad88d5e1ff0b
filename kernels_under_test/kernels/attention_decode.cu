// Attention of one new query a sequence over a paged cache, split into segments that blocks of
// their own work on: each warp takes every fourth page of its segment with an online softmax, the
// warps of a block join, and a second launch joins the segments.
//
// Cache of K and V: [pages][BS][Hkv][D] with any strides but the last. table[b][j] is the page of
// tokens j BS to j BS + BS - 1 of sequence b; entries past its last page are never read.
#include "device_helpers.cuh"

constexpr int kWarps = 4;

/// What a part of the tokens contributes: sums of weights and of weighted values, relative to the
/// part's own maximum.
template <int D>
struct Part {
  static constexpr int kOwned = (D + 31) / 32;  // elements of a row that a lane owns
  float largest = -INFINITY;
  float total = 0.0f;
  float sums[kOwned] = {};

  __device__ void rescale(float new_largest) {
    const float factor = largest == -INFINITY ? 0.0f : expf(largest - new_largest);
    total *= factor;
#pragma unroll
    for (float& sum : sums) sum *= factor;
    largest = new_largest;
  }
};

/// q . k over D / 2 elements, eight at a time where the row is aligned.
template <int D, typename T>
__device__ inline float dot_half(const float* q, const T* k, bool vectors) {
  float sum = 0.0f;
#pragma unroll
  for (int c = 0; c < D / 2; c += 8) {
    Vector<T, 8> group;
    if (vectors) {
      group = load<8>(k + c);
    } else {
#pragma unroll
      for (int i = 0; i < 8; ++i) group.at[i] = k[c + i];
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += q[c + i] * to_float(group.at[i]);
  }
  return sum;
}

template <typename T, int D, int BS>
__global__ void __launch_bounds__(kWarps * 32)
    attention_decode(float* mid, float* mid_largest, float* mid_total, const T* q, const T* k,
                     const T* v, const int32_t* table, const int32_t* lens, int64_t k_page,
                     int64_t k_slot, int64_t k_head, int64_t v_page, int64_t v_slot, int64_t v_head,
                     int W, int H, int G, int segments, float scale) {
  static_assert(BS == 16 || BS == 32, "a warp takes a page in one or two rounds");
  __shared__ float query[D];
  __shared__ float joined[kWarps][D];
  __shared__ float largest[kWarps];
  __shared__ float totals[kWarps];
  const int head = blockIdx.x;
  const int64_t b = blockIdx.y;
  const int segment = blockIdx.z;
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;

  for (int d = threadIdx.x; d < D; d += kWarps * 32) query[d] = to_float(q[(b * H + head) * D + d]);
  __syncthreads();

  const int length = lens[b];
  const int pages = (length + BS - 1) / BS;
  const int each = (pages + segments - 1) / segments;
  const int last = min(pages, (segment + 1) * each);
  k += head / G * k_head;
  v += head / G * v_head;
  const bool vectors = aligned16(k) && k_page % 8 == 0 && k_slot % 8 == 0;

  Part<D> part;
  for (int page = segment * each + warp; page < last; page += kWarps) {
    const int64_t at = table[b * W + page];
    const int count = min(BS, length - page * BS);
    // Two lanes a token, 16 tokens a round.
#pragma unroll
    for (int round = 0; round < BS; round += 16) {
      const int slot = round + lane / 2;
      float score = 0.0f;
      if (slot < count)
        score = dot_half<D>(query + lane % 2 * (D / 2),
                            k + at * k_page + slot * k_slot + lane % 2 * (D / 2), vectors);
      score += __shfl_xor_sync(0xffffffffu, score, 1);
      score = slot < count ? score * scale : -INFINITY;
      const float most = fmaxf(part.largest, warp_reduce(score, Max()));
      if (most == -INFINITY) continue;  // nothing live so far
      if (most != part.largest) part.rescale(most);
      const float weight = expf(score - most);
      part.total += warp_reduce(lane % 2 == 0 ? weight : 0.0f, Sum());
      for (int t = 0; t < min(16, count - round); ++t) {
        const float w = __shfl_sync(0xffffffffu, weight, t * 2);
        const T* row = v + at * v_page + (round + t) * v_slot;
#pragma unroll
        for (int i = 0; i < Part<D>::kOwned; ++i)
          if (lane + i * 32 < D) part.sums[i] += w * to_float(row[lane + i * 32]);
      }
    }
  }

  if (lane == 0) largest[warp] = part.largest;
  __syncthreads();
  float most = largest[0];
#pragma unroll
  for (int w = 1; w < kWarps; ++w) most = fmaxf(most, largest[w]);
  if (part.largest != most) part.rescale(most);
  if (lane == 0) totals[warp] = part.total;
#pragma unroll
  for (int i = 0; i < Part<D>::kOwned; ++i)
    if (lane + i * 32 < D) joined[warp][lane + i * 32] = part.sums[i];
  __syncthreads();

  const int64_t out = (b * H + head) * segments + segment;
  for (int d = threadIdx.x; d < D; d += kWarps * 32) {
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sum += joined[w][d];
    mid[out * D + d] = sum;
  }
  if (threadIdx.x == 0) {
    float total = 0.0f;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) total += totals[w];
    mid_largest[out] = most;
    mid_total[out] = total;
  }
}

/// Joins the segments of one head of one sequence. A segment without tokens has maximum -inf.
template <typename T, int D>
__global__ void __launch_bounds__(D)
    attention_join(T* o, const float* mid, const float* mid_largest, const float* mid_total, int H,
                   int segments) {
  const int64_t row = int64_t{blockIdx.y} * H + blockIdx.x;
  mid += row * segments * D;
  mid_largest += row * segments;
  mid_total += row * segments;
  float most = -INFINITY;
  for (int s = 0; s < segments; ++s) most = fmaxf(most, mid_largest[s]);
  float total = 0.0f;
  float sum = 0.0f;
  for (int s = 0; s < segments; ++s) {
    if (mid_largest[s] == -INFINITY) continue;
    const float factor = expf(mid_largest[s] - most);
    total += mid_total[s] * factor;
    sum += mid[s * D + threadIdx.x] * factor;
  }
  o[row * D + threadIdx.x] = from_float<T>(total == 0.0f ? 0.0f : sum / total);
}
