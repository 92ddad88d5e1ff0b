// Rotary position embedding in place, halves apart (neox).
//
// Mutation of kernels/rope.cu, class 10 (aliasing): the second half is computed from a first half
// that has been overwritten. Seen by: the oracle (mismatch), wherever the angle is not 0.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void rope(T* q, const T* cosines, const T* sines, int half) {
  q += int64_t{blockIdx.x} * (2 * half);
  for (int i = threadIdx.x; i < half; i += 128) {
    const float c = to_float(cosines[int64_t{blockIdx.x} * half + i]);
    const float s = to_float(sines[int64_t{blockIdx.x} * half + i]);
#ifdef PLANTED
    q[i] = from_float<T>(to_float(q[i]) * c - to_float(q[i + half]) * s);
    q[i + half] = from_float<T>(to_float(q[i + half]) * c + to_float(q[i]) * s);
#else
    const float a = to_float(q[i]);
    const float b = to_float(q[i + half]);
    q[i] = from_float<T>(a * c - b * s);
    q[i + half] = from_float<T>(b * c + a * s);
#endif
  }
}
