// Weighted sum of each sequence's values over its tokens, in segments that are added in the end.
//
// Field report: vllm-project/vllm#53257, class 13 (batch and run variance). A decode kernel splits the
// tokens into as many segments as fill the card, so the split of a sequence depends on how many others
// are in the batch, and with it the order of its additions.
// Seen by: the property rows_independent. Every single run is within the allowance.
#include "../../kernels/device_helpers.cuh"

constexpr int kSegments = 4;

template <typename T>
__global__ void __launch_bounds__(32 * kSegments)
    weigh(T* y, const float* p, const T* v, int batch, int tokens, int width) {
  __shared__ float parts[kSegments][32];
#ifdef PLANTED
  const int segments = batch < 32 ? kSegments : 1;
#else
  const int segments = kSegments;
#endif
  const int d = threadIdx.x;
  const int64_t row = int64_t{blockIdx.x} * tokens;
  float part = 0.0f;
  if (threadIdx.y < segments && d < width) {
    const int length = (tokens + segments - 1) / segments;
    const int first = threadIdx.y * length;
    for (int t = first; t < tokens && t < first + length; ++t) {
      part += p[row + t] * to_float(v[(row + t) * width + d]);
    }
  }
  parts[threadIdx.y][d] = part;
  __syncthreads();
  if (threadIdx.y != 0 || d >= width) return;
  float sum = 0.0f;
  for (int s = 0; s < kSegments; ++s) sum += parts[s][d];
  y[int64_t{blockIdx.x} * width + d] = from_float<T>(sum);
}
