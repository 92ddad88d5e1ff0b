// Running sums of each row of probabilities, one warp a row: every lane adds a stretch of
// neighbours, the stretches' totals are scanned, and `falls` counts the places where a sum is less
// than the one before. Sampling looks for the place that a random number falls into, and trusts
// that there is one.
//
// Field report: flashinfer-ai/flashinfer#225, class 6 (accumulation). The totals are scanned in a
// tree, whose sums are rounded in another order than those that end a stretch: where two stretches
// meet, the running sum may fall by an ulp. Each sum is within its bound. The twin adds the totals
// in order.
// Seen by: the oracle (mismatch of the count).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void prefix_sums(float* y, int32_t* falls, const T* x, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * cols;
  y += row * cols;
  const int lane = threadIdx.x;
  const int each = (cols + 31) / 32;
  const int first = min(cols, lane * each), last = min(cols, first + each);
  float total = 0.0f;
  for (int i = first; i < last; ++i) total += to_float(x[i]);
#ifdef PLANTED
  float scanned = total;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const float before = __shfl_up_sync(0xffffffffu, scanned, step);
    if (lane >= step) scanned += before;
  }
  float offset = __shfl_up_sync(0xffffffffu, scanned, 1);
  if (lane == 0) offset = 0.0f;
#else
  float offset = 0.0f;
  for (int from = 0; from < 31; ++from) {
    const float other = __shfl_sync(0xffffffffu, total, from);
    if (from < lane) offset += other;
  }
#endif
  float sum = 0.0f, before = offset;
  int fallen = 0;
  for (int i = first; i < last; ++i) {
    sum += to_float(x[i]);
    y[i] = offset + sum;
    fallen += y[i] < before;
    before = y[i];
  }
  // Where the stretch before ends is what this one begins after.
  const float end = __shfl_up_sync(0xffffffffu, before, 1);
  if (lane > 0 && first < last) fallen += y[first] < end;
#pragma unroll
  for (int step = 16; step > 0; step /= 2) fallen += __shfl_xor_sync(0xffffffffu, fallen, step);
  if (lane == 0) falls[row] = fallen;
}
