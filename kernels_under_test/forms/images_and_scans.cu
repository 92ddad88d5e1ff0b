// Resizing and rearranging of planes, reductions of segments, recurrences along a row.
#include "../kernels/device_helpers.cuh"

/// Bilinear resize of planes, half-pixel centres.
template <typename T>
__global__ void resize_bilinear(T* y, const T* x, int64_t n, int height, int width, int out_height,
                                int out_width, float y_scale, float x_scale) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const T* plane = x + i / out_width / out_height * height * width;
  const float fy = fmaxf((int(i / out_width % out_height) + 0.5f) * y_scale - 0.5f, 0.0f);
  const float fx = fmaxf((int(i % out_width) + 0.5f) * x_scale - 0.5f, 0.0f);
  const int y0 = min(int(fy), height - 1);
  const int x0 = min(int(fx), width - 1);
  const int y1 = min(y0 + 1, height - 1);
  const int x1 = min(x0 + 1, width - 1);
  const float ay = fminf(fy - y0, 1.0f);
  const float ax = fminf(fx - x0, 1.0f);
  const float top =
      (1.0f - ax) * to_float(plane[y0 * width + x0]) + ax * to_float(plane[y0 * width + x1]);
  const float bottom =
      (1.0f - ax) * to_float(plane[y1 * width + x0]) + ax * to_float(plane[y1 * width + x1]);
  y[i] = from_float<T>((1.0f - ay) * top + ay * bottom);
}

/// Nearest-neighbour resize by integer arithmetic.
template <typename T>
__global__ void resize_nearest(T* y, const T* x, int64_t n, int height, int width, int out_height,
                               int out_width) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int64_t row = i / out_width % out_height * height / out_height;
  const int64_t col = i % out_width * width / out_width;
  y[i] = x[(i / out_width / out_height * height + row) * width + col];
}

/// Sum and maximum of sorted segments given by offsets, one warp a segment.
template <typename T>
__global__ void segment_reduce(T* sum, T* most, const T* x, const int* offset, int segments) {
  const int segment = blockIdx.x * blockDim.y + threadIdx.y;
  if (segment >= segments) return;
  float total = 0.0f;
  float largest = -INFINITY;
  for (int i = offset[segment] + threadIdx.x; i < offset[segment + 1]; i += 32) {
    total += to_float(x[i]);
    largest = fmaxf(largest, to_float(x[i]));
  }
  total = warp_reduce(total, Sum());
  largest = warp_reduce(largest, Max());
  if (threadIdx.x == 0) {
    sum[segment] = from_float<T>(total);
    most[segment] = from_float<T>(largest);
  }
}

/// Running maximum of a row by scans of a warp.
__global__ void cummax(float* y, const float* x, int cols) {
  const int64_t base = int64_t{blockIdx.x} * cols;
  float carried = -INFINITY;
  for (int first = 0; first < cols; first += 32) {
    const int i = first + threadIdx.x;
    float v = i < cols ? x[base + i] : -INFINITY;
    for (int back = 1; back < 32; back *= 2) {
      const float other = __shfl_up_sync(0xffffffffu, v, back);
      if (threadIdx.x >= back) v = fmaxf(v, other);
    }
    v = fmaxf(v, carried);
    if (i < cols) y[base + i] = v;
    carried = __shfl_sync(0xffffffffu, v, 31);
  }
}

/// One step of a selective state-space model: the state kept in T, y = sum(state c) + d x.
template <typename T>
__global__ void state_space_step(T* state, T* y, const T* x, const T* dt, const float* a,
                                 const T* b, const T* c, const float* d, int channels, int states) {
  const int channel = blockIdx.x * blockDim.x + threadIdx.x;
  if (channel >= channels) return;
  const int64_t at = int64_t{blockIdx.y} * channels + channel;
  const float v = to_float(x[at]);
  const float raw = to_float(dt[at]);
  const float step = raw <= 20.0f ? log1pf(expf(raw)) : raw;
  float sum = 0.0f;
  for (int k = 0; k < states; ++k) {
    const int64_t row = int64_t{blockIdx.y} * states + k;
    const float next = to_float(state[at * states + k]) * expf(step * a[channel * states + k]) +
                       step * to_float(b[row]) * v;
    state[at * states + k] = from_float<T>(next);
    sum += next * to_float(c[row]);
  }
  y[at] = from_float<T>(sum + d[channel] * v);
}
