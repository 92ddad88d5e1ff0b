// Sums of columns: the rows are split over blocks that add atomically.
//
// Field report: vllm-project/vllm#30719, class 8 (races). The first block clears the output and a
// barrier follows; but that barrier holds its own threads alone, and the others add already.
// Seen by: the race check (a store beside an atomic of another block).
#include <cstdint>

__global__ void clear(int* y, int cols) {
#ifndef PLANTED
  for (int c = threadIdx.x; c < cols; c += blockDim.x) y[c] = 0;
#endif
}

__global__ void __launch_bounds__(64) column_sums(int* y, const int* x, int rows, int cols) {
#ifdef PLANTED
  if (blockIdx.x == 0) {
    for (int c = threadIdx.x; c < cols; c += 64) y[c] = 0;
  }
  __syncthreads();
#endif
  for (int c = threadIdx.x; c < cols; c += 64) {
    int sum = 0;
    for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) sum += x[r * cols + c];
    atomicAdd(y + c, sum);
  }
}
