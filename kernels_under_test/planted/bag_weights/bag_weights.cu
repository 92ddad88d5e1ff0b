// Bags of embeddings with a weight for each row: y[b] = sum of weights[j] table[index[j]] over the
// bag's j; one warp a bag.
//
// A mutation of embedding_bag, class 10 (layout): weights are read from the bag's own start, as if they began anew with each bag.
// Seen by: the oracle (mismatch), wherever a bag after the first has a row.
#include <cstdint>

__global__ void weighted_bags(float* y, const float* table, const int32_t* index,
                              const int32_t* offsets, const float* weights, int dim) {
  const int64_t bag = blockIdx.x;
  const int first = offsets[bag], last = offsets[bag + 1];
  for (int d = threadIdx.x; d < dim; d += 32) {
    float sum = 0.0f;
    for (int j = first; j < last; ++j) {
#ifdef PLANTED
      const float weight = weights[j - first];
#else
      const float weight = weights[j];
#endif
      sum += weight * table[int64_t{index[j]} * dim + d];
    }
    y[bag * dim + d] = sum;
  }
}
