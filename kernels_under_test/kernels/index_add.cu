// Rows added to rows by index, out[index[i]] += x[i], as the gradient of an embedding: one warp a
// row, an atomic for each element, in any order; before sm_90 an atomic adds one float.
#include "device_helpers.cuh"

template <typename Index, int WARPS>
__global__ void __launch_bounds__(32 * WARPS)
    index_add(float* out, const float* x, const Index* index, int64_t out_stride, int64_t x_stride,
              int64_t n, int dim) {
  const int64_t row = int64_t{blockIdx.x} * WARPS + threadIdx.y;
  if (row >= n) return;
  float* to = out + static_cast<int64_t>(index[row]) * out_stride;
  const float* from = x + row * x_stride;
  for (int i = threadIdx.x; i < dim; i += 32) atomicAdd(to + i, from[i]);
}
