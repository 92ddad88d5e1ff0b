// Sum of the tokens in use of each context: pages of 16 tokens, a page a lane, a context a warp.
//
// Field report: ROCm/ATOM#2211, class 3 (tails). Whole pages may be sixteen, so the tail's page is
// checked against the last one; that check is off by one and drops the tail of 241 to 255 tokens.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void context_sum(float* y, const T* x, const int* lens, int batch) {
  constexpr int kPage = 16, kPages = 16;
  const int64_t b = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (b >= batch) return;
  const int page = threadIdx.x;
  const int whole = lens[b] / kPage;
  int tokens = page < whole ? kPage : 0;
#ifdef PLANTED
  if (page == whole && page < kPages - 1) tokens = lens[b] % kPage;
#else
  if (page == whole && page < kPages) tokens = lens[b] % kPage;
#endif
  float sum = 0.0f;
  for (int t = 0; t < tokens; ++t) sum += to_float(x[b * (kPage * kPages) + page * kPage + t]);
  sum = warp_reduce(sum, Sum());
  if (threadIdx.x == 0) y[b] = sum;
}
