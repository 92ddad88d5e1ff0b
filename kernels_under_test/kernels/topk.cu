// The k largest of each row with their indices, in descending order; of equal elements the first
// ones; NaN is larger than any number. One warp a row takes the best of what comes after the last
// one taken, k times, as the gates of a mixture of experts do; value and index are one key, whose
// order is the ranking. 16 bytes at a time where the row starts on 16 bytes.
#include "device_helpers.cuh"

/// Larger where the element comes first: NaN before all, larger before smaller, lower indices
/// before higher. Never 0 and never the largest of its type.
__device__ inline uint64_t key_of(float value, int index) {
  const uint32_t bits = __float_as_uint(value + 0.0f);  // -0 as 0
  uint32_t order = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  if (value != value) order = 0xffffffffu;
  return uint64_t{order} << 32 | static_cast<uint32_t>(0x7fffffff - index);
}

template <typename T, int WARPS>
__global__ void __launch_bounds__(32 * WARPS)
    topk(T* values, int64_t* indices, const T* x, int64_t x_stride, int rows, int cols, int k) {
  const int64_t row = int64_t{blockIdx.x} * WARPS + threadIdx.y;
  if (row >= rows) return;  // whole warps leave together
  x += row * x_stride;
  constexpr int V = 16 / sizeof(T);
  const int whole = aligned16(x) ? cols / V * V : 0;
  uint64_t last = ~uint64_t{0};  // before every element
  for (int j = 0; j < k; ++j) {
    uint64_t best = 0;  // after every element
    const auto consider = [&](T value, int index) {
      const uint64_t key = key_of(to_float(value), index);
      if (key < last && key > best) best = key;
    };
#pragma unroll 1
    for (int i = threadIdx.x * V; i < whole; i += 32 * V) {
      const Vector<T, V> v = load<V>(x + i);
#pragma unroll
      for (int n = 0; n < V; ++n) consider(v.at[n], i + n);
    }
#pragma unroll 1
    for (int i = whole + threadIdx.x; i < cols; i += 32) consider(x[i], i);
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2) {
      const uint64_t other = __shfl_xor_sync(0xffffffffu, best, lane);
      if (other > best) best = other;
    }
    if (threadIdx.x == 0) {
      const int index = 0x7fffffff - static_cast<int>(static_cast<uint32_t>(best));
      values[row * k + j] = x[index];
      indices[row * k + j] = index;
    }
    last = best;
  }
}
