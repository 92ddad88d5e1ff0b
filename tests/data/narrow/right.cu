// Kernels with narrow arithmetic that accumulates nothing, or not across more than one rounding:
// nothing is told of them. Compiled with: nvcc -ptx -arch=sm_80 -lineinfo -o right.ptx right.cu
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using bf16 = __nv_bfloat16;

extern "C" {

__global__ void float_loop(float* y, const __half* x, int n) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n; i += 32) sum += __half2float(x[i]);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  y[threadIdx.x] = __half2float(__float2half(sum));
}

// Once an element, in a loop over elements.
__global__ void residual(__half* y, const __half* x, const __half* r, int n) {
  for (int i = threadIdx.x; i < n; i += 32) y[i] = __hadd(x[i], r[i]);
}

// Four operands of one element.
__global__ void four_operands(bf16* y, const bf16* x, const bf16* a, const bf16* b, const bf16* c,
                              int n) {
  for (int i = threadIdx.x; i < n; i += 32) y[i] = x[i] + a[i] + b[i] + c[i];
}

// exp2 on halves by Horner's rule: the sum is multiplied, constants are added.
__global__ void polynomial(__half2* y, const __half2* x, int n) {
  for (int i = threadIdx.x; i < n; i += 32) {
    const __half2 v = x[i];
    __half2 p = __float2half2_rn(0.0096f);
    p = __hfma2(p, v, __float2half2_rn(0.0555f));
    p = __hfma2(p, v, __float2half2_rn(0.2402f));
    p = __hfma2(p, v, __float2half2_rn(0.6931f));
    y[i] = __hfma2(p, v, __float2half2_rn(1.0f));
  }
}

__constant__ __half coefficients[8];

// The same in a loop, coefficients from constant memory.
__global__ void polynomial_loop(__half* y, const __half* x, int n) {
  const __half v = x[threadIdx.x];
  __half p = coefficients[0];
#pragma unroll 1
  for (int k = 1; k < n; ++k) p = __hfma(p, v, coefficients[k]);
  y[threadIdx.x] = p;
}

__global__ void half_maximum(__half* y, const __half* x, int n) {
  __half most = __float2half(-65504.0f);
  for (int i = threadIdx.x; i < n; i += 32) most = __hmax(most, x[i]);
  for (int step = 16; step > 0; step /= 2)
    most = __hmax(most, __shfl_xor_sync(0xffffffffu, most, step));
  y[threadIdx.x] = most;
}

// A position that counts.
__global__ void half_counter(__half* y, const __half* x, int n) {
  __half at = __float2half(0.0f);
  for (int i = threadIdx.x; i < n; i += 32) {
    y[i] = __hmul(at, x[i]);
    at = __hadd(at, __float2half(1.0f));
  }
}

// Products in halves, the sum in floats.
__global__ void products_rounded(float* y, const __half2* x, const __half2* w, int n) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n; i += 32) {
    const __half2 p = __hmul2(x[i], w[i]);
    sum += __low2float(p) + __high2float(p);
  }
  y[threadIdx.x] = sum;
}

// Online softmax: the sum is scaled and added to in f32; weights are rounded for the next product.
__global__ void online(__half* y, float* total, const __half* x, int n) {
  float most = -1e30f, sum = 0.0f;
  for (int i = threadIdx.x; i < n; i += 32) {
    const float v = __half2float(x[i]), next = fmaxf(most, v);
    const float weight = __half2float(__float2half(__expf(v - next)));
    sum = sum * __expf(most - next) + weight;
    most = next;
    y[i] = __float2half(weight);
  }
  total[threadIdx.x] = sum;
}

// A row in shared memory, changed in place twice.
__global__ void in_place(__half* y, const __half* x, const __half* b, int n) {
  extern __shared__ __half row[];
  for (int i = threadIdx.x; i < n; i += 32) row[i] = x[i];
  __syncwarp();
  for (int i = threadIdx.x; i < n; i += 32) row[i] = __hadd(row[i], b[i]);
  __syncwarp();
  for (int i = threadIdx.x; i < n; i += 32) row[i] = __hmul(row[i], b[i]);
  __syncwarp();
  for (int i = threadIdx.x; i < n; i += 32) row[i] = __hsub(row[i], b[i]);
  __syncwarp();
  for (int i = threadIdx.x; i < n; i += 32) y[i] = row[n - 1 - i];
}

// Rounded, handed to another lane, and added to something else: twice, no tree.
__global__ void transposed(__half* y, const __half* x, const __half* r, const __half* b) {
  __half v = __hadd(x[threadIdx.x], r[threadIdx.x]);
  v = __shfl_xor_sync(0xffffffffu, v, 1);
  y[threadIdx.x] = __hadd(v, b[threadIdx.x]);
}

// Every element gets one addition.
__global__ void scattered(__half* y, const __half* x) {
  atomicAdd(y + (threadIdx.x ^ 5), x[threadIdx.x]);
}

// Rotation of pairs, in halves, over lanes.
__global__ void rotation(__half* y, const __half* x, const __half* c, const __half* s, int n) {
  for (int i = threadIdx.x; i < n; i += 32) {
    const __half other = __shfl_xor_sync(0xffffffffu, x[i], 1);
    y[i] = __hfma(x[i], c[i], __hmul(other, s[i]));
  }
}

// A root by Newton's steps, in halves: each corrects the one before.
__global__ void newton(__half* y, const __half* a, int turns) {
  const __half v = a[threadIdx.x];
  __half r = __float2half(0.5f);
#pragma unroll 1
  for (int k = 0; k < turns; ++k) r = __hmul(r, __hfma(__hneg(v), r, __float2half(2.0f)));
  y[threadIdx.x] = r;
}

// One product of tensor cores, in halves: rounded once.
__global__ void one_product(__half* y, const __half* a, const __half* b) {
  using namespace nvcuda;
  wmma::fragment<wmma::accumulator, 16, 16, 16, __half> sum;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
  wmma::fill_fragment(sum, __float2half(0.0f));
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(y, sum, 16, wmma::mem_row_major);
}

// A narrow sum on a path that no thread takes, and one that reaches no output.
__global__ void dead_path(float* y, const __half* x, int n) {
  float sum = 0.0f;
  if (n < 0) {
    __half narrow = __float2half(0.0f);
#pragma unroll 1
    for (int i = 0; i < -n; ++i) narrow = __hadd(narrow, x[i]);
    sum = __half2float(narrow);
  }
  for (int i = threadIdx.x; i < n; i += 32) sum += __half2float(x[i]);
  y[threadIdx.x] = sum;
}

// Right under accumulate = "f64": a sum of floats in double.
__global__ void double_loop(double* y, const float* x, int n) {
  double sum = 0;
  for (int i = threadIdx.x; i < n; i += 32) sum += x[i] * x[i];
  y[threadIdx.x] = sum;
}

}  // extern "C"
