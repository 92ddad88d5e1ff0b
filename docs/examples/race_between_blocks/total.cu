// Sum of all elements in one launch; the last block to finish adds up what the others left. Wrong:
// nothing keeps a block's part before its ticket for the eyes of another block.
__global__ void clear(unsigned* tickets) { *tickets = 0; }

__global__ void __launch_bounds__(32)
    total(int* y, int* parts, unsigned* tickets, const int* x, int n) {
  int sum = 0;
  for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += gridDim.x * 32) sum += x[i];
  sum = __reduce_add_sync(0xffffffffu, sum);
  if (threadIdx.x != 0) return;
  parts[blockIdx.x] = sum;
  // Missing here: __threadfence();
  if (atomicAdd(tickets, 1u) != gridDim.x - 1) return;
  __threadfence();
  sum = 0;
  for (int block = 0; block < gridDim.x; ++block) sum += parts[block];
  *y = sum;
}
