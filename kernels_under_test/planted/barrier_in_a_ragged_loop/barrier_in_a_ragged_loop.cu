// Each element of a row less the one before it, by tiles of BLOCK elements in shared memory; one block
// a row.
//
// Mutation of our cumsum, class 8 (what threads and blocks share): the loop over tiles ends for each
// thread where its own elements end, with the barriers inside. Threads behind the row's end leave, and
// those of the last tile wait for them; on cards that count who has exited they get away with it.
// Seen by: the barrier check, wherever BLOCK does not divide the row's length.
#include "../../kernels/device_helpers.cuh"

template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK) differences(T* y, const T* x, int cols) {
  __shared__ float tile[BLOCK + 1];
  x += int64_t{blockIdx.x} * cols;
  y += int64_t{blockIdx.x} * cols;
#ifdef PLANTED
  for (int i = threadIdx.x; i < cols; i += BLOCK) {
#else
  for (int i = threadIdx.x; i - threadIdx.x < cols; i += BLOCK) {
#endif
    if (i < cols) tile[threadIdx.x + 1] = to_float(x[i]);
    if (threadIdx.x == 0) tile[0] = i > 0 ? to_float(x[i - 1]) : 0.0f;
    __syncthreads();
    if (i < cols) y[i] = from_float<T>(tile[threadIdx.x + 1] - tile[threadIdx.x]);
    __syncthreads();
  }
}
