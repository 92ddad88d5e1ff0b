// Sum over the last axis, of 32, of a three-dimensional array; four sums a warp. The layout is a
// setting: 32, 16 or 8 lanes share a sum, which then holds one, two or four elements in each lane.
//
// Field report: triton-lang/triton#4116, class 12 (configuration): a reduction of [2, 2, 32] is
// wrong in one layout. The exchange starts half a row apart in the widest layout and eight lanes
// apart in the others, which is a neighbour's row when eight lanes share one.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void __launch_bounds__(32) last_axis_sum(float* y, const T* x, int rows, int lanes) {
  const int at_once = 32 / lanes;  // rows that the warp sums at a time
  for (int first = 0; first < 4; first += at_once) {
    const int row = blockIdx.x * 4 + first + threadIdx.x / lanes;
    float sum = 0.0f;
    for (int i = threadIdx.x % lanes; i < 32; i += lanes)
      if (row < rows) sum += to_float(x[int64_t{row} * 32 + i]);
#ifdef PLANTED
    const int widest = lanes == 32 ? 16 : 8;
#else
    const int widest = lanes / 2;
#endif
    for (int lane = widest; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
    if (threadIdx.x % lanes == 0 && row < rows) y[row] = sum;
  }
}
