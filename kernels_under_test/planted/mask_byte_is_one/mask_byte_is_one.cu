// One of two elements by a mask of bytes, of which any but 0 is true.
//
// Mutation of our gather, class 7 (integer semantics): bytes are compared with 1. Masks from
// comparisons hold 0 and 1; masks that were bit fields, or counts, do not.
// Seen by: the oracle (mismatch).
#include <cuda_fp16.h>

#include <cstdint>

template <typename T>
__global__ void select(T* y, const uint8_t* mask, const T* a, const T* b, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
#ifdef PLANTED
  y[i] = mask[i] == 1 ? a[i] : b[i];
#else
  y[i] = mask[i] != 0 ? a[i] : b[i];
#endif
}
