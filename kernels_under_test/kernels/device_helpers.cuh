// What the kernels share: conversions to and from the accumulator, vectors, reductions.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

__device__ inline float to_float(float v) { return v; }
__device__ inline float to_float(__half v) { return __half2float(v); }
__device__ inline float to_float(__nv_bfloat16 v) { return __bfloat162float(v); }

template <typename T>
__device__ inline T from_float(float v);
template <>
__device__ inline float from_float<float>(float v) {
  return v;
}
template <>
__device__ inline __half from_float<__half>(float v) {
  return __float2half_rn(v);
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float v) {
  return __float2bfloat16_rn(v);
}

/// N elements moved by one load or store.
template <typename T, int N>
struct alignas(sizeof(T) * N) Vector {
  T at[N];
};

template <int N, typename T>
__device__ inline Vector<T, N> load(const T* p) {
  return *reinterpret_cast<const Vector<T, N>*>(p);
}
template <typename T, int N>
__device__ inline void store(T* p, const Vector<T, N>& v) {
  *reinterpret_cast<Vector<T, N>*>(p) = v;
}

/// True where every pointer allows accesses of BYTES, a power of two.
template <int BYTES, typename... Pointers>
__device__ inline bool aligned(Pointers... pointers) {
  return ((reinterpret_cast<uintptr_t>(pointers) | ...) & (BYTES - 1)) == 0;
}
template <typename... Pointers>
__device__ inline bool aligned16(Pointers... pointers) {
  return aligned<16>(pointers...);
}

/// The first `count` of N elements, the others 0; at once where all are there and `vectors` says
/// that p is aligned to them.
template <int N, typename T>
__device__ inline Vector<T, N> load_part(const T* p, int count, bool vectors) {
  if (vectors && count >= N) return load<N>(p);
  Vector<T, N> v;
#pragma unroll
  for (int j = 0; j < N; ++j) v.at[j] = j < count ? p[j] : T(0);
  return v;
}
template <typename T, int N>
__device__ inline void store_part(T* p, const Vector<T, N>& v, int count, bool vectors) {
  if (vectors && count >= N) {
    store(p, v);
    return;
  }
#pragma unroll
  for (int j = 0; j < N; ++j)
    if (j < count) p[j] = v.at[j];
}

struct Sum {
  static constexpr float kIdentity = 0.0f;
  __device__ float operator()(float a, float b) const { return a + b; }
};

// fmaxf returns the other operand when one is NaN.
struct Max {
  static constexpr float kIdentity = -INFINITY;
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/// Sum of N terms, a power of two, in pairs: log2(N) additions deep.
template <int N>
__device__ inline float sum_in_pairs(float (&terms)[N]) {
#pragma unroll
  for (int half = N / 2; half > 0; half /= 2) {
#pragma unroll
    for (int j = 0; j < half; ++j) terms[j] += terms[j + half];
  }
  return terms[0];
}

/// Sum of what the lanes up to this one hold.
template <typename T>
__device__ inline T warp_scan(T v) {
#pragma unroll
  for (int lane = 1; lane < 32; lane *= 2) {
    const T before = __shfl_up_sync(0xffffffffu, v, lane);
    if (threadIdx.x % 32 >= lane) v += before;
  }
  return v;
}

/// The largest of the elements that one of BLOCK threads meets in a row of n, the first `whole` of
/// them V at a time. NaN is no element.
template <int BLOCK, int V, typename T>
__device__ inline float thread_max(const T* x, int whole, int n) {
  float m = -INFINITY;
#pragma unroll 1
  for (int i = threadIdx.x * V; i < whole; i += BLOCK * V) {
    const Vector<T, V> v = load<V>(x + i);
#pragma unroll
    for (int j = 0; j < V; ++j) m = fmaxf(m, to_float(v.at[j]));
  }
#pragma unroll 1
  for (int i = whole + threadIdx.x; i < n; i += BLOCK) m = fmaxf(m, to_float(x[i]));
  return m;
}

template <typename Op>
__device__ inline float warp_reduce(float v, Op op) {
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) v = op(v, __shfl_xor_sync(0xffffffffu, v, lane));
  return v;
}

/// Reduction over a block of BLOCK threads, a power of two from 32 to 1024; every thread gets the
/// result. `partial` is shared memory of BLOCK / 32 floats that no other reduction uses: two that
/// shared it would need a barrier in between.
template <int BLOCK, typename Op>
__device__ inline float block_reduce(float v, Op op, float* partial) {
  constexpr int kWarps = BLOCK / 32;
  static_assert(kWarps >= 1 && kWarps <= 32 && (BLOCK & (BLOCK - 1)) == 0, "32 to 1024 threads");
  v = warp_reduce(v, op);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  v = partial[threadIdx.x % kWarps];
#pragma unroll
  for (int lane = kWarps / 2; lane > 0; lane /= 2) v = op(v, __shfl_xor_sync(0xffffffffu, v, lane));
  return v;
}
