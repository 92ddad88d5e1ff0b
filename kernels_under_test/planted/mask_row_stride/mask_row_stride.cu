// Attention scores plus a mask times a slope, as they go into a softmax.
//
// Field report: ggml-org/llama.cpp#23574, class 1 (int32 offsets). The scores are addressed in 64
// bits, the mask by row * stride + key in ints.
// Seen by: the wrap checker; out of bounds.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void masked_scores(float* y, const float* x, const T* mask, int mask_stride, int keys,
                              float slope) {
  const int row = blockIdx.x;
  const int key = blockIdx.y * blockDim.x + threadIdx.x;
  if (key >= keys) return;
  const int64_t at = int64_t{row} * keys + key;
#ifdef PLANTED
  const float bias = to_float(mask[row * mask_stride + key]);
#else
  const float bias = to_float(mask[int64_t{row} * mask_stride + key]);
#endif
  y[at] = x[at] + slope * bias;
}
