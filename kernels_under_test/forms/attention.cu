// Attention in other forms: window, soft cap, position bias and sink together; scores given;
// partials merged.
#include "../kernels/device_helpers.cuh"

/// One warp a query and head; an online softmax that starts with the head's sink logit.
template <typename T, int D>
__global__ void attention_window_sink(T* o, float* lse, const T* q, const T* k, const T* v,
                                      const float* slope, const float* sink, int queries, int keys,
                                      int heads, int window, float scale, float cap) {
  constexpr int kEach = (D + 31) / 32;
  const int head = blockIdx.y;
  const int64_t batch = blockIdx.z;
  const int64_t at = (batch * queries + blockIdx.x) * heads + head;
  const int position = int(blockIdx.x) + keys - queries;
  float most = sink[head];
  float sum = 1.0f;
  float out[kEach] = {};
  for (int j = max(0, position - window + 1); j <= min(keys - 1, position); ++j) {
    const int64_t key = ((batch * keys + j) * heads + head) * D;
    float score = 0.0f;
    for (int d = threadIdx.x; d < D; d += 32)
      score += to_float(q[at * D + d]) * to_float(k[key + d]);
    score = warp_reduce(score, Sum());
    score = cap * tanhf(score * scale / cap) + slope[head] * float(j - position);
    const float next = fmaxf(most, score);
    const float correction = expf(most - next);
    const float p = expf(score - next);
    sum = sum * correction + p;
    for (int i = 0; i < kEach; ++i) {
      const int d = threadIdx.x + 32 * i;
      if (d < D) out[i] = out[i] * correction + p * to_float(v[key + d]);
    }
    most = next;
  }
  for (int i = 0; i < kEach; ++i) {
    const int d = threadIdx.x + 32 * i;
    if (d < D) o[at * D + d] = from_float<T>(out[i] / sum);
  }
  if (threadIdx.x == 0) lse[at] = most + logf(sum);
}

/// Weighted mean by an online softmax over given scores with one sink logit, one thread a row.
__global__ void sink_attention(float* o, const float* score, const float* v, const float* sink,
                               int keys) {
  score += int64_t{blockIdx.x} * keys;
  v += int64_t{blockIdx.x} * keys;
  float most = sink[0];
  float sum = 1.0f;
  float out = 0.0f;
  for (int j = 0; j < keys; ++j) {
    const float next = fmaxf(most, score[j]);
    const float correction = expf(most - next);
    const float p = expf(score[j] - next);
    sum = sum * correction + p;
    out = out * correction + p * v[j];
    most = next;
  }
  o[blockIdx.x] = out / sum;
}

/// Softmax over capped scores and a head's sink logit, without the sink's column.
template <int BLOCK>
__global__ void sink_softmax(float* y, const float* score, const float* sink, int cols, int heads,
                             float cap) {
  __shared__ float partial[2][BLOCK / 32];
  const int64_t base = int64_t{blockIdx.x} * cols;
  const float drain = sink[blockIdx.x % heads];
  const auto capped = [&](int i) { return cap * tanhf(score[base + i] / cap); };
  float most = drain;
  for (int i = threadIdx.x; i < cols; i += BLOCK) most = fmaxf(most, capped(i));
  most = block_reduce<BLOCK>(most, Max(), partial[0]);
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += BLOCK) sum += expf(capped(i) - most);
  sum = block_reduce<BLOCK>(sum, Sum(), partial[1]) + expf(drain - most);
  for (int i = threadIdx.x; i < cols; i += BLOCK) y[base + i] = expf(capped(i) - most) / sum;
}

/// Any number of partial outputs with their logarithms of sums; parts without a key have -inf.
template <typename T>
__global__ void merge_partials(T* o, float* lse, const float* part_o, const float* part_lse,
                               int rows, int parts, int depth) {
  const int64_t row = blockIdx.x;
  float most = -INFINITY;
  for (int s = 0; s < parts; ++s) most = fmaxf(most, part_lse[int64_t{s} * rows + row]);
  const auto weight = [&](int s) {
    return most == -INFINITY ? 0.0f : expf(part_lse[int64_t{s} * rows + row] - most);
  };
  float sum = 0.0f;
  for (int s = 0; s < parts; ++s) sum += weight(s);
  for (int d = threadIdx.x; d < depth; d += blockDim.x) {
    float out = 0.0f;
    for (int s = 0; s < parts; ++s) {
      const float w = most == -INFINITY ? 0.0f : weight(s) / sum;
      out += w * part_o[(int64_t{s} * rows + row) * depth + d];
    }
    o[row * depth + d] = from_float<T>(out);
  }
  if (threadIdx.x == 0) lse[row] = most == -INFINITY ? most : logf(sum) + most;
}

/// Logits capped, then divided by their row's temperature, four a thread.
template <typename T>
__global__ void softcap(T* y, const T* x, const float* temperature, int64_t x_stride, int cols,
                        float cap) {
  const int64_t row = blockIdx.y;
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  const float inverse = 1.0f / temperature[row];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if (first + i < cols)
      y[row * cols + first + i] =
          from_float<T>(cap * tanhf(to_float(x[row * x_stride + first + i]) / cap) * inverse);
}

/// Rotary embedding of adjacent pairs in place, the angles computed here by powf and sincosf.
template <typename T>
__global__ void rope_angles(T* q, const int* position, int heads, int half, float base) {
  const int64_t token = blockIdx.x;
  for (int j = threadIdx.x; j < heads * half; j += blockDim.x) {
    const float angle = float(position[token]) * powf(base, -float(j % half) / half);
    float sine, cosine;
    sincosf(angle, &sine, &cosine);
    T* pair = q + (token * heads * half + j) * 2;
    const float u = to_float(pair[0]);
    const float v = to_float(pair[1]);
    pair[0] = from_float<T>(u * cosine - v * sine);
    pair[1] = from_float<T>(v * cosine + u * sine);
  }
}
