// Scale of each row for e4m3: its largest magnitude over 448. One warp a row; the lanes exchange
// their maxima in shared memory.
//
// Field report: vllm-project/vllm#54111, class 8 (races). The lanes of a warp exchange values in
// shared memory without __syncwarp between a store and another lane's load.
// Seen by: the race check. Lanes in step, as older cards ran them, give the right maximum.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void __launch_bounds__(32) row_scale(float* scale, const T* x, int cols) {
  __shared__ float held[32];
  x += int64_t{blockIdx.x} * cols;
  const int lane = threadIdx.x;
  float largest = 0.0f;
  for (int i = lane; i < cols; i += 32) largest = fmaxf(largest, fabsf(to_float(x[i])));
  held[lane] = largest;
  for (int step = 16; step > 0; step /= 2) {
#ifndef PLANTED
    __syncwarp();
#endif
    if (lane < step) {
      held[lane] = fmaxf(held[lane], held[lane + step]);
    }
  }
  if (lane == 0) scale[blockIdx.x] = held[0] / 448.0f;
}
