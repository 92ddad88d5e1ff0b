// y = f(a, b) elementwise, one functor an operation; halves are computed in f32, doubles in f64. A
// thread takes four neighbouring elements at a time and strides over the grid; they travel as
// vectors where all three buffers allow it.
#include "device_helpers.cuh"

/// Numbers of the contracts' OP.
enum Operation : int {
  kDivide,
  kFmod,
  kPow,
  kCopysign,
  kAtan2,
  kHypot,
  kMaximum,
  kMinimum,
  kFmax,
  kFmin
};

// What the operation is computed in.
template <typename T>
struct Accumulator {
  using type = float;
  static __device__ float from(T v) { return to_float(v); }
  static __device__ T to(float v) { return from_float<T>(v); }
};
template <>
struct Accumulator<double> {
  using type = double;
  static __device__ double from(double v) { return v; }
  static __device__ double to(double v) { return v; }
};

template <int OP>
struct Function;

template <>
struct Function<kDivide> {
  template <typename A>
  __device__ A operator()(A a, A b) const {
    return a / b;
  }
};
template <>
struct Function<kFmod> {
  __device__ float operator()(float a, float b) const { return fmodf(a, b); }
  __device__ double operator()(double a, double b) const { return fmod(a, b); }
};
template <>
struct Function<kPow> {
  __device__ float operator()(float a, float b) const { return powf(a, b); }
  __device__ double operator()(double a, double b) const { return pow(a, b); }
};
template <>
struct Function<kCopysign> {
  __device__ float operator()(float a, float b) const { return copysignf(a, b); }
  __device__ double operator()(double a, double b) const { return copysign(a, b); }
  // The sign of a NaN does not survive a conversion, so halves stay what they are.
  __device__ __half operator()(__half a, __half b) const {
    return __ushort_as_half(signed_as(__half_as_ushort(a), __half_as_ushort(b)));
  }
  __device__ __nv_bfloat16 operator()(__nv_bfloat16 a, __nv_bfloat16 b) const {
    return __ushort_as_bfloat16(signed_as(__bfloat16_as_ushort(a), __bfloat16_as_ushort(b)));
  }
  static __device__ unsigned short signed_as(unsigned short a, unsigned short b) {
    return (a & 0x7fff) | (b & 0x8000);
  }
};
template <>
struct Function<kAtan2> {
  __device__ float operator()(float a, float b) const { return atan2f(a, b); }
  __device__ double operator()(double a, double b) const { return atan2(a, b); }
};
template <>
struct Function<kHypot> {
  __device__ float operator()(float a, float b) const { return hypotf(a, b); }
  __device__ double operator()(double a, double b) const { return hypot(a, b); }
};
// NaN wins, as PyTorch's maximum and minimum have it.
template <>
struct Function<kMaximum> {
  template <typename A>
  __device__ A operator()(A a, A b) const {
    return a != a ? a : b != b ? b : a < b ? b : a;
  }
};
template <>
struct Function<kMinimum> {
  template <typename A>
  __device__ A operator()(A a, A b) const {
    return a != a ? a : b != b ? b : b < a ? b : a;
  }
};
// The number wins, as PyTorch's fmax and fmin have it.
template <>
struct Function<kFmax> {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
  __device__ double operator()(double a, double b) const { return fmax(a, b); }
};
template <>
struct Function<kFmin> {
  __device__ float operator()(float a, float b) const { return fminf(a, b); }
  __device__ double operator()(double a, double b) const { return fmin(a, b); }
};

template <typename T, int OP>
__device__ inline T apply(T a, T b) {
  constexpr Function<OP> f;
  if constexpr (OP == kCopysign) {
    return f(a, b);
  } else {
    using Number = Accumulator<T>;
    return Number::to(f(Number::from(a), Number::from(b)));
  }
}

template <typename T, int OP, int BLOCK>
__global__ void __launch_bounds__(BLOCK) binary(T* y, const T* a, const T* b, int64_t n) {
  constexpr int V = 4;
  const auto addresses = reinterpret_cast<uintptr_t>(y) | reinterpret_cast<uintptr_t>(a) |
                         reinterpret_cast<uintptr_t>(b);
  const bool vectors = addresses % sizeof(Vector<T, V>) == 0;
  const int64_t step = int64_t{gridDim.x} * BLOCK * V;
  for (int64_t i = (int64_t{blockIdx.x} * BLOCK + threadIdx.x) * V; i < n; i += step) {
    if (vectors && i + V <= n) {
      Vector<T, V> u = load<V>(a + i);
      const Vector<T, V> v = load<V>(b + i);
#pragma unroll
      for (int j = 0; j < V; ++j) u.at[j] = apply<T, OP>(u.at[j], v.at[j]);
      store(y + i, u);
    } else {
      for (int j = 0; j < V && i + j < n; ++j) y[i + j] = apply<T, OP>(a[i + j], b[i + j]);
    }
  }
}
