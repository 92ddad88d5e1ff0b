// Softmax of rows, one warp a row: up to 256 columns wait in registers, wider rows are read three
// times.
//
// Field report: linkedin/Liger-Kernel#1252, class 3 (sizes). The width in registers is clipped to
// its maximum, and then compared with it: the wide path is never taken, and columns from 256 on are
// not looked at.
// Seen by: the oracle (mismatch, unwritten).
#include "../../kernels/device_helpers.cuh"

constexpr int kItems = 8;
constexpr int kWidest = 32 * kItems;

template <typename T>
__device__ void narrow_row(T* y, const T* x, int cols) {
  float v[kItems];
  float m = -INFINITY;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int col = threadIdx.x + 32 * i;
    v[i] = col < cols ? to_float(x[col]) : -INFINITY;
    m = fmaxf(m, v[i]);
  }
  m = warp_reduce(m, Max());
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const bool inside = threadIdx.x + 32 * i < cols;
    v[i] = inside ? expf(v[i] - m) : 0.0f;
    sum += v[i];
  }
  sum = warp_reduce(sum, Sum());
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int col = threadIdx.x + 32 * i;
    if (col < cols) y[col] = from_float<T>(v[i] / sum);
  }
}

template <typename T>
__device__ void wide_row(T* y, const T* x, int cols) {
  float m = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += 32) m = fmaxf(m, to_float(x[i]));
  m = warp_reduce(m, Max());
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) sum += expf(to_float(x[i]) - m);
  sum = warp_reduce(sum, Sum());
  for (int i = threadIdx.x; i < cols; i += 32) y[i] = from_float<T>(expf(to_float(x[i]) - m) / sum);
}

template <typename T>
__global__ void softmax(T* y, const T* x, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  y += row * cols;
  x += row * cols;
#ifdef PLANTED
  const int width = min(cols, kWidest);
#else
  const int width = cols;
#endif
  if (width <= kWidest) {
    narrow_row(y, x, cols);
  } else {
    wide_row(y, x, cols);
  }
}
