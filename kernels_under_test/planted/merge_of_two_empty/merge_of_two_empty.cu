// Two partial outputs of attention merged by the logarithms of their sums of weights, a block a
// row. A state without keys has -inf.
//
// Mutation of our attention_decode, class 4 (masked rows): where both states are empty, their
// maximum is -inf too and the difference NaN. One empty state is right.
// Seen by: the oracle (mismatch: NaN).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void merge_states(T* o, float* lse, const T* a, const float* a_lse, const T* b,
                             const float* b_lse) {
  const int64_t row = blockIdx.x;
  const int64_t at = row * blockDim.x + threadIdx.x;
  const float la = a_lse[row], lb = b_lse[row];
  float m = fmaxf(la, lb);
#ifndef PLANTED
  if (m == -INFINITY) {
    if (threadIdx.x == 0) lse[row] = m;
    o[at] = from_float<T>(0.0f);
    return;
  }
#endif
  const float wa = expf(la - m), wb = expf(lb - m);
  if (threadIdx.x == 0) lse[row] = logf(wa + wb) + m;
  o[at] = from_float<T>((to_float(a[at]) * wa + to_float(b[at]) * wb) / (wa + wb));
}
