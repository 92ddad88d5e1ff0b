// Bags of embeddings: the sum or the mean of the table's rows that a bag names, each row with a
// weight of its own. Offsets are prefix sums, one more than bags; an empty bag gives zeros. One
// block a bag; a thread sums four columns where all rows are of aligned vectors of four, otherwise
// one.
#include "device_helpers.cuh"

template <int MEAN, int V, typename T, typename Index>
__device__ inline void sum_columns(T* y, const T* table, const Index* index, const float* weights,
                                   Index first, Index last, int64_t table_stride) {
  float sums[V] = {};
#pragma unroll 1
  for (Index j = first; j < last; ++j) {
    const Vector<T, V> row = load<V>(table + static_cast<int64_t>(index[j]) * table_stride);
    const float weight = weights[j];
#pragma unroll
    for (int k = 0; k < V; ++k) sums[k] += weight * to_float(row.at[k]);
  }
  Vector<T, V> out;
#pragma unroll
  for (int k = 0; k < V; ++k) {
    if (MEAN && last > first) sums[k] /= static_cast<float>(last - first);
    out.at[k] = from_float<T>(sums[k]);
  }
  store(y, out);
}

template <typename T, typename Index, int BLOCK, int MEAN>
__global__ void __launch_bounds__(BLOCK)
    embedding_bag(T* y, const T* table, const Index* index, const Index* offsets,
                  const float* weights, int64_t table_stride, int dim) {
  const Index first = offsets[blockIdx.x];
  const Index last = offsets[blockIdx.x + 1];
  y += int64_t{blockIdx.x} * dim;
  constexpr int V = 4;
  const bool vectors = table_stride % V == 0 && aligned<V * sizeof(T)>(y, table);
  const int whole = vectors ? dim / V * V : 0;
#pragma unroll 1
  for (int d = threadIdx.x * V; d < whole; d += BLOCK * V)
    sum_columns<MEAN, V>(y + d, table + d, index, weights, first, last, table_stride);
#pragma unroll 1
  for (int d = whole + threadIdx.x; d < dim; d += BLOCK)
    sum_columns<MEAN, 1>(y + d, table + d, index, weights, first, last, table_stride);
}
