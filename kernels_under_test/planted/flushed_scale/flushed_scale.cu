// Elements multiplied by a scalar; subnormal results are kept.
//
// Field report: pytorch/pytorch#188546, class 5 (range). One instruction of the chain flushes
// subnormal numbers to 0, though the contract keeps them.
// Seen by: the oracle (mismatch), for results or inputs below 1.2e-38.
#include "../../kernels/device_helpers.cuh"

__device__ inline float times(float a, float b) {
#ifdef PLANTED
  float product;
  asm("mul.ftz.f32 %0, %1, %2;" : "=f"(product) : "f"(a), "f"(b));
  return product;
#else
  return a * b;
#endif
}

template <typename T>
__global__ void scale(T* y, const T* x, int64_t n, float factor) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = from_float<T>(times(to_float(x[i]), factor));
}
