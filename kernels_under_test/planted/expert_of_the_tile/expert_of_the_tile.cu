// Rows sorted by expert, each multiplied by its expert's weights; four rows a block, padding behind
// the last expert's rows is 0.
//
// Mutation of our matmul_experts, class 3 (tails): a tile of rows looks for its expert once, by its
// first row. Where an expert ends inside a tile, the rows behind it get its weights too.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void scale_by_expert(T* y, const T* x, const T* w, const int32_t* counts,
                                const int32_t* offsets, int E, int N, int rows) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
#ifdef PLANTED
  const int leader = blockIdx.x * blockDim.y;
#else
  const int leader = row;
#endif
  int expert = 0;
  while (expert < E && offsets[expert + 1] <= leader) ++expert;
  const bool live = expert < E && row < offsets[E];
  for (int i = threadIdx.x; i < N; i += 32) {
    const int64_t at = int64_t{row} * N + i;
    const float weight = live ? to_float(w[int64_t{expert} * N + i]) : 0.0f;
    y[at] = from_float<T>(live ? to_float(x[at]) * weight : 0.0f);
  }
}
