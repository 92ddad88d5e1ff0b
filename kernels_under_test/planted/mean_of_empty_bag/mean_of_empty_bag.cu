// Mean of the table's rows that a bag names, one block a bag; zeros for an empty bag.
//
// Mutation of our embedding_bag, class 3 (sizes 0 and 1): the sum is divided by the number of rows,
// which may be 0.
// Seen by: the oracle (mismatch: NaN).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void bag_mean(T* y, const T* table, const int64_t* index, const int64_t* offsets,
                         int dim) {
  const int64_t bag = blockIdx.x;
  const int64_t first = offsets[bag];
  const int64_t last = offsets[bag + 1];
  for (int d = threadIdx.x; d < dim; d += blockDim.x) {
    float sum = 0.0f;
    for (int64_t j = first; j < last; ++j) sum += to_float(table[index[j] * dim + d]);
#ifdef PLANTED
    sum /= static_cast<float>(last - first);
#else
    if (last > first) sum /= static_cast<float>(last - first);
#endif
    y[bag * dim + d] = from_float<T>(sum);
  }
}
