// Selection by computed scores: gates of experts, sampling, nearest codes, sorting.
#include "../kernels/device_helpers.cuh"

struct Best {
  float score;
  int index;
};

/// The larger score, of equal ones the lower index; every lane gets it.
__device__ inline Best warp_best(Best best) {
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) {
    const float score = __shfl_xor_sync(0xffffffffu, best.score, lane);
    const int index = __shfl_xor_sync(0xffffffffu, best.index, lane);
    if (score > best.score || (score == best.score && index < best.index)) best = {score, index};
  }
  return best;
}

/// The k largest sigmoid scores of a token, in order, one thread a token.
__global__ void router_sigmoid(float* weight, int* expert, const float* x, int experts, int k) {
  x += int64_t{blockIdx.x} * experts;
  weight += int64_t{blockIdx.x} * k;
  expert += int64_t{blockIdx.x} * k;
  for (int j = 0; j < k; ++j) {
    Best best = {-1.0f, -1};
    for (int i = 0; i < experts; ++i) {
      bool used = false;
      for (int before = 0; before < j; ++before) used |= expert[before] == i;
      const float score = 1.0f / (1.0f + expf(-x[i]));
      if (!used && score > best.score) best = {score, i};
    }
    weight[j] = best.score;
    expert[j] = best.index;
  }
}

/// Selects by sigmoid score plus bias and weighs by the score alone: 32 experts, one warp a token.
template <int K>
__global__ void gate_with_bias(float* weight, int* expert, const float* x, const float* bias,
                               float factor) {
  const float score = 1.0f / (1.0f + expf(-x[blockIdx.x * 32 + threadIdx.x]));
  float chosen_by = score + bias[threadIdx.x];
  float total = 0.0f;
  float mine = 0.0f;
  for (int k = 0; k < K; ++k) {
    const Best best = warp_best({chosen_by, int(threadIdx.x)});
    const float of_best = __shfl_sync(0xffffffffu, score, best.index);
    if (threadIdx.x == k) {
      mine = of_best;
      expert[blockIdx.x * K + k] = best.index;
    }
    total += of_best;
    if (threadIdx.x == best.index) chosen_by = -INFINITY;
  }
  if (threadIdx.x < K) weight[blockIdx.x * K + threadIdx.x] = mine / total * factor;
}

/// The argument of the largest score in three forms, one thread a row.
template <int FORM>
__global__ void argmax_of_scores(int64_t* index, const float* x, int cols) {
  x += int64_t{blockIdx.x} * cols;
  Best best = {-1.0f, -1};
  for (int i = 0; i < cols; ++i) {
    const float score = FORM == 0   ? 1.0f / (1.0f + expf(-x[i]))
                        : FORM == 1 ? expf(x[i])
                                    : x[i] * x[i];
    if (score > best.score) best = {score, i};
  }
  index[blockIdx.x] = best.index;
}

/// A sample of a softmax by Gumbel noise, one warp a row.
__global__ void gumbel_sample(int64_t* index, const float* x, const float* uniform, int cols,
                              float temperature) {
  const int64_t base = int64_t{blockIdx.x} * cols;
  Best best = {-INFINITY, 0x7fffffff};
  for (int i = threadIdx.x; i < cols; i += 32) {
    const float score = x[base + i] / temperature - logf(-logf(uniform[base + i]));
    if (score > best.score || (score == best.score && i < best.index)) best = {score, i};
  }
  best = warp_best(best);
  if (threadIdx.x == 0) index[blockIdx.x] = best.index;
}

/// The nearest code by |c|^2 - 2 x c, one warp a row.
__global__ void nearest_code(int* index, const float* x, const float* code, int depth, int codes) {
  Best best = {-INFINITY, 0x7fffffff};
  for (int k = threadIdx.x; k < codes; k += 32) {
    float cc = 0.0f;
    float xc = 0.0f;
    for (int d = 0; d < depth; ++d) {
      const float v = code[k * depth + d];
      cc += v * v;
      xc += x[int64_t{blockIdx.x} * depth + d] * v;
    }
    const float nearness = -(cc - 2.0f * xc);
    if (nearness > best.score || (nearness == best.score && k < best.index)) best = {nearness, k};
  }
  best = warp_best(best);
  if (threadIdx.x == 0) index[blockIdx.x] = best.index;
}

/// Keeps the probabilities before which less than `top` lies, and divides them by their sum.
template <int BLOCK>
__global__ void top_p_renormalize(float* y, const float* p, int cols, float top) {
  __shared__ float sums[BLOCK];
  __shared__ float partial[BLOCK / 32];
  const int64_t base = int64_t{blockIdx.x} * cols;
  const int each = (cols + BLOCK - 1) / BLOCK;
  const int first = min(cols, int(threadIdx.x) * each);
  const int last = min(cols, first + each);
  float sum = 0.0f;
  for (int i = first; i < last; ++i) sum += p[base + i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int back = 1; back < BLOCK; back *= 2) {
    const float v = threadIdx.x >= back ? sums[threadIdx.x - back] : 0.0f;
    __syncthreads();
    sums[threadIdx.x] += v;
    __syncthreads();
  }
  float before = threadIdx.x > 0 ? sums[threadIdx.x - 1] : 0.0f;
  float kept = 0.0f;
  int end = first;
  for (int i = first; i < last; ++i) {
    if (before < top) {
      kept += p[base + i];
      end = i + 1;
    }
    before += p[base + i];
  }
  const float total = block_reduce<BLOCK>(kept, Sum(), partial);
  for (int i = first; i < last; ++i) y[base + i] = i < end ? p[base + i] / total : 0.0f;
}

/// Rows sorted by exp(x), descending, by insertion; one thread a row.
__global__ void sort_by_exp(float* y, int* index, const float* x, int cols) {
  const int64_t base = int64_t{blockIdx.x} * cols;
  for (int i = 0; i < cols; ++i) {
    const float e = expf(x[base + i]);
    int j = i;
    for (; j > 0 && y[base + j - 1] < e; --j) {
      y[base + j] = y[base + j - 1];
      index[base + j] = index[base + j - 1];
    }
    y[base + j] = e;
    index[base + j] = i;
  }
}

/// Rows of at most N keys in shared memory, ascending by (key, index), NaN last; N / 2 threads a
/// row.
template <typename T, int N>
__global__ void sort_bitonic(T* values, int* indices, const T* x, int cols) {
  __shared__ unsigned key[N];
  __shared__ int index[N];
  const int64_t base = int64_t{blockIdx.x} * cols;
  for (int i = threadIdx.x; i < N; i += N / 2) {
    key[i] = 0xffffffffu;
    index[i] = i;
    if (i >= cols) continue;
    const float v = to_float(x[base + i]);
    const unsigned bits = __float_as_uint(v == 0.0f ? 0.0f : v);
    key[i] = isnan(v) ? 0xfffffffeu : bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  }
  __syncthreads();
  for (int size = 2; size <= N; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      const int a = 2 * stride * (threadIdx.x / stride) + threadIdx.x % stride;
      const int b = a + stride;
      const bool greater = key[a] > key[b] || (key[a] == key[b] && index[a] > index[b]);
      if (greater == ((a & size) == 0)) {
        const unsigned k = key[a];
        key[a] = key[b];
        key[b] = k;
        const int i = index[a];
        index[a] = index[b];
        index[b] = i;
      }
      __syncthreads();
    }
  }
  for (int i = threadIdx.x; i < cols; i += N / 2) {
    values[base + i] = x[base + index[i]];
    indices[base + i] = index[i];
  }
}

/// Logits of tokens that occurred become smaller, in place.
template <typename T>
__global__ void repetition_penalty(T* logits, const int* ids, int vocabulary, int count,
                                   float penalty) {
  for (int j = threadIdx.x; j < count; j += blockDim.x) {
    T* at = logits + int64_t{blockIdx.x} * vocabulary + ids[j];
    const float v = to_float(*at);
    *at = from_float<T>(v > 0.0f ? v / penalty : v * penalty);
  }
}
