// Product of the two halves of each row, eight elements a load where rows allow it.
//
// Field report: flashinfer-ai/flashinfer#5013, class 10 (alignment). The guard asks whether a whole
// row is a multiple of 16 bytes. A half may be one of 8, and then the second half starts at 8.
// Seen by: a misaligned access, where d is 4 mod 8.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void gate(T* y, const T* x, int d) {
  constexpr int V = 8;
  const T* a = x + int64_t{blockIdx.x} * 2 * d;
  const T* b = a + d;
  y += int64_t{blockIdx.x} * d;
#ifdef PLANTED
  const bool vectors = 2 * d % V == 0;
#else
  const bool vectors = d % V == 0;
#endif
  const int whole = vectors ? d / V * V : 0;
  for (int i = threadIdx.x * V; i < whole; i += blockDim.x * V) {
    const Vector<T, V> u = load<V>(a + i), v = load<V>(b + i);
#pragma unroll
    for (int j = 0; j < V; ++j) y[i + j] = from_float<T>(to_float(u.at[j]) * to_float(v.at[j]));
  }
  for (int i = whole + threadIdx.x; i < d; i += blockDim.x) {
    y[i] = from_float<T>(to_float(a[i]) * to_float(b[i]));
  }
}
