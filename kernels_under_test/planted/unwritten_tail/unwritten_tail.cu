// Elements times a factor, four at a time.
//
// Field report: microsoft/onnxruntime#32299 and ROCm/FlyDSL#979 for the symptom, class 3 (tails).
// The grid covers whole groups of four; the one to three elements that remain are never written.
// Seen by: unwritten elements, wherever n is no multiple of 4.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void scale(T* y, const T* x, int64_t n, float factor) {
  constexpr int V = 4;
  const int64_t i = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * V;
  if (i + V <= n) {
    Vector<T, V> v = load<V>(x + i);
#pragma unroll
    for (int j = 0; j < V; ++j) v.at[j] = from_float<T>(to_float(v.at[j]) * factor);
    store(y + i, v);
  }
#ifndef PLANTED
  else {
    for (int64_t j = i; j < n; ++j) y[j] = from_float<T>(to_float(x[j]) * factor);
  }
#endif
}
