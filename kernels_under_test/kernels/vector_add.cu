// z = x + y. A thread takes four neighbouring elements at a time and strides over the grid; they
// travel as one vector where the three buffers allow it.
#include "device_helpers.cuh"

template <typename T>
__device__ T add(T a, T b) {
  return from_float<T>(to_float(a) + to_float(b));
}

template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK) vector_add(T* z, const T* x, const T* y, int64_t n) {
  constexpr int V = 4;
  const bool vectors = ((reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y) |
                         reinterpret_cast<uintptr_t>(z)) %
                        sizeof(Vector<T, V>)) == 0;
  const int64_t step = int64_t{gridDim.x} * BLOCK * V;
  for (int64_t i = (int64_t{blockIdx.x} * BLOCK + threadIdx.x) * V; i < n; i += step) {
    if (vectors && i + V <= n) {
      const Vector<T, V> a = load<V>(x + i), b = load<V>(y + i);
      Vector<T, V> sum;
#pragma unroll
      for (int j = 0; j < V; ++j) sum.at[j] = add(a.at[j], b.at[j]);
      store(z + i, sum);
    } else {
      for (int j = 0; j < V && i + j < n; ++j) z[i + j] = add(x[i + j], y[i + j]);
    }
  }
}
