// y[i] = x[i] - x[i - 1] along a row, called in place or not.
//
// Class 10 (aliasing), of a form that delta codes and token shifts have: every thread reads its
// neighbour's element. The fault stores as soon as it has read, which is right where y is a buffer of
// its own; in place a neighbour may find the difference where it looks for the element. The twin
// reads a whole tile, and the tile's last element for the next one, before any thread stores. Seen
// by: the race checker, in place alone.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void difference(T* y, const T* x, int cols) {
  x += int64_t{blockIdx.x} * cols;
  y += int64_t{blockIdx.x} * cols;
#ifdef PLANTED
  for (int i = threadIdx.x; i < cols; i += 128) {
    const float before = i > 0 ? to_float(x[i - 1]) : 0.0f;
    const float difference = to_float(x[i]) - before;
    y[i] = from_float<T>(difference);
  }
#else
  float carried = 0.0f;  // the element before the tile
  for (int start = 0; start < cols; start += 128) {
    const int i = start + threadIdx.x;
    float here = 0.0f, before = 0.0f, last = 0.0f;
    if (i < cols) {
      here = to_float(x[i]);
      before = threadIdx.x > 0 ? to_float(x[i - 1]) : carried;
    }
    if (start + 128 < cols) last = to_float(x[start + 127]);
    __syncthreads();
    if (i < cols) y[i] = from_float<T>(here - before);
    carried = last;
  }
#endif
}
