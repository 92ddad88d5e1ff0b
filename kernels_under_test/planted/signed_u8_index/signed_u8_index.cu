// Values of a codebook by 8-bit codes.
//
// Field report: pytorch/pytorch#178716 and the fp4 and int8 dequantisers around it, class 7
// (integer semantics). Codes of 128 and more are read as signed characters: the index is negative.
// Seen by: a read outside the buffer (before the codebook).
#include "../../kernels/device_helpers.cuh"

#ifdef PLANTED
using Code = signed char;
#else
using Code = unsigned char;
#endif

template <typename T>
__global__ void dequantise(T* y, const T* codebook, const unsigned char* code, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = codebook[static_cast<Code>(code[i])];
}
