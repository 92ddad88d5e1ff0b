// Index of the largest element of each row, the first of equal ones; one warp a row. A candidate is
// one number, the ordered bits of its value above the complement of its index, as top-k kernels pack
// theirs.
//
// Mutation of argmax of ours, class 1 (offsets): the index has 16 bits of the packed number, although
// rows may be longer than 65,536. Right wherever the largest element is not behind that. Seen by: the
// oracle (mismatch).
#include <cstdint>

#ifdef PLANTED
constexpr int kIndexBits = 16;
#else
constexpr int kIndexBits = 31;
#endif
constexpr uint64_t kIndexMask = (uint64_t{1} << kIndexBits) - 1;

/// Unsigned numbers in the order of the floats; both zeros are one.
__device__ inline uint32_t ordered(float value) {
  const uint32_t bits = __float_as_uint(value + 0.0f);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}

template <int WARPS>
__global__ void __launch_bounds__(32 * WARPS)
    packed_argmax(int32_t* index, const float* x, int rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * WARPS + threadIdx.y;
  if (row >= rows) return;
  x += row * cols;
  uint64_t best = 0;
  for (int i = threadIdx.x; i < cols; i += 32) {
    const uint64_t key = uint64_t{ordered(x[i])} << kIndexBits | (~uint64_t(i) & kIndexMask);
    best = key > best ? key : best;
  }
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) {
    const uint64_t other = __shfl_xor_sync(0xffffffffu, best, lane);
    best = other > best ? other : best;
  }
  if (threadIdx.x == 0) index[row] = static_cast<int32_t>(~best & kIndexMask);
}
