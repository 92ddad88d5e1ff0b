// Averages of values by softmax of scores, one warp a row: an online softmax over tiles of 32.
//
// Modelled on attention_prefill of ours, class 6 (accumulation). At a new maximum the sum of
// weights is rescaled, and the sum of weighted values is not. A row whose first tile holds the
// maximum is right. Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void weighted_mean(float* y, const T* x, const T* v, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * cols;
  v += row * cols;
  float largest = -INFINITY;
  float total = 0.0f;
  float sum = 0.0f;
  for (int i0 = 0; i0 < cols; i0 += 32) {
    const int i = i0 + threadIdx.x;
    const float score = i < cols ? to_float(x[i]) : -INFINITY;
    const float most = fmaxf(largest, warp_reduce(score, Max()));
    if (most == -INFINITY) continue;
    const float rescale = expf(largest - most);
    const float weight = expf(score - most);
    total = total * rescale + weight;
#ifdef PLANTED
    sum = sum + (i < cols ? weight * to_float(v[i]) : 0.0f);
#else
    sum = sum * rescale + (i < cols ? weight * to_float(v[i]) : 0.0f);
#endif
    largest = most;
  }
  total = warp_reduce(total, Sum());
  sum = warp_reduce(sum, Sum());
  if (threadIdx.x == 0) y[row] = total == 0.0f ? 0.0f : sum / total;
}
