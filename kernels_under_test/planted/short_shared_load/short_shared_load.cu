// Rows multiplied by a weight that each block keeps in shared memory.
//
// Field report: triton-lang/triton#9230 for what another configuration's values hide, class 12
// (configuration). The weight is loaded one element a thread: a block with fewer threads than
// columns leaves the rest as it was.
// Seen by: a use of shared memory that was never written.
#include "../../kernels/device_helpers.cuh"

template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK) weigh_rows(T* y, const T* x, const T* weight, int cols) {
  extern __shared__ float w[];
#ifdef PLANTED
  if (threadIdx.x < cols) w[threadIdx.x] = to_float(weight[threadIdx.x]);
#else
  for (int c = threadIdx.x; c < cols; c += BLOCK) w[c] = to_float(weight[c]);
#endif
  __syncthreads();
  const int64_t first = int64_t{blockIdx.x} * cols;
  for (int c = threadIdx.x; c < cols; c += BLOCK) {
    y[first + c] = from_float<T>(to_float(x[first + c]) * w[c]);
  }
}
