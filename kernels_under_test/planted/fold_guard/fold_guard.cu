// A vector added to each of many small rows; a batch beyond 65535 is folded onto grid.y and grid.z.
//
// Field report: pytorch/pytorch#178617, class 2 (grid limits). The fold's last slice is rarely
// full, and its blocks past the batch are not sent home.
// Seen by: reads and writes past the end, from batch 65536 on.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void add_vector(T* y, const T* x, const T* v, int64_t batch, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int64_t b = int64_t{blockIdx.z} * 65535 + blockIdx.y;
#ifdef PLANTED
  if (i >= n) return;
#else
  if (i >= n || b >= batch) return;
#endif
  y[b * n + i] = from_float<T>(to_float(x[b * n + i]) + to_float(v[i]));
}
