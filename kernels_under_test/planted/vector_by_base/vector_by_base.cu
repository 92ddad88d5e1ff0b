// Rows at a stride copied to rows at another, four elements at a time where they lie on 16 bytes.
//
// Field report: triton-lang/triton#1330, class 10 (alignment). The bases are aligned and the
// columns are a multiple of four, so vectors are used; rows at a stride of 1185 start anywhere.
// Seen by: a misaligned access, from the second row on.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void copy_rows(T* y, const T* x, int64_t y_stride, int64_t x_stride, int cols) {
  constexpr int V = 4;
  const T* from = x + int64_t{blockIdx.x} * x_stride;
  T* to = y + int64_t{blockIdx.x} * y_stride;
#ifdef PLANTED
  const bool vectors = aligned16(x, y);
#else
  const bool vectors = aligned16(from, to);
#endif
  const int whole = vectors ? cols / V * V : 0;
  for (int c = threadIdx.x * V; c < whole; c += blockDim.x * V) store(to + c, load<V>(from + c));
  for (int c = whole + threadIdx.x; c < cols; c += blockDim.x) to[c] = from[c];
}
