// Rows of an embedding table by index: one warp a row, WARPS rows a block; 16 bytes at a time where
// both rows start on 16 bytes.
#include "device_helpers.cuh"

template <typename T, typename Index, int WARPS>
__global__ void __launch_bounds__(32 * WARPS)
    gather(T* y, const T* table, const Index* index, int64_t table_stride, int64_t tokens,
           int dim) {
  const int64_t token = int64_t{blockIdx.x} * WARPS + threadIdx.y;
  if (token >= tokens) return;
  const T* from = table + static_cast<int64_t>(index[token]) * table_stride;
  T* to = y + token * dim;
  constexpr int V = 16 / sizeof(T);
  const int whole = aligned16(from, to) ? dim / V * V : 0;
  for (int i = threadIdx.x * V; i < whole; i += 32 * V) store(to + i, load<V>(from + i));
  for (int i = whole + threadIdx.x; i < dim; i += 32) to[i] = from[i];
}
