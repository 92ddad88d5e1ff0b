// Rows less their mean, divided by their deviation, one warp a row: each lane keeps a mean and a
// sum of squares by Welford's updates, Chan's formula merges two lanes.
//
// Mutation of our layer_norm_welford, class 3 (tails): the merge divides by the count of both.
// Where a row has fewer columns than half a warp, two lanes without any meet.
// Seen by: the oracle (mismatch: NaN).
#include "../../kernels/device_helpers.cuh"

struct Moments {
  float mean, squares, count;
};

__device__ inline Moments merged(Moments a, Moments b) {
#ifndef PLANTED
  if (a.count == 0.0f) return b;
  if (b.count == 0.0f) return a;
#endif
  const float count = a.count + b.count;
  const float share = b.count / count;
  const float delta = b.mean - a.mean;
  return {a.mean + delta * share, a.squares + b.squares + delta * delta * a.count * share, count};
}

template <typename T>
__global__ void welford_norm(T* y, const T* x, int64_t x_stride, int64_t rows, int cols,
                             float eps) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  y += row * cols;
  Moments m{0.0f, 0.0f, 0.0f};
  for (int i = threadIdx.x; i < cols; i += 32) {
    const float v = to_float(x[i]);
    m.count += 1.0f;
    const float delta = v - m.mean;
    m.mean += delta / m.count;
    m.squares += delta * (v - m.mean);
  }
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2)
    m = merged(m, {__shfl_xor_sync(0xffffffffu, m.mean, lane),
                   __shfl_xor_sync(0xffffffffu, m.squares, lane),
                   __shfl_xor_sync(0xffffffffu, m.count, lane)});
  // Lanes merge in orders of their own; the first one's result is everybody's.
  const float mean = __shfl_sync(0xffffffffu, m.mean, 0);
  const float scale = rsqrtf(__shfl_sync(0xffffffffu, m.squares, 0) / cols + eps);
  for (int i = threadIdx.x; i < cols; i += 32)
    y[i] = from_float<T>((to_float(x[i]) - mean) * scale);
}
