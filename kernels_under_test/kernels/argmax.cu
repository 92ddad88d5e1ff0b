// Index of the largest element of each row, the first of equal ones; NaN is larger than any number,
// as in the tensor libraries. One warp a row, WARPS rows a block; 16 bytes at a time where the row
// starts on 16 bytes.
#include "device_helpers.cuh"

struct Best {
  float value;
  int index;
};

/// The one that comes first among the larger: NaN before all, lower indices before higher.
__device__ inline Best better(Best a, Best b) {
  const bool a_nan = a.value != a.value;
  const bool b_nan = b.value != b.value;
  const bool equal = a.value == b.value || (a_nan && b_nan);
  const bool first = equal ? a.index < b.index : a_nan || (!b_nan && a.value > b.value);
  return first ? a : b;
}

template <typename T, int WARPS>
__global__ void __launch_bounds__(32 * WARPS)
    argmax(int64_t* index, const T* x, int64_t x_stride, int rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * WARPS + threadIdx.y;
  if (row >= rows) return;  // whole warps leave together
  x += row * x_stride;
  constexpr int V = 16 / sizeof(T);
  const int whole = aligned16(x) ? cols / V * V : 0;
  // A thread meets its elements in order: none replaces an equal one, nor anything a NaN.
  const int vector = threadIdx.x * V;
  const int start = vector < whole ? vector : whole + threadIdx.x;
  Best best{-INFINITY, start < cols ? start : 0x7fffffff};
  const auto consider = [&](float value, int i) {
    if (best.value == best.value && !(value <= best.value)) best = Best{value, i};
  };
#pragma unroll 1
  for (int i = vector; i < whole; i += 32 * V) {
    const Vector<T, V> v = load<V>(x + i);
#pragma unroll
    for (int j = 0; j < V; ++j) consider(to_float(v.at[j]), i + j);
  }
#pragma unroll 1
  for (int i = whole + threadIdx.x; i < cols; i += 32) consider(to_float(x[i]), i);
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) {
    const Best other{__shfl_xor_sync(0xffffffffu, best.value, lane),
                     __shfl_xor_sync(0xffffffffu, best.index, lane)};
    best = better(best, other);
  }
  if (threadIdx.x == 0) index[row] = best.index;
}
