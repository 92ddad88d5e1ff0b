// Numbers to fixed point: scaled, then truncated.
//
// Mutation of our cast, class 7 (cast semantics): the conversion is written around the number
// instead of around the product, and what stood behind the point is gone. Integers are right.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void to_fixed(int32_t* y, const T* x, int64_t n, float scale) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
#ifdef PLANTED
  y[i] = static_cast<int>(to_float(x[i])) * static_cast<int>(scale);
#else
  y[i] = static_cast<int>(to_float(x[i]) * scale);
#endif
}
