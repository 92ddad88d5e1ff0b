// Index of the largest element of each row, the first of equal ones: value and index as one 64-bit
// key, so that a single maximum decides. One warp a row.
//
// Field report: pytorch/pytorch#185765, class 11 (signed zero). Keys order the bits, and put -0
// below +0: equal elements are no longer a tie.
// Seen by: the oracle (mismatch), where 0 is the maximum in both signs.
#include "../../kernels/device_helpers.cuh"

/// Larger for larger values, and among equal ones for lower indices.
__device__ inline uint64_t key(float v, unsigned index) {
#ifndef PLANTED
  v += 0.0f;  // -0 + 0 is +0
#endif
  const unsigned bits = __float_as_uint(v);
  const unsigned ordered = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return uint64_t{ordered} << 32 | ~index;
}

template <typename T>
__global__ void argmax(int64_t* index, const T* x, int64_t x_stride, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  uint64_t best = 0;
  for (int i = threadIdx.x; i < cols; i += 32) best = max(best, key(to_float(x[i]), i));
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) {
    best = max(best, static_cast<uint64_t>(__shfl_xor_sync(0xffffffffu, best, lane)));
  }
  if (threadIdx.x == 0) index[row] = ~static_cast<unsigned>(best);
}
