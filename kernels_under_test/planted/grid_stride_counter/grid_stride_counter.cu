// Elements multiplied by 3, in a loop with the grid's stride.
//
// Field report: class 1 (int32 offsets), modelled on bitsandbytes-foundation/bitsandbytes#1784, in
// the loop of our unary kernel. Every index that the loop needs fits in an int. The one at which it
// would stop does not, where n is within one stride of 2^31: the counter turns negative and goes
// on.
// Seen by: the wrap checker, and as accesses before the buffers.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void triple(T* y, const T* x, int n) {
#ifdef PLANTED
  using Counter = int;
#else
  using Counter = int64_t;
#endif
  const Counter first = blockIdx.x * blockDim.x + threadIdx.x;
  for (Counter i = first; i < n; i += gridDim.x * blockDim.x) {
    y[i] = from_float<T>(3.0f * to_float(x[i]));
  }
}
