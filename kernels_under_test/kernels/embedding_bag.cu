// Bags of embeddings: the sum or the mean of the table's rows that a bag names, each row with a
// weight of its own. Offsets are prefix sums, one more than bags; an empty bag gives zeros. One block
// a bag, a thread for every BLOCK-th column.
#include "device_helpers.cuh"

template <typename T, typename Index, int BLOCK, int MEAN>
__global__ void __launch_bounds__(BLOCK)
    embedding_bag(T* y, const T* table, const Index* index, const Index* offsets,
                  const float* weights, int64_t table_stride, int dim) {
  const int64_t bag = blockIdx.x;
  const Index first = offsets[bag];
  const Index last = offsets[bag + 1];
  for (int d = threadIdx.x; d < dim; d += BLOCK) {
    float sum = 0.0f;
    for (Index j = first; j < last; ++j)
      sum += weights[j] * to_float(table[static_cast<int64_t>(index[j]) * table_stride + d]);
    if (MEAN && last > first) sum /= static_cast<float>(last - first);
    y[bag * dim + d] = from_float<T>(sum);
  }
}
