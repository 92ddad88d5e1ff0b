// The elements of each row that reach a threshold, gathered as candidates and added; one warp a
// row.
//
// Field report: sgl-project/sglang#36807, class 11 (ties). The buffer for candidates holds 256 of
// them; they are counted on, the values are dropped. The twin empties the buffer before it is full.
// Seen by: the oracle (mismatch), in rows with more.
#include <cstdint>

constexpr int kBuffer = 256;

__device__ inline int64_t drain(const short* candidate, int held) {
  int64_t sum = 0;
  for (int i = threadIdx.x; i < held; i += 32) sum += candidate[i];
  return sum;
}

extern "C" __global__ void __launch_bounds__(32)
    select(int* count, int64_t* total, const short* x, int cols, int threshold) {
  __shared__ short candidate[kBuffer];
  x += int64_t{blockIdx.x} * cols;
  int held = 0, all = 0;
  int64_t sum = 0;
  for (int first = 0; first < cols; first += 32) {
    const int i = first + threadIdx.x;
    const bool chosen = i < cols && x[i] >= threshold;
    const unsigned lanes = __ballot_sync(0xffffffffu, chosen);
#ifndef PLANTED
    if (held + __popc(lanes) > kBuffer) {
      __syncwarp();
      sum += drain(candidate, held);
      held = 0;
      __syncwarp();
    }
#endif
    const int slot = held + __popc(lanes & ((1u << threadIdx.x) - 1));
    if (chosen && slot < kBuffer) candidate[slot] = x[i];
    held = min(held + __popc(lanes), kBuffer);
    all += __popc(lanes);
  }
  __syncwarp();
  sum += drain(candidate, held);
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, static_cast<long long>(sum), lane);
  }
  if (threadIdx.x == 0) {
    count[blockIdx.x] = all;
    total[blockIdx.x] = sum;
  }
}
