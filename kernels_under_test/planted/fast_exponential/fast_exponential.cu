// Exponential, elementwise.
//
// Mutation of our unary, class 6 (accuracy): the intrinsic, whose error grows with |x| (2 + 1.16
// |x| ulps are documented), in the place of expf, which keeps to 1.
// Seen by: the oracle (mismatch), for arguments away from 0.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void exponential(T* y, const T* x, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
#ifdef PLANTED
  y[i] = from_float<T>(__expf(to_float(x[i])));
#else
  y[i] = from_float<T>(expf(to_float(x[i])));
#endif
}
