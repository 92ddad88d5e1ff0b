// Modelled on block reductions: each warp leaves its sum where its number says. Fault: %warpid is taken
// for the warp's number in the block; it is the warp's place on the multiprocessor, and may be any (PTX
// ISA, "Special Registers: %warpid").
__global__ void row_sums(float* y, const float* x, int cols) {
  __shared__ float part[64];
  float sum = 0;
  for (int c = threadIdx.x; c < cols; c += 128) sum += x[(long long)blockIdx.x * cols + c];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
#ifdef PLANTED
  unsigned warp;
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
  warp %= 64;
#else
  const unsigned warp = threadIdx.x / 32;
#endif
  if (threadIdx.x % 32 == 0) part[warp] = sum;
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = part[0] + part[1] + part[2] + part[3];
}
