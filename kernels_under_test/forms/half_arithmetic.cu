// Arithmetic and functions in half precision itself, by the intrinsics of the CUDA headers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

template <typename T, int FUNCTION>
__global__ void half_function(T* y, const T* x, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (FUNCTION == 0) y[i] = hexp(x[i]);
  if (FUNCTION == 1) y[i] = hexp2(x[i]);
  if (FUNCTION == 2) y[i] = hexp10(x[i]);
  if (FUNCTION == 3) y[i] = hlog(x[i]);
  if (FUNCTION == 4) y[i] = hlog2(x[i]);
  if (FUNCTION == 5) y[i] = hsin(x[i]);
  if (FUNCTION == 6) y[i] = hcos(x[i]);
  if (FUNCTION == 7) y[i] = hrcp(x[i]);
  if (FUNCTION == 8) y[i] = hsqrt(x[i]);
  if (FUNCTION == 9) y[i] = hrsqrt(x[i]);
}

/// y = a x + y, two at a time where the addresses allow it.
__global__ void half_axpy(__half* y, const __half* x, __half a, int64_t n) {
  const int64_t i = 2 * (int64_t{blockIdx.x} * blockDim.x + threadIdx.x);
  const bool pairs = ((reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y)) & 3) == 0;
  if (pairs && i + 1 < n) {
    __half2* at = reinterpret_cast<__half2*>(y + i);
    *at = __hfma2(__half2half2(a), *reinterpret_cast<const __half2*>(x + i), *at);
    return;
  }
  for (int64_t j = i; j < n && j < i + 2; ++j) y[j] = __hfma(a, x[j], y[j]);
}

/// A dot product accumulated in half, one warp a row.
__global__ void half_dot(__half* y, const __half* a, const __half* b, int cols) {
  const int64_t base = int64_t{blockIdx.x} * cols;
  __half sum = __float2half(0.0f);
  for (int i = threadIdx.x; i < cols; i += 32) sum = __hfma(a[base + i], b[base + i], sum);
  for (int lane = 16; lane > 0; lane /= 2)
    sum = __hadd(sum, __shfl_down_sync(0xffffffffu, sum, lane));
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

__global__ void bf16_arithmetic(__nv_bfloat16* twice, __nv_bfloat16* once, __nv_bfloat16* quotient,
                                const __nv_bfloat16* x, const __nv_bfloat16* y, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  twice[i] = __hadd(__hmul(x[i], y[i]), x[i]);
  once[i] = __hfma(x[i], y[i], x[i]);
  quotient[i] = __hdiv(x[i], y[i]);
}

__global__ void half_clamping(__half* saturated, __half* relu, __half* least, const __half* x,
                              const __half* y, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  saturated[i] = __hadd_sat(x[i], y[i]);
  relu[i] = __hfma_relu(x[i], y[i], x[i]);
  least[i] = __hmin_nan(x[i], __hmul(y[i], y[i]));
}
