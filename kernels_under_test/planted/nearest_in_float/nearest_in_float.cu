// Rows resized: element i comes from i * from / to, rounded down.
//
// Mutation of our gather, class 7 (integer semantics): the ratio is rounded to f32 and multiplied
// by i. Where the quotient is an integer the product may fall short of it by an ulp, and the
// element before is taken.
// Seen by: the oracle (mismatch), at some sizes only.
#include <cuda_fp16.h>

#include <cstdint>

template <typename T>
__global__ void resize_nearest(T* y, const T* x, int from, int to) {
  const int i = blockIdx.y * blockDim.x + threadIdx.x;
  if (i >= to) return;
#ifdef PLANTED
  const float ratio = static_cast<float>(from) / static_cast<float>(to);
  const int source = min(static_cast<int>(i * ratio), from - 1);
#else
  const int source = static_cast<int>(int64_t{i} * from / to);
#endif
  y[int64_t{blockIdx.x} * to + i] = x[int64_t{blockIdx.x} * from + source];
}
