// Depthwise causal convolution over the last dimension with bias and, at will, silu, as state-space
// models have it. A state holds the W - 1 inputs before the first and takes the last W - 1 in turn.
// One block a channel of a sequence, which walks over it in chunks.
#include "device_helpers.cuh"

template <typename T, int W, int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    causal_conv1d(T* y, T* state, const T* x, const T* weight, const T* bias, int64_t x_batch,
                  int64_t x_channel, int channels, int length, bool activate) {
  constexpr int kPast = W - 1;
  __shared__ float window[kPast + BLOCK];  // the past of a chunk, then the chunk
  const int channel = blockIdx.y;
  const int64_t row = int64_t{blockIdx.x} * channels + channel;
  x += blockIdx.x * x_batch + channel * x_channel;
  y += row * length;
  state += row * kPast;

  float taps[W];
#pragma unroll
  for (int k = 0; k < W; ++k) taps[k] = to_float(weight[int64_t{channel} * W + k]);
  const float start = to_float(bias[channel]);
  if (threadIdx.x < kPast) window[threadIdx.x] = to_float(state[threadIdx.x]);
  for (int first = 0; first < length; first += BLOCK) {
    const int i = first + threadIdx.x;
    if (i < length) window[kPast + threadIdx.x] = to_float(x[i]);
    __syncthreads();
    if (i < length) {
      float sum = start;
#pragma unroll
      for (int k = 0; k < W; ++k) sum += taps[k] * window[threadIdx.x + k];
      y[i] = from_float<T>(activate ? sum / (1.0f + expf(-sum)) : sum);
    }
    float past = 0.0f;
    if (threadIdx.x < kPast) past = window[min(BLOCK, length - first) + threadIdx.x];
    __syncthreads();
    if (threadIdx.x < kPast) window[threadIdx.x] = past;
  }
  // Each of these threads wrote its own element of the past.
  if (threadIdx.x < kPast) state[threadIdx.x] = from_float<T>(window[threadIdx.x]);
}
