// Static quantisation to int8: x / scale to the nearest code, saturating.
//
// Mutation of kernels/quantize_int8.cu, class 7 (casts): the float becomes a 32-bit integer first,
// whose low byte wraps: 128 is -128.
// Seen by: the oracle (mismatch), from 127.5 scales on.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void quantize(signed char* y, const T* x, float scale, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int code = __float2int_rn(to_float(x[i]) / scale);
#ifdef PLANTED
  y[i] = static_cast<signed char>(code);
#else
  y[i] = static_cast<signed char>(min(max(code, -128), 127));
#endif
}
