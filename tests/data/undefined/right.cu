// The right twins of wrong.cu, and correct code that handles undefined values: nothing is told of
// any of it.
// Compiled to right.ptx: nvcc 13.0 -arch=sm_80 -lineinfo -ptx.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

extern "C" {

__global__ void arithmetic(float* y, const float* x, int n) {
  __shared__ float tile[64];
  const int t = threadIdx.x;
  tile[t] = t < n ? x[t] : 0;
  __syncthreads();
  y[t] = tile[t] * 2 + 1;
}

/// The tail is read by all and selected away.
__global__ void shuffle_reduction(float* y, const float* x, int n) {
  __shared__ float tile[32];
  const int t = threadIdx.x;
  if (t < n) tile[t] = x[t];
  __syncwarp();
  const float v = tile[t];
  float sum = t < n ? v : 0;
  for (int offset = 16; offset > 0; offset /= 2) {
    sum += __shfl_down_sync(0xffffffff, sum, offset);
  }
  if (t == 0) y[0] = sum;
}

/// Rows of a that hold nothing spoil rows of d that nobody stores.
__global__ void matrix(float* y, const __half* x, int rows) {
  using namespace nvcuda::wmma;
  __shared__ __align__(32) __half tile[16 * 16];
  __shared__ __align__(32) float result[16 * 16];
  const int t = threadIdx.x;
  for (int i = t; i < rows * 16; i += 32) tile[i] = x[i];
  __syncwarp();
  fragment<matrix_a, 16, 16, 16, __half, row_major> a;
  fragment<matrix_b, 16, 16, 16, __half, row_major> b;
  fragment<accumulator, 16, 16, 16, float> d;
  load_matrix_sync(a, tile, 16);
  load_matrix_sync(b, x, 16);
  fill_fragment(d, 0.0f);
  mma_sync(d, a, b, d);
  store_matrix_sync(result, d, 16, mem_row_major);
  __syncwarp();
  for (int i = t; i < rows * 16; i += 32) y[i] = result[i];
}

/// Of integers a factor of zero hides the other one, whatever it is.
__global__ void integer_matrix(int* y, const signed char* x, int columns) {
  using namespace nvcuda::wmma;
  __shared__ __align__(32) signed char a_tile[16 * 16], b_tile[16 * 16];
  const int t = threadIdx.x;
  for (int i = t; i < 256; i += 32) {
    const int k = i % 16;
    if (k < columns) a_tile[i] = x[i];
    b_tile[i] = i / 16 < columns ? x[i] : 0;
  }
  __syncwarp();
  fragment<matrix_a, 16, 16, 16, signed char, row_major> a;
  fragment<matrix_b, 16, 16, 16, signed char, row_major> b;
  fragment<accumulator, 16, 16, 16, int> d;
  load_matrix_sync(a, a_tile, 16);
  load_matrix_sync(b, b_tile, 16);
  fill_fragment(d, 0);
  mma_sync(d, a, b, d);
  store_matrix_sync(y, d, 16, mem_row_major);
}

__global__ void branch(float* y, const float* x, int n) {
  __shared__ float tile[64];
  const int t = threadIdx.x;
  if (t < n) tile[t] = x[t];
  __syncthreads();
  const float v = tile[t];
  y[t] = 0;
  if (t < n && v > 0) {
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
  const int from = tile[t] & 31;
  y[t] = t < n ? x[from] : 0;
}

__global__ void handed_on(float* y, const float* x, int n) {
  __shared__ float tile[64], other[64];
  const int t = threadIdx.x;
  if (t < n) tile[t] = x[t];
  __syncthreads();
  other[t] = tile[t];
  __syncthreads();
  if (63 - t < n) y[t] = other[63 - t];
}

/// The source ends within the copies: zeros fill the rest.
__global__ void copy_not_awaited(float* y, const float* x, int n) {
  __shared__ __align__(16) float tile[128];
  const int t = threadIdx.x;
  const int left = min(max(n - 4 * t, 0), 4);
  __pipeline_memcpy_async(&tile[4 * t], &x[left > 0 ? 4 * t : 0], 16, 16 - 4 * left);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  y[t] = tile[4 * t] + tile[4 * t + 3];
}

__global__ void half_pair(__half* y, const __half* x, int) {
  __shared__ __half2 tile[32];
  const int t = threadIdx.x;
  tile[t].x = x[t];
  const __half2 both = tile[t];
  y[t] = __low2half(__hadd2(both, both));
}

__global__ void atomic_sum(int* y, const int* x, int n) {
  __shared__ int total;
  const int t = threadIdx.x;
  if (t == 0) total = 0;
  __syncthreads();
  if (t < n) atomicAdd(&total, x[t]);
  __syncthreads();
  if (t == 0) y[0] = total;
}

/// Votes of lanes that hold nothing are masked away.
__global__ void ballot(int* y, const float* x, int n) {
  __shared__ float tile[32];
  const int t = threadIdx.x;
  if (t < n) tile[t] = x[t];
  __syncwarp();
  const unsigned positive = __ballot_sync(0xffffffff, tile[t] > 0);
  y[t] = __popc(positive & ((1u << n) - 1));
}

/// Any lane may be named; only those that name one on purpose use what it gives.
__global__ void gather_in_warp(float* y, const float* x, const int* order, int n) {
  __shared__ int tile[32];
  const int t = threadIdx.x;
  if (t < n) tile[t] = order[t];
  __syncwarp();
  const float v = __shfl_sync(0xffffffff, x[t], tile[t]);
  y[t] = t < n ? v : 0;
}

/// A factor of zero, a mask of bits, and bytes of a word of which some were written.
__global__ void integer_masks(int* y, const int* x, int n) {
  __shared__ int tile[32];
  __shared__ uchar4 bytes[32];
  const int t = threadIdx.x;
  if (t < n) tile[t] = x[t];
  bytes[t].x = static_cast<unsigned char>(x[t]);
  bytes[t].z = static_cast<unsigned char>(x[t] >> 8);
  __syncwarp();
  const int inside = t < n;
  const uchar4 four = bytes[t];
  const unsigned word = *reinterpret_cast<const unsigned*>(&four);
  y[t] = tile[t] * inside + (tile[t] & -inside) + four.x + four.z + ((word >> 16) & 0xff);
}
}
