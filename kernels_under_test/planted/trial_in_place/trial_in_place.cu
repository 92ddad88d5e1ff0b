// A vector added in place. The first launch is a trial for the clock, the second the run that
// counts.
//
// Field report: triton-lang/triton#781, class 12 (configuration): autotuning runs an in-place
// kernel once a configuration. The trial works on the operand and not on a copy of it, so the first
// call adds twice; the second, whose configuration is known, is right.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__device__ void add(T* to, const T* x, const T* y, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from_float<T>(to_float(x[i]) + to_float(y[i]));
}

template <typename T>
__global__ void trial(T* x, T* scratch, const T* y, int64_t n) {
#ifdef PLANTED
  add(x, x, y, n);
#else
  add(scratch, x, y, n);
#endif
}

template <typename T>
__global__ void add_in_place(T* x, const T* y, int64_t n) {
  add(x, x, y, n);
}
