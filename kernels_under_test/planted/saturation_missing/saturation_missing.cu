// Elements times a scale as int8, to the nearest, saturating.
//
// Field report: sgl-project/sglang#40581 for a cast that mistakes its limits, class 7 (cast
// semantics). The rounded number is cut to eight bits: 128 becomes -128.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void quantise(signed char* q, const T* x, int64_t n, float scale) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = to_float(x[i]) * scale;
#ifdef PLANTED
  q[i] = static_cast<signed char>(__float2int_rn(v));
#else
  q[i] = static_cast<signed char>(__float2int_rn(fminf(fmaxf(v, -128.0f), 127.0f)));
#endif
}
