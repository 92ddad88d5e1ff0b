// Sums that are kept narrower than f32: each is found at the line whose comment names its kernel.
// Compiled with: nvcc -ptx -arch=sm_80 -lineinfo -o wrong.ptx wrong.cu
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using bf16 = __nv_bfloat16;

extern "C" {

__global__ void half_loop(float* y, const __half* x, int n) {
  __half sum = __float2half(0.0f);
  for (int i = threadIdx.x; i < n; i += 32) sum = __hadd(sum, x[i]);  // half_loop
  y[threadIdx.x] = __half2float(sum);
}

__global__ void bf16_loop(float* y, const bf16* x, int n) {
  bf16 sum = __float2bfloat16(0.0f);
  for (int i = threadIdx.x; i < n; i += 32) sum += x[i];  // bf16_loop
  y[threadIdx.x] = __bfloat162float(sum);
}

__global__ void half2_dot(float* y, const __half2* x, const __half2* w, int n) {
  __half2 sum = __float2half2_rn(0.0f);
  for (int i = threadIdx.x; i < n; i += 32) sum = __hfma2(x[i], w[i], sum);  // half2_dot
  y[threadIdx.x] = __low2float(sum) + __high2float(sum);
}

// What `acc = half(float(acc) + x)` compiles to: an addition in f32, rounded on each turn.
__global__ void rounded_each_turn(float* y, const float* x, int n) {
  __half sum = __float2half(0.0f);
  for (int i = threadIdx.x; i < n; i += 32)
    sum = __float2half(__half2float(sum) + x[i]);  // rounded_each_turn
  y[threadIdx.x] = __half2float(sum);
}

__global__ void tf32_each_turn(float* y, const float* x, int n) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n; i += 32)
    sum = nvcuda::wmma::__float_to_tf32(sum + x[i]);  // tf32_each_turn
  y[threadIdx.x] = sum;
}

__global__ void half_warp(float* y, const float* x) {
  __half sum = __float2half(x[threadIdx.x]);
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
    sum = __hadd(sum, __shfl_xor_sync(0xffffffffu, sum, step));  // half_warp
  y[threadIdx.x] = __half2float(sum);
}

__global__ void half_warp_by_hand(float* y, const float* x) {
  __half sum = __float2half(x[threadIdx.x]);
  sum = __hadd(sum, __shfl_xor_sync(0xffffffffu, sum, 4));
  sum = __hadd(sum, __shfl_xor_sync(0xffffffffu, sum, 2));
  sum = __hadd(sum, __shfl_xor_sync(0xffffffffu, sum, 1));  // half_warp_by_hand
  y[threadIdx.x] = __half2float(sum);
}

__global__ void half_tree(float* y, const float* x) {
  __shared__ __half held[128];
  held[threadIdx.x] = __float2half(x[threadIdx.x]);
  __syncthreads();
  for (int step = 64; step > 0; step /= 2) {
    if (threadIdx.x < step)
      held[threadIdx.x] = __hadd(held[threadIdx.x], held[threadIdx.x + step]);  // half_tree
    __syncthreads();
  }
  if (threadIdx.x == 0) y[0] = __half2float(held[0]);
}

// A tree whose levels are lines of their own, as unrolled reductions are written.
__global__ void half_tree_by_hand(float* y, const float* x) {
  __shared__ volatile float held[64];
  const int t = threadIdx.x;
  const auto to_half = [](float v) { return __half2float(__float2half(v)); };
  held[t] = x[t];
  __syncthreads();
  if (t < 32) held[t] = to_half(held[t] + held[t + 32]);
  __syncthreads();
  if (t < 16) held[t] = to_half(held[t] + held[t + 16]);
  __syncthreads();
  if (t < 8) held[t] = to_half(held[t] + held[t + 8]);  // half_tree_by_hand
  __syncthreads();
  if (t < 8) y[t] = held[t];
}

// A sum for each of eight columns, kept in shared memory.
__global__ void half_in_shared(float* y, const __half* x, int n) {
  __shared__ __half sums[32][8];
  for (int k = 0; k < 8; ++k) sums[threadIdx.x][k] = __float2half(0.0f);
  for (int i = 0; i < n; ++i)
    sums[threadIdx.x][x[i] > x[i + 1] ? 1 : 2] += x[i];  // half_in_shared
  for (int k = 0; k < 8; ++k) y[threadIdx.x * 8 + k] = __half2float(sums[threadIdx.x][k]);
}

// The compiler leaves no loop.
__global__ void half_unrolled(float* y, const __half* x) {
  __half sum = x[8 * threadIdx.x];
#pragma unroll
  for (int i = 1; i < 8; ++i) sum = __hadd(sum, x[8 * threadIdx.x + i]);  // half_unrolled
  y[threadIdx.x] = __half2float(sum);
}

__global__ void half_products(float* y, const unsigned* a, const unsigned* b, int k) {
  unsigned c0 = 0, c1 = 0;
  for (int i = threadIdx.x; i < k; i += 32) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
        : "+r"(c0), "+r"(c1)
        : "r"(a[4 * i]), "r"(a[4 * i + 1]), "r"(a[4 * i + 2]), "r"(a[4 * i + 3]), "r"(b[2 * i]),
          "r"(b[2 * i + 1]));  // half_products
  }
  const __half2 low = *reinterpret_cast<__half2*>(&c0), high = *reinterpret_cast<__half2*>(&c1);
  y[threadIdx.x] = __low2float(low) + __high2float(high);
}

__global__ void half_wmma_unrolled(float* y, const __half* a, const __half* b) {
  using namespace nvcuda;
  __shared__ __half out[256];
  wmma::fragment<wmma::accumulator, 16, 16, 16, __half> sum;
  wmma::fill_fragment(sum, __float2half(0.0f));
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
    wmma::load_matrix_sync(fa, a + 16 * k, 48);
    wmma::load_matrix_sync(fb, b + 256 * k, 16);
    wmma::mma_sync(sum, fa, fb, sum);  // half_wmma_unrolled
  }
  wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
  __syncwarp();
  for (int i = threadIdx.x; i < 256; i += 32) y[i] = __half2float(out[i]);
}

// Four threads or more add to one element.
__global__ void half_atomics(__half* y, const __half* x) {
  atomicAdd(y + threadIdx.x % 8, x[threadIdx.x]);  // half_atomics
}

// Below sm_90 an addition of bf16 to memory is a loop of compare-and-swap.
__global__ void bf16_atomics(bf16* y, const bf16* x) {
  atomicAdd(y + threadIdx.x % 8, x[threadIdx.x]);  // bf16_atomics
}

// Scale and add of an online softmax, in halves.
__global__ void half_online(float* y, const __half* x, const __half* scale, int n) {
  __half sum = __float2half(0.0f);
  for (int i = threadIdx.x; i < n; i += 32) sum = __hfma(sum, scale[i], x[i]);  // half_online
  y[threadIdx.x] = __half2float(sum);
}

// Wrong under accumulate = "f64".
__global__ void float_loop(double* y, const double* x, int n) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n; i += 32) sum += static_cast<float>(x[i]);  // float_loop
  y[threadIdx.x] = sum;
}

}  // extern "C"
