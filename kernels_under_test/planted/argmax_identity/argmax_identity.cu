// Index of the largest element of each row, the first of equal ones; one warp a row.
//
// Field report: triton-lang/triton#9022, of the family of #6635, class 4 (masked rows). The search
// starts from -inf at no index and moves on to what is larger. In a row that is masked from end to
// end nothing is, and "no index" is returned.
// Seen by: the oracle (mismatch), as an index that is none.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void argmax(int64_t* index, const T* x, int64_t x_stride, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  constexpr int kNone = 0x7fffffff;
  float best = -INFINITY;
  int at = kNone;
  for (int i = threadIdx.x; i < cols; i += 32) {
    const float v = to_float(x[i]);
#ifdef PLANTED
    if (v > best) {
#else
    if (v > best || at == kNone) {
#endif
      best = v;
      at = i;
    }
  }
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, best, lane);
    const int other_at = __shfl_xor_sync(0xffffffffu, at, lane);
    if (other > best || (other == best && other_at < at)) {
      best = other;
      at = other_at;
    }
  }
  if (threadIdx.x == 0) index[row] = at;
}
