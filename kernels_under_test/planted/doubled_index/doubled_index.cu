// Two 4-bit codes of each byte, the low one first.
//
// Field report: bitsandbytes-foundation/bitsandbytes#1784, class 1 (int32 offsets). The index of a
// byte fits in an int; twice that, the index of its first code, does not from 2^30 on.
// Seen by: the wrap checker, and as a write outside the buffer.
#include <cstdint>

extern "C" __global__ void unpack(unsigned char* code, const unsigned char* packed, int bytes) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= bytes) return;
#ifdef PLANTED
  const int first = 2 * i;
#else
  const int64_t first = 2 * int64_t{i};
#endif
  code[first] = packed[i] & 15;
  code[first + 1] = packed[i] >> 4;
}
