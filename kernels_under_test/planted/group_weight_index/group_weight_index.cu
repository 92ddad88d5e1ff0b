// Groups of channels less their mean, times a weight for every channel; one warp a group.
//
// Mutation of our layer_norm, class 10 (layouts): the weight is looked up by the channel's place in
// its group, so that every group gets the first one's weights. With one group all is right.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void group_scale(T* y, const T* x, const float* weight, int C) {
  const int64_t first = (int64_t{blockIdx.x} * gridDim.y + blockIdx.y) * C;
  x += first;
  y += first;
  float sum = 0.0f;
  for (int c = threadIdx.x; c < C; c += 32) sum += to_float(x[c]);
  const float mean = warp_reduce(sum, Sum()) / C;
  for (int c = threadIdx.x; c < C; c += 32) {
#ifdef PLANTED
    const float w = weight[c];
#else
    const float w = weight[blockIdx.y * C + c];
#endif
    y[c] = from_float<T>((to_float(x[c]) - mean) * w);
  }
}
