// Elements plus a scalar.
//
// Field report: triton-lang/triton#7439, class 7 (cast semantics). The argument is a float and is
// read as a half: the first two of its bytes, which are 0 for 42.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

extern "C" __global__ void add_scalar(__half* y, const __half* x, int64_t n, float value) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
#ifdef PLANTED
  const float v = to_float(*reinterpret_cast<const __half*>(&value));
#else
  const float v = value;
#endif
  y[i] = from_float<__half>(to_float(x[i]) + v);
}
