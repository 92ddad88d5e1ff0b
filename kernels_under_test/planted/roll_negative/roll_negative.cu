// A ring shifted by some places.
//
// Field report: triton-lang/triton#619, class 7 (integer semantics), as an index. % takes the sign
// of the dividend, so the first places are looked for before the buffer.
// Seen by: a read outside the buffer.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void roll(T* y, const T* x, int64_t n, int shift) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int64_t from = (i - shift) % n;
#ifndef PLANTED
  if (from < 0) from += n;
#endif
  y[i] = x[from];
}
