// Mean of the losses of those rows whose label is not ignored.
//
// Mutation of kernels/cross_entropy.cu, class 4 (masked rows): the sum is divided by all rows, not
// by those that count. Seen by: the oracle (mismatch), for a batch with an ignored label.
#include "../../kernels/device_helpers.cuh"

__global__ void mean_loss(float* mean, const float* loss, const int64_t* label, int rows) {
  __shared__ float sums[4];
  __shared__ float counts[4];
  float sum = 0.0f;
  float count = 0.0f;
  for (int i = threadIdx.x; i < rows; i += 128) {
    if (label[i] == -100) continue;
    sum += loss[i];
    count += 1.0f;
  }
  sum = block_reduce<128>(sum, Sum(), sums);
  count = block_reduce<128>(count, Sum(), counts);
#ifdef PLANTED
  count = rows;
#endif
  if (threadIdx.x == 0) *mean = sum / count;
}
