// Depthwise causal convolution over the last dimension with bias and, at will, silu, as state-space
// models have it. A state holds the W - 1 inputs before the first and takes the last W - 1 in turn.
// One block a channel of a sequence, which walks over it in chunks of four inputs a thread, moved
// as vectors where both rows allow them; a thread gets the inputs before its own from the thread
// before it.
#include "device_helpers.cuh"

template <typename T, int W, int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    causal_conv1d(T* y, T* state, const T* x, const T* weight, const T* bias, int64_t x_batch,
                  int64_t x_channel, int channels, int length, bool activate) {
  constexpr int kPast = W - 1;
  constexpr int V = 4;
  static_assert(kPast <= V, "the past lies in one thread");
  __shared__ float pasts[BLOCK][kPast];  // the inputs before those of each thread
  const int channel = blockIdx.y;
  const int64_t row = int64_t{blockIdx.x} * channels + channel;
  x += blockIdx.x * x_batch + channel * x_channel;
  y += row * length;
  state += row * kPast;
  const bool vectors = aligned<V * sizeof(T)>(x, y);

  float taps[W];
#pragma unroll
  for (int k = 0; k < W; ++k) taps[k] = to_float(weight[int64_t{channel} * W + k]);
  const float start = to_float(bias[channel]);
  if (threadIdx.x < kPast) pasts[0][threadIdx.x] = to_float(state[threadIdx.x]);
  for (int first = 0; first < length; first += BLOCK * V) {
    const int i = first + threadIdx.x * V;
    Vector<T, V> v;
    float window[kPast + V];
    if (i < length) {
      v = load_part<V>(x + i, length - i, vectors);
#pragma unroll
      for (int j = 0; j < V; ++j) window[kPast + j] = to_float(v.at[j]);
      if (threadIdx.x < BLOCK - 1) {
#pragma unroll
        for (int k = 0; k < kPast; ++k) pasts[threadIdx.x + 1][k] = window[V + k];
      }
    }
    __syncthreads();
    if (i < length) {
#pragma unroll
      for (int k = 0; k < kPast; ++k) window[k] = pasts[threadIdx.x][k];
#pragma unroll
      for (int j = 0; j < V; ++j) {
        float sum = start;
#pragma unroll
        for (int k = 0; k < W; ++k) sum += taps[k] * window[j + k];
        v.at[j] = from_float<T>(activate ? sum / (1.0f + expf(-sum)) : sum);
      }
      store_part(y + i, v, length - i, vectors);
    }
    if (first + BLOCK * V >= length) break;
    __syncthreads();  // pasts are read before the next chunk's are written
    if (threadIdx.x == BLOCK - 1) {
#pragma unroll
      for (int k = 0; k < kPast; ++k) pasts[0][k] = window[V + k];
    }
  }

  if (threadIdx.x >= 32) return;
  T last;
  const int at = length - kPast + static_cast<int>(threadIdx.x);
  if (threadIdx.x < kPast) last = at >= 0 ? x[at] : state[at + kPast];
  __syncwarp();  // a short sequence moves what the state held
  if (threadIdx.x < kPast) state[threadIdx.x] = last;
}
