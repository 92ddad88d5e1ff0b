// Largest magnitude of each row, one warp a row. Wrong: the lanes of a warp need not run in step, and
// nothing orders a lane's store and another lane's load.
__global__ void __launch_bounds__(32) row_max(float* y, const float* x, int cols) {
  __shared__ float held[32];
  const int lane = threadIdx.x;
  float largest = 0.0f;
  for (int i = lane; i < cols; i += 32) largest = fmaxf(largest, fabsf(x[blockIdx.x * cols + i]));
  held[lane] = largest;
  for (int step = 16; step > 0; step /= 2) {
    // Missing here: __syncwarp();
    if (lane < step) held[lane] = fmaxf(held[lane], held[lane + step]);
  }
  if (lane == 0) y[blockIdx.x] = held[0];
}
