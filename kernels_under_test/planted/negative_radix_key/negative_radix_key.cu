// Index of each row's largest element, the first of equal ones: one warp a row reduces 64-bit keys,
// of which the upper half orders as the numbers do and the lower half prefers small indices.
//
// Mutation of our topk, class 11 (ties and order): the key sets the sign bit of positive numbers
// and leaves negative ones as they are, whose bits order the wrong way round. A row with a positive
// element is right.
// Seen by: the oracle (mismatch), in rows of negative numbers.
#include "../../kernels/device_helpers.cuh"

__device__ inline uint32_t ordered(float v) {
  const uint32_t bits = __float_as_uint(v + 0.0f);  // -0 becomes +0
#ifdef PLANTED
  return bits & 0x80000000u ? bits & 0x7fffffffu : bits | 0x80000000u;
#else
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
#endif
}

template <typename T>
__global__ void row_argmax(int64_t* y, const T* x, int64_t x_stride, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  unsigned long long best = 0;
  for (int i = threadIdx.x; i < cols; i += 32) {
    const uint64_t high = ordered(to_float(x[i]));
    const unsigned long long key = high << 32 | ~static_cast<uint32_t>(i);
    best = key > best ? key : best;
  }
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) {
    const unsigned long long other = __shfl_xor_sync(0xffffffffu, best, lane);
    best = other > best ? other : best;
  }
  if (threadIdx.x == 0) y[row] = ~static_cast<uint32_t>(best);
}
