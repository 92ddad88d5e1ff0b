// Vectors doubled. A call notes its size when it is made; the work of all calls is done afterwards.
//
// Field report: pytorch/pytorch#120801, class 9 (specialisation on values). What a call captures is the
// variable, not what it holds: when the first call's work is done it holds the second call's size.
// Equal sizes are right. (Two calls of one process are launches here, the variable is a workspace.)
// Seen by: unwritten elements, where the second size is less; as reads and writes past the end, where it
// is larger.
#include "../../kernels/device_helpers.cuh"

__global__ void capture(int* captured, int call, int n) {
#ifdef PLANTED
  captured[0] = n;
#else
  captured[call] = n;
#endif
}

template <typename T>
__global__ void run(T* y, const T* x, const int* captured, int call) {
#ifdef PLANTED
  const int n = captured[0];
#else
  const int n = captured[call];
#endif
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    y[i] = from_float<T>(2.0f * to_float(x[i]));
  }
}
