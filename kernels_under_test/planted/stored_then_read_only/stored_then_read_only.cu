// Modelled on kernels that stage rows in global memory: a block writes its row, and reads it back in
// another order. Fault: it reads through the read-only cache, which is not coherent with stores of
// the same launch (CUDA C++ Programming Guide, "Read-Only Data Cache Load Function").
__global__ void doubled_and_turned(float* y, float* doubled, const float* x) {
  const long long row = blockIdx.x * 128ll;
  doubled[row + threadIdx.x] = x[row + threadIdx.x] * 2;
  __syncthreads();
#ifdef PLANTED
  const float other = __ldg(&doubled[row + 127 - threadIdx.x]);
#else
  const float other = doubled[row + 127 - threadIdx.x];
#endif
  y[row + threadIdx.x] = other;
}
