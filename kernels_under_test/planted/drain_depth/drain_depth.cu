// Sum of each row, one warp a row; tiles of 32 elements are loaded up to three ahead of their use.
//
// Field report: vllm-project/vllm#44692, class 12 (configuration). When the loads are over, as many
// tiles wait as there are stages but one. The end of the loop takes in the last alone, which is
// enough for two stages.
// Seen by: the oracle (mismatch), with three stages and more.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void __launch_bounds__(32)
    pipelined_sum(float* y, const T* x, int64_t x_stride, int cols, int stages) {
  __shared__ float ring[4][32];
  x += int64_t{blockIdx.x} * x_stride;
  const int lane = threadIdx.x;
  const int tiles = (cols + 31) / 32;
  const int ahead = stages - 1;
  const auto fetch = [&](int tile) {
    const int i = tile * 32 + lane;
    ring[tile % stages][lane] = i < cols ? to_float(x[i]) : 0.0f;
  };
  for (int tile = 0; tile < ahead; ++tile) fetch(tile);
  float sum = 0.0f;
  int tile = 0;
  for (; tile + ahead < tiles; ++tile) {
    fetch(tile + ahead);
    sum += ring[tile % stages][lane];
  }
#ifdef PLANTED
  tile = max(tiles - 1, 0);
#endif
  for (; tile < tiles; ++tile) sum += ring[tile % stages][lane];
  sum = warp_reduce(sum, Sum());
  if (lane == 0) y[blockIdx.x] = sum;
}
