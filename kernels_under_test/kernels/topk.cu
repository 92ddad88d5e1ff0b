// The k largest of each row with their indices, in descending order; of equal elements the first
// ones; NaN is larger than any number. One warp a row takes the best of what comes after the last
// one taken, k times, as the gates of a mixture of experts do.
#include "device_helpers.cuh"

struct Candidate {
  float value;
  int index;
};

/// The ranking: NaN before all, larger before smaller, lower indices before higher.
__device__ inline bool before(Candidate a, Candidate b) {
  const bool a_nan = a.value != a.value;
  const bool b_nan = b.value != b.value;
  const bool equal = a.value == b.value || (a_nan && b_nan);
  return equal ? a.index < b.index : a_nan || (!b_nan && a.value > b.value);
}

template <typename T, int WARPS>
__global__ void __launch_bounds__(32 * WARPS)
    topk(T* values, int64_t* indices, const T* x, int64_t x_stride, int rows, int cols, int k) {
  const int64_t row = int64_t{blockIdx.x} * WARPS + threadIdx.y;
  if (row >= rows) return;  // whole warps leave together
  x += row * x_stride;
  Candidate last{NAN, -1};  // before every element
  for (int j = 0; j < k; ++j) {
    Candidate best{-INFINITY, 0x7fffffff};
    for (int i = threadIdx.x; i < cols; i += 32) {
      const Candidate c{to_float(x[i]), i};
      if (before(last, c) && before(c, best)) best = c;
    }
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2) {
      const Candidate other{__shfl_xor_sync(0xffffffffu, best.value, lane),
                            __shfl_xor_sync(0xffffffffu, best.index, lane)};
      if (before(other, best)) best = other;
    }
    if (threadIdx.x == 0) {
      values[row * k + j] = x[best.index];
      indices[row * k + j] = best.index;
    }
    last = best;
  }
}
