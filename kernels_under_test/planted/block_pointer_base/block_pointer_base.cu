// Heads of a sequence multiplied by a gate of their own: a block takes four tokens of one head of
// one sequence, in a [batch, token, head, K] layout.
//
// Field report: fla-org/flash-linear-attention#1080, class 1 (int32 offsets). The base of a
// program's block pointer is a product of its index and sizes, all of 32 bits; only then is it
// added to the pointer. The steps within a block are 64-bit.
// Seen by: the wrap checker; out of bounds.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void scale_heads(T* y, const T* x, const float* gate, int L, int H, int K) {
  const int b = blockIdx.x / H;
  const int h = blockIdx.x % H;
#ifdef PLANTED
  const int base = (b * L * H + h) * K;
#else
  const int64_t base = (int64_t{b} * L * H + h) * K;
#endif
  x += base;
  y += base;
  const int64_t token = int64_t{blockIdx.y} * blockDim.y + threadIdx.y;
  if (token >= L) return;
  for (int k = threadIdx.x; k < K; k += 32) {
    const int64_t at = token * H * K + k;
    y[at] = from_float<T>(to_float(x[at]) * gate[h]);
  }
}
