// The experts that a token chose, a bit each, added as numbers.
//
// Mutation of our moe_align, class 7 (integer semantics): the 1 that is shifted is an int, and the
// result is widened. Up to 31 experts all is right; the bit of expert 31 is a sign.
// Seen by: the oracle (mismatch).
#include <cstdint>

extern "C" __global__ void expert_bits(int64_t* y, const int32_t* expert, int64_t n, int top) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int64_t bits = 0;
  for (int j = 0; j < top; ++j) {
#ifdef PLANTED
    bits += 1 << expert[i * top + j];
#else
    bits += int64_t{1} << expert[i * top + j];
#endif
  }
  y[i] = bits;
}
