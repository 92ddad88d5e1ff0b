// Shared tiles whose tail nothing fills, and what a kernel does with it; undefined_kernels_test.cpp
// runs each and knows the lines by the words "read" and "use" in their comments.
// Compiled to wrong.ptx: nvcc 13.0 -arch=sm_80 -lineinfo -ptx.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

extern "C" {

__global__ void arithmetic(float* y, const float* x, int n) {
  __shared__ float tile[64];
  const int t = threadIdx.x;
  if (t < n) tile[t] = x[t];
  __syncthreads();
  const float v = tile[t];    // arithmetic read
  const float third = v / 3;  // arithmetic step
  y[t] = third + 1;           // arithmetic use
}

__global__ void shuffle_reduction(float* y, const float* x, int n) {
  __shared__ float tile[32];
  const int t = threadIdx.x;
  if (t < n) tile[t] = x[t];
  __syncwarp();
  float sum = tile[t];  // shuffle_reduction read
  for (int offset = 16; offset > 0; offset /= 2) {
    sum += __shfl_down_sync(0xffffffff, sum, offset);  // shuffle_reduction step
  }
  if (t == 0) y[0] = sum;  // shuffle_reduction use
}

__global__ void matrix(float* y, const __half* x, int rows) {
  using namespace nvcuda::wmma;
  __shared__ __align__(32) __half tile[16 * 16];
  const int t = threadIdx.x;
  for (int i = t; i < rows * 16; i += 32) tile[i] = x[i];
  __syncwarp();
  fragment<matrix_a, 16, 16, 16, __half, row_major> a;
  fragment<matrix_b, 16, 16, 16, __half, row_major> b;
  fragment<accumulator, 16, 16, 16, float> d;
  load_matrix_sync(a, tile, 16);  // matrix read
  load_matrix_sync(b, x, 16);
  fill_fragment(d, 0.0f);
  mma_sync(d, a, b, d);                        // matrix step
  store_matrix_sync(y, d, 16, mem_row_major);  // matrix use
}

__global__ void branch(float* y, const float* x, int n) {
  __shared__ float tile[64];
  const int t = threadIdx.x;
  if (t < n) tile[t] = x[t];
  __syncthreads();
  if (tile[t] > 0) {  // branch read, branch use
    y[t] = 1;
    __syncwarp(__activemask());
    y[t] += 1;
  }
}

__global__ void index(float* y, const float* x, const int* order, int n) {
  __shared__ int tile[64];
  const int t = threadIdx.x;
  if (t < n) tile[t] = order[t];
  __syncthreads();
  const int from = tile[t] & 31;  // index read
  y[t] = x[from];                 // index use
}

/// Through shared memory, by another thread, and back.
__global__ void handed_on(float* y, const float* x, int n) {
  __shared__ float tile[64], other[64];
  const int t = threadIdx.x;
  if (t < n) tile[t] = x[t];
  __syncthreads();
  other[t] = tile[t];  // handed_on read
  __syncthreads();
  y[t] = other[63 - t];  // handed_on use
}

/// The copy is issued and committed, but nothing waits for it.
__global__ void copy_not_awaited(float* y, const float* x, int) {
  __shared__ __align__(16) float tile[128];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&tile[4 * t], &x[4 * t], 16);
  __pipeline_commit();
  y[t] = tile[4 * t];  // copy_not_awaited read, copy_not_awaited use
}

/// One half of each pair is never written.
__global__ void half_pair(__half* y, const __half* x, int) {
  __shared__ __half2 tile[32];
  const int t = threadIdx.x;
  tile[t].x = x[t];
  const __half2 both = tile[t];             // half_pair read
  y[t] = __high2half(__hadd2(both, both));  // half_pair use
}

/// A counter that nothing set to zero.
__global__ void atomic_sum(int* y, const int* x, int n) {
  __shared__ int total;
  const int t = threadIdx.x;
  if (t < n) atomicAdd(&total, x[t]);  // atomic_sum read
  __syncthreads();
  if (t == 0) y[0] = total;  // atomic_sum use
}
}
