// f64 rounded to half precision.
//
// Field report: linkedin/Liger-Kernel#1432 for a rounding too many, class 6 (accumulation). The
// number is rounded to f32 on the way: what lies just beside the middle of two neighbours falls on
// the middle, and is then rounded to even.
// Seen by: the oracle (mismatch), next to ties.
#include "../../kernels/device_helpers.cuh"

__device__ inline void round_to(__half& y, double x) { y = __double2half(x); }
__device__ inline void round_to(__nv_bfloat16& y, double x) { y = __double2bfloat16(x); }

template <typename T>
__global__ void narrow(T* y, const double* x, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
#ifdef PLANTED
  y[i] = from_float<T>(static_cast<float>(x[i]));
#else
  round_to(y[i], x[i]);
#endif
}
