// Products in other forms: integer and fp8 operands, matrix by vector, distances, convolution,
// transforms.
#include <cuda_fp8.h>

#include "../kernels/device_helpers.cuh"

/// int8 operands by dp4a, a scale a row and a column.
template <typename T>
__global__ void matmul_int8(T* y, const int8_t* a, const int8_t* b, const float* a_scale,
                            const float* b_scale, int rows, int cols, int words) {
  const int col = blockIdx.x * 32 + threadIdx.x;
  const int row = blockIdx.y * 4 + threadIdx.y;
  if (row >= rows || col >= cols) return;
  const int* pa = reinterpret_cast<const int*>(a) + int64_t{row} * words;
  const int* pb = reinterpret_cast<const int*>(b) + int64_t{col} * words;
  int sum = 0;
  for (int k = 0; k < words; ++k) sum = __dp4a(pa[k], pb[k], sum);
  y[int64_t{row} * cols + col] = from_float<T>(float(sum) * a_scale[row] * b_scale[col]);
}

/// Four fp8 codes of a row from column k, zeros outside.
__device__ inline uint32_t four_codes(const uint8_t* p, int row, int rows, int k, int depth) {
  uint32_t word = 0;
  for (int i = 0; i < 4; ++i)
    if (row < rows && k + i < depth) word |= uint32_t{p[int64_t{row} * depth + k + i]} << (8 * i);
  return word;
}

/// e4m3 operands on tensor cores (sm_89), one warp a tile of 16 x 8, a scale a row and a column.
__global__ void matmul_fp8_mma(__nv_bfloat16* y, const uint8_t* x, const uint8_t* w,
                               const float* x_scale, const float* w_scale, int rows, int cols,
                               int depth) {
  const int group = threadIdx.x / 4;
  const int lane = threadIdx.x % 4;
  const int row = blockIdx.x * 16 + group;
  const int col = blockIdx.y * 8;
  float sum[4] = {};
  for (int k = 4 * lane; k - 4 * lane < depth; k += 32) {
    const uint32_t a0 = four_codes(x, row, rows, k, depth);
    const uint32_t a1 = four_codes(x, row + 8, rows, k, depth);
    const uint32_t a2 = four_codes(x, row, rows, k + 16, depth);
    const uint32_t a3 = four_codes(x, row + 8, rows, k + 16, depth);
    const uint32_t b0 = four_codes(w, col + group, cols, k, depth);
    const uint32_t b1 = four_codes(w, col + group, cols, k + 16, depth);
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }
  for (int i = 0; i < 4; ++i) {
    const int r = row + i / 2 * 8;
    const int c = col + 2 * lane + i % 2;
    if (r < rows && c < cols)
      y[int64_t{r} * cols + c] = __float2bfloat16(sum[i] * x_scale[r] * w_scale[c]);
  }
}

/// Operands of the two fp8 types, converted one by one.
template <int BLOCK>
__global__ void matvec_fp8(__nv_bfloat16* y, const __nv_fp8_e4m3* a, const __nv_fp8_e5m2* x,
                           const float* a_scale, float x_scale, int depth) {
  __shared__ float partial[BLOCK / 32];
  float sum = 0.0f;
  for (int k = threadIdx.x; k < depth; k += BLOCK)
    sum += float(a[int64_t{blockIdx.x} * depth + k]) * float(x[k]);
  sum = block_reduce<BLOCK>(sum, Sum(), partial);
  if (threadIdx.x == 0) y[blockIdx.x] = __float2bfloat16(sum * a_scale[blockIdx.x] * x_scale);
}

/// y = alpha a x + beta y, one warp a row; y is not read where beta is 0.
template <typename T>
__global__ void matvec(T* y, const T* a, const T* x, int64_t a_stride, int rows, int depth,
                       float alpha, float beta) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int k = threadIdx.x; k < depth; k += 32)
    sum = fmaf(to_float(a[row * a_stride + k]), to_float(x[k]), sum);
  sum = warp_reduce(sum, Sum());
  if (threadIdx.x == 0)
    y[row] = from_float<T>(alpha * sum + (beta == 0.0f ? 0.0f : beta * to_float(y[row])));
}

/// Sparse rows times a vector, one warp a row.
__global__ void matvec_csr(float* y, const float* value, const int* column, const int* offset,
                           const float* x, int rows) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int i = offset[row] + threadIdx.x; i < offset[row + 1]; i += 32)
    sum += value[i] * x[column[i]];
  sum = warp_reduce(sum, Sum());
  if (threadIdx.x == 0) y[row] = sum;
}

/// Distances of all pairs of rows, by differences, and squared by the expanded binomial.
__global__ void pairwise_distance(float* distance, float* squared, const float* a, const float* b,
                                  int cols, int depth) {
  const int col = blockIdx.x * 32 + threadIdx.x;
  const int row = blockIdx.y;
  if (col >= cols) return;
  float sum = 0.0f;
  float aa = 0.0f;
  float bb = 0.0f;
  float ab = 0.0f;
  for (int k = 0; k < depth; ++k) {
    const float u = a[int64_t{row} * depth + k];
    const float v = b[int64_t{col} * depth + k];
    sum += (u - v) * (u - v);
    aa += u * u;
    bb += v * v;
    ab += u * v;
  }
  distance[int64_t{row} * cols + col] = sqrtf(sum);
  squared[int64_t{row} * cols + col] = fmaxf(aa + bb - 2.0f * ab, 0.0f);
}

/// Convolution of planes with stride, padding, dilation and bias, an output a thread.
template <typename T, int KERNEL>
__global__ void conv2d(T* y, const T* x, const T* w, const T* bias, int64_t n, int in_channels,
                       int out_channels, int height, int width, int out_height, int out_width,
                       int stride, int pad, int dilation) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int ox = int(i % out_width);
  const int oy = int(i / out_width % out_height);
  const int out = int(i / out_width / out_height % out_channels);
  const int64_t image = i / out_width / out_height / out_channels;
  float sum = to_float(bias[out]);
  for (int c = 0; c < in_channels; ++c)
    for (int r = 0; r < KERNEL; ++r)
      for (int s = 0; s < KERNEL; ++s) {
        const int iy = oy * stride - pad + r * dilation;
        const int ix = ox * stride - pad + s * dilation;
        if (iy < 0 || iy >= height || ix < 0 || ix >= width) continue;
        sum = fmaf(to_float(x[((image * in_channels + c) * height + iy) * width + ix]),
                   to_float(w[((out * in_channels + c) * KERNEL + r) * KERNEL + s]), sum);
      }
  y[i] = from_float<T>(sum);
}

/// The discrete Fourier transform of rows by its definition.
__global__ void dft(float2* y, const float2* x, int n) {
  const int k = blockIdx.x * 32 + threadIdx.x;
  if (k >= n) return;
  float2 sum = {0.0f, 0.0f};
  for (int j = 0; j < n; ++j) {
    float sine, cosine;
    sincospif(-2.0f * float(int64_t{j} * k % n) / n, &sine, &cosine);
    const float2 v = x[int64_t{blockIdx.y} * n + j];
    sum.x += v.x * cosine - v.y * sine;
    sum.y += v.x * sine + v.y * cosine;
  }
  y[int64_t{blockIdx.y} * n + k] = sum;
}

/// Walsh-Hadamard transform of rows of N in shared memory, N / 2 threads a row.
template <typename T, int N>
__global__ void hadamard(T* y, const T* x) {
  __shared__ float s[N];
  const int64_t base = int64_t{blockIdx.x} * N;
  for (int i = threadIdx.x; i < N; i += N / 2) s[i] = to_float(x[base + i]);
  __syncthreads();
  for (int half = 1; half < N; half *= 2) {
    const int i = threadIdx.x / half * 2 * half + threadIdx.x % half;
    const float a = s[i];
    const float b = s[i + half];
    s[i] = a + b;
    s[i + half] = a - b;
    __syncthreads();
  }
  const float scale = rsqrtf(float(N));
  for (int i = threadIdx.x; i < N; i += N / 2) y[base + i] = from_float<T>(s[i] * scale);
}
