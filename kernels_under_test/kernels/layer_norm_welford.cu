// Layer norm over the columns as torch's native_layer_norm computes it: Welford's updates of mean
// and squared differences in each thread, Chan's merge of two sets of partial moments through
// shuffles and shared memory. One block a row, four elements at a time where every row is of
// aligned vectors of four.
#include "device_helpers.cuh"

struct Moments {
  float mean = 0.0f;
  float squares = 0.0f;
  float count = 0.0f;

  __device__ void update(float x) {
    count += 1.0f;
    const float delta = x - mean;
    mean += delta * (1.0f / count);
    squares += delta * (x - mean);
  }

  __device__ void merge(const Moments& other) {
    const float total = count + other.count;
    if (other.count == 0.0f) return;
    const float share = other.count / total;
    const float delta = other.mean - mean;
    mean += delta * share;
    squares += other.squares + delta * delta * count * share;
    count = total;
  }

  __device__ Moments from_lane_below(int distance) const {
    Moments out;
    out.mean = __shfl_down_sync(0xffffffffu, mean, distance);
    out.squares = __shfl_down_sync(0xffffffffu, squares, distance);
    out.count = __shfl_down_sync(0xffffffffu, count, distance);
    return out;
  }
};

template <typename T, int BLOCK, int V>
__device__ inline void layer_norm_row(T* y, float* mean, float* rstd, const T* x, const T* weight,
                                      const T* bias, int cols, float eps) {
  constexpr int kWarps = BLOCK / 32;
  __shared__ float means[kWarps];
  __shared__ float squares[kWarps];
  __shared__ float counts[kWarps];

  Moments own;
#pragma unroll 1
  for (int i = threadIdx.x * V; i < cols; i += BLOCK * V) {
    const Vector<T, V> v = load<V>(x + i);
#pragma unroll
    for (int j = 0; j < V; ++j) own.update(to_float(v.at[j]));
  }
  for (int distance = 16; distance > 0; distance /= 2) own.merge(own.from_lane_below(distance));
  const int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) {
    means[warp] = own.mean;
    squares[warp] = own.squares;
    counts[warp] = own.count;
  }
  __syncthreads();
  Moments row;
  row.mean = means[0];
  row.squares = squares[0];
  row.count = counts[0];
  for (int w = 1; w < kWarps; ++w) {
    Moments other;
    other.mean = means[w];
    other.squares = squares[w];
    other.count = counts[w];
    row.merge(other);
  }
  const float scale = rsqrtf(row.squares / cols + eps);
  if (threadIdx.x == 0) {
    mean[blockIdx.x] = row.mean;
    rstd[blockIdx.x] = scale;
  }
#pragma unroll 1
  for (int i = threadIdx.x * V; i < cols; i += BLOCK * V) {
    Vector<T, V> v = load<V>(x + i);
    const Vector<T, V> weights = load<V>(weight + i);
    const Vector<T, V> biases = load<V>(bias + i);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      v.at[j] = from_float<T>((to_float(v.at[j]) - row.mean) * scale * to_float(weights.at[j]) +
                              to_float(biases.at[j]));
    }
    store(y + i, v);
  }
}

template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    layer_norm_welford(T* y, float* mean, float* rstd, const T* x, const T* weight, const T* bias,
                       int64_t x_stride, int cols, float eps) {
  x += int64_t{blockIdx.x} * x_stride;
  y += int64_t{blockIdx.x} * cols;
  if (cols % 4 == 0 && aligned<4 * sizeof(T)>(y, x, weight, bias)) {
    layer_norm_row<T, BLOCK, 4>(y, mean, rstd, x, weight, bias, cols, eps);
  } else {
    layer_norm_row<T, BLOCK, 1>(y, mean, rstd, x, weight, bias, cols, eps);
  }
}
