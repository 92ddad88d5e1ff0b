// silu of the first half of a row times the second half, a block a row.
//
// Mutation of our silu_and_mul, class 10 (layouts): checkpoints differ in which half is the gate;
// here it is taken to be the second.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void silu_and_mul(T* y, const T* x, int d) {
  y += int64_t{blockIdx.x} * d;
  x += int64_t{blockIdx.x} * 2 * d;
  for (int i = threadIdx.x; i < d; i += blockDim.x) {
#ifdef PLANTED
    const float gate = to_float(x[i + d]), up = to_float(x[i]);
#else
    const float gate = to_float(x[i]), up = to_float(x[i + d]);
#endif
    y[i] = from_float<T>(gate / (1.0f + expf(-gate)) * up);
  }
}
