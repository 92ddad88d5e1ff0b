// Running sums along each row, an element left out of its own sum: tiles with a carry.
//
// Mutation of kernels/cumsum.cu, class 6 (accumulation): the carry to the next tile is taken before
// the last warp's total is in it. Seen by: the oracle (mismatch), for rows longer than a tile.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void exclusive_sums(T* y, const T* x, int cols) {
  constexpr int kWarps = 4;
  __shared__ float totals[kWarps];
  x += int64_t{blockIdx.x} * cols;
  y += int64_t{blockIdx.x} * cols;
  const int warp = threadIdx.x / 32;
  float carry = 0.0f;
  for (int tile = 0; tile < cols; tile += 128) {
    const int i = tile + threadIdx.x;
    const float own = i < cols ? to_float(x[i]) : 0.0f;
    float sum = own;
    for (int lane = 1; lane < 32; lane *= 2) {
      const float before = __shfl_up_sync(0xffffffffu, sum, lane);
      if (threadIdx.x % 32 >= lane) sum += before;
    }
    float exclusive = __shfl_up_sync(0xffffffffu, sum, 1);
    if (threadIdx.x % 32 == 0) exclusive = 0.0f;
    if (threadIdx.x % 32 == 31) totals[warp] = sum;
    __syncthreads();
    float before = carry;
    for (int w = 0; w < kWarps; ++w) {
      if (w == warp) exclusive += before;
#ifdef PLANTED
      carry = before;
#endif
      before += totals[w];
    }
#ifndef PLANTED
    carry = before;
#endif
    if (i < cols) y[i] = from_float<T>(exclusive);
    __syncthreads();
  }
}
