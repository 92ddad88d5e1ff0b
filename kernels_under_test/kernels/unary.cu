// y = f(x) elementwise in f32, one functor an operation. A thread takes four neighbouring elements
// at a time and strides over the grid; they travel as one vector where both buffers allow it.
#include "device_helpers.cuh"

/// Numbers of the contract's OP.
enum Operation : int {
  kExp,
  kLog,
  kLog1p,
  kExpm1,
  kSin,
  kCos,
  kTanh,
  kErf,
  kRsqrt,
  kSigmoid,
  kSilu,
  kGelu,
  kGeluTanh,
  kSoftplus,
  kLogsigmoid
};

template <int OP>
struct Function;

template <>
struct Function<kExp> {
  __device__ float operator()(float x) const { return expf(x); }
};
template <>
struct Function<kLog> {
  __device__ float operator()(float x) const { return logf(x); }
};
template <>
struct Function<kLog1p> {
  __device__ float operator()(float x) const { return log1pf(x); }
};
template <>
struct Function<kExpm1> {
  __device__ float operator()(float x) const { return expm1f(x); }
};
template <>
struct Function<kSin> {
  __device__ float operator()(float x) const { return sinf(x); }
};
template <>
struct Function<kCos> {
  __device__ float operator()(float x) const { return cosf(x); }
};
template <>
struct Function<kTanh> {
  __device__ float operator()(float x) const { return tanhf(x); }
};
template <>
struct Function<kErf> {
  __device__ float operator()(float x) const { return erff(x); }
};
template <>
struct Function<kRsqrt> {
  __device__ float operator()(float x) const { return rsqrtf(x); }
};
template <>
struct Function<kSigmoid> {
  __device__ float operator()(float x) const { return 1.0f / (1.0f + expf(-x)); }
};
template <>
struct Function<kSilu> {
  __device__ float operator()(float x) const { return x / (1.0f + expf(-x)); }
};
template <>
struct Function<kGelu> {
  __device__ float operator()(float x) const {
    return 0.5f * x * (1.0f + erff(x * 0.70710678118654752440f));
  }
};
template <>
struct Function<kGeluTanh> {
  __device__ float operator()(float x) const {
    const float inner = 0.79788456080286535588f * (x + 0.044715f * x * x * x);
    return 0.5f * x * (1.0f + tanhf(inner));
  }
};
// Both keep the exponential's argument negative, so neither overflows; NaN comes back through it.
template <>
struct Function<kSoftplus> {
  __device__ float operator()(float x) const { return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x))); }
};
template <>
struct Function<kLogsigmoid> {
  __device__ float operator()(float x) const { return fminf(x, 0.0f) - log1pf(expf(-fabsf(x))); }
};

template <typename T, int OP, int BLOCK>
__global__ void __launch_bounds__(BLOCK) unary(T* y, const T* x, int64_t n) {
  constexpr int V = 4;
  constexpr Function<OP> f;
  const bool vectors = ((reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y)) %
                        sizeof(Vector<T, V>)) == 0;
  const int64_t step = int64_t{gridDim.x} * BLOCK * V;
  for (int64_t i = (int64_t{blockIdx.x} * BLOCK + threadIdx.x) * V; i < n; i += step) {
    if (vectors && i + V <= n) {
      Vector<T, V> v = load<V>(x + i);
#pragma unroll
      for (int j = 0; j < V; ++j) v.at[j] = from_float<T>(f(to_float(v.at[j])));
      store(y + i, v);
    } else {
      for (int j = 0; j < V && i + j < n; ++j) y[i + j] = from_float<T>(f(to_float(x[i + j])));
    }
  }
}
