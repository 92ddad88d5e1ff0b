// The k largest of each row with their indices, one warp a row: k times the best of what comes
// after the last one taken.
//
// Field report: pytorch/pytorch#127196, class 11 (ties): which of equal elements are taken differs
// from device to device. The contract here says the first ones; the order puts later ones before.
// Seen by: the oracle (a tie broken against the policy).
#include "../../kernels/device_helpers.cuh"

/// Index -1 stands for nothing.
struct Candidate {
  float value;
  int index;
};

__device__ inline bool before(Candidate a, Candidate b) {
  if (b.index < 0 || a.index < 0) return a.index >= 0;
  if (a.value != b.value) return a.value > b.value;
#ifdef PLANTED
  return a.index > b.index;
#else
  return a.index < b.index;
#endif
}

template <typename T>
__global__ void best_k(T* values, int32_t* indices, const T* x, int rows, int cols, int k) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * cols;
  Candidate last{0.0f, -1};
  for (int j = 0; j < k; ++j) {
    Candidate best{0.0f, -1};
    for (int i = threadIdx.x; i < cols; i += 32) {
      const Candidate c{to_float(x[i]), i};
      if ((j == 0 || before(last, c)) && before(c, best)) best = c;
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
