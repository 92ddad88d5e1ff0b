// Running sums along each row, in f32: one block a row, a tile of BLOCK elements at a time. Warps
// scan their elements with shuffles, then add what lies before them; `carry` takes the row's sum
// from tile to tile. `REVERSED` runs from each row's end to its beginning; `EXCLUSIVE` leaves an
// element out of its own sum.
#include "device_helpers.cuh"

__device__ inline float warp_scan(float v) {
#pragma unroll
  for (int lane = 1; lane < 32; lane *= 2) {
    const float before = __shfl_up_sync(0xffffffffu, v, lane);
    if (threadIdx.x % 32 >= lane) v += before;
  }
  return v;
}

template <typename T, int BLOCK, bool REVERSED = false, bool EXCLUSIVE = false>
__global__ void __launch_bounds__(BLOCK) cumsum(T* y, const T* x, int64_t x_stride, int cols) {
  constexpr int kWarps = BLOCK / 32;
  __shared__ float totals[kWarps];
  x += int64_t{blockIdx.x} * x_stride;
  y += int64_t{blockIdx.x} * cols;
  const int warp = threadIdx.x / 32;
  float carry = 0.0f;
  for (int tile = 0; tile < cols; tile += BLOCK) {
    // The element that this thread adds, and the one whose sum it then holds.
    const int i = tile + threadIdx.x;
    const int from = (REVERSED ? cols - 1 - i : i) - (EXCLUSIVE ? (REVERSED ? -1 : 1) : 0);
    const bool inside = i < cols && from >= 0 && from < cols;
    float sum = warp_scan(inside ? to_float(x[from]) : 0.0f);
    if (threadIdx.x % 32 == 31) totals[warp] = sum;
    __syncthreads();
    float before = carry;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      if (w == warp) sum += before;
      before += totals[w];
    }
    carry = before;
    if (i < cols) y[REVERSED ? cols - 1 - i : i] = from_float<T>(sum);
    __syncthreads();  // totals are read before the next tile writes them
  }
}
