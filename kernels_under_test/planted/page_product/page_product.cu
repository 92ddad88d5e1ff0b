// Keys gathered from a paged cache, one block a token. A page holds its keys and then its values,
// so that the stride of pages is twice what the keys take.
//
// Field report: vllm-project/vllm#50427, class 1 (int32 offsets). Page number and stride are ints
// and so is their product; the 64-bit offset is made of what is left. The number of keys stays
// below 2^31 where the view's offsets do not.
// Seen by: the wrap checker; out of bounds.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void gather_keys(T* y, const T* k, const int32_t* slots, int page_stride, int BS,
                            int D) {
  const int64_t n = blockIdx.x;
  const int page = slots[n] / BS;
#ifdef PLANTED
  const int64_t first = page * page_stride;
#else
  const int64_t first = int64_t{page} * page_stride;
#endif
  const T* row = k + first + slots[n] % BS * D;
  for (int d = threadIdx.x; d < D; d += blockDim.x) y[n * D + d] = row[d];
}
