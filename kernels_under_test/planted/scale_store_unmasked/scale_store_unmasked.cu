// Largest magnitude of each group of 64, the scale of a blockwise quantiser; one warp a group.
//
// Field report: bitsandbytes-foundation/bitsandbytes#2043, class 3 (tails). A block has eight
// groups; the loads of those past the end are masked, the store of their scales is not. Every
// answer is right, and up to seven numbers behind the scales are overwritten.
// Seen by: a write outside the buffer.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void group_scale(float* scale, const T* x, int groups) {
  const int64_t group = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  const bool inside = group < groups;
  // NaN where nothing else is: fmaxf drops it from any other group.
  float m = NAN;
  if (inside) {
    x += group * 64 + threadIdx.x;
    m = fmaxf(fabsf(to_float(x[0])), fabsf(to_float(x[32])));
  }
  m = warp_reduce(m, Max());
#ifdef PLANTED
  if (threadIdx.x == 0) scale[group] = m;
#else
  if (threadIdx.x == 0 && inside) scale[group] = m;
#endif
}
