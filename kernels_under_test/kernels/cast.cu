// y = x converted elementwise, from and to f64 f32 f16 bf16 e4m3 e5m2 i8 u8 i32 i64, each value
// rounded once. A thread takes a vector of neighbouring elements at a time and strides over the
// grid.
//
// Beyond the destination's range: with SATURATE integers and 8-bit floats take their nearest end,
// NaN becomes the integer 0; without, integers wrap, a float's whole part going by way of a 64-bit
// integer, and floats become infinities (NaN where the type has none).
#include <cuda_fp8.h>

#include "device_helpers.cuh"

/// The value as a type that conversions start from: float, double, int or long long.
template <typename S>
__device__ inline float widened(S v) {
  return to_float(v);
}
__device__ inline double widened(double v) { return v; }
__device__ inline int widened(signed char v) { return v; }
__device__ inline int widened(unsigned char v) { return v; }
__device__ inline int widened(int v) { return v; }
__device__ inline long long widened(long long v) { return v; }
__device__ inline float widened(__nv_fp8_e4m3 v) {
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(v.__x, __NV_E4M3)));
}
__device__ inline float widened(__nv_fp8_e5m2 v) {
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(v.__x, __NV_E5M2)));
}

template <typename T>
constexpr bool kIsFloat = false;
template <>
constexpr bool kIsFloat<float> = true;
template <>
constexpr bool kIsFloat<double> = true;

__device__ inline __half to_half(float v) { return __float2half_rn(v); }
__device__ inline __half to_half(double v) { return __double2half(v); }
__device__ inline __half to_half(int v) { return __int2half_rn(v); }
__device__ inline __half to_half(long long v) { return __ll2half_rn(v); }
__device__ inline __nv_bfloat16 to_bfloat16(float v) { return __float2bfloat16_rn(v); }
__device__ inline __nv_bfloat16 to_bfloat16(double v) { return __double2bfloat16(v); }
__device__ inline __nv_bfloat16 to_bfloat16(int v) { return __int2bfloat16_rn(v); }
__device__ inline __nv_bfloat16 to_bfloat16(long long v) { return __ll2bfloat16_rn(v); }

// An integer that an 8-bit float can hold or round to lies far below 2^24: the float is exact.
template <bool SATURATE, __nv_fp8_interpretation_t FORMAT, typename W>
__device__ inline __nv_fp8_storage_t to_fp8(W v) {
  constexpr __nv_saturation_t beyond = SATURATE ? __NV_SATFINITE : __NV_NOSAT;
  if constexpr (sizeof(W) == 8 && kIsFloat<W>)
    return __nv_cvt_double_to_fp8(v, beyond, FORMAT);
  else
    return __nv_cvt_float_to_fp8(static_cast<float>(v), beyond, FORMAT);
}

__device__ inline long long whole_part(float v) { return __float2ll_rz(v); }
__device__ inline long long whole_part(double v) { return __double2ll_rz(v); }
__device__ inline long long whole_part(long long v) { return v; }

// Conversions to 64-bit integers saturate, whatever they are compiled to.
template <typename D, bool SATURATE, typename W>
__device__ inline D to_integer(W v, long long least, long long most) {
  if constexpr (SATURATE && kIsFloat<W>) {
    if (v != v) return 0;
  }
  const long long whole = whole_part(v);
  if constexpr (SATURATE)
    return static_cast<D>(whole < least ? least : whole > most ? most : whole);
  return static_cast<D>(whole);
}
template <typename D, bool SATURATE>
__device__ inline D to_integer(int v, long long least, long long most) {
  return to_integer<D, SATURATE>(static_cast<long long>(v), least, most);
}

template <typename D, bool SATURATE>
struct Convert;
template <bool SATURATE>
struct Convert<double, SATURATE> {
  template <typename W>
  __device__ double operator()(W v) const {
    return static_cast<double>(v);
  }
};
template <bool SATURATE>
struct Convert<float, SATURATE> {
  template <typename W>
  __device__ float operator()(W v) const {
    return static_cast<float>(v);
  }
};
template <bool SATURATE>
struct Convert<__half, SATURATE> {
  template <typename W>
  __device__ __half operator()(W v) const {
    return to_half(v);
  }
};
template <bool SATURATE>
struct Convert<__nv_bfloat16, SATURATE> {
  template <typename W>
  __device__ __nv_bfloat16 operator()(W v) const {
    return to_bfloat16(v);
  }
};
template <bool SATURATE>
struct Convert<__nv_fp8_e4m3, SATURATE> {
  template <typename W>
  __device__ __nv_fp8_e4m3 operator()(W v) const {
    __nv_fp8_e4m3 out;
    out.__x = to_fp8<SATURATE, __NV_E4M3>(v);
    return out;
  }
};
template <bool SATURATE>
struct Convert<__nv_fp8_e5m2, SATURATE> {
  template <typename W>
  __device__ __nv_fp8_e5m2 operator()(W v) const {
    __nv_fp8_e5m2 out;
    out.__x = to_fp8<SATURATE, __NV_E5M2>(v);
    return out;
  }
};
template <bool SATURATE>
struct Convert<signed char, SATURATE> {
  template <typename W>
  __device__ signed char operator()(W v) const {
    return to_integer<signed char, SATURATE>(v, -128, 127);
  }
};
template <bool SATURATE>
struct Convert<unsigned char, SATURATE> {
  template <typename W>
  __device__ unsigned char operator()(W v) const {
    return to_integer<unsigned char, SATURATE>(v, 0, 255);
  }
};
template <bool SATURATE>
struct Convert<int, SATURATE> {
  template <typename W>
  __device__ int operator()(W v) const {
    return to_integer<int, SATURATE>(v, -2147483647 - 1, 2147483647);
  }
};
template <bool SATURATE>
struct Convert<long long, SATURATE> {
  template <typename W>
  __device__ long long operator()(W v) const {
    return to_integer<long long, SATURATE>(v, -9223372036854775807 - 1, 9223372036854775807);
  }
};

template <typename S, typename D, bool SATURATE, int BLOCK>
__global__ void __launch_bounds__(BLOCK) cast(D* y, const S* x, int64_t n) {
  constexpr int V = 2;
  constexpr Convert<D, SATURATE> convert;
  const bool vectors = reinterpret_cast<uintptr_t>(x) % sizeof(Vector<S, V>) == 0 &&
                       reinterpret_cast<uintptr_t>(y) % sizeof(Vector<D, V>) == 0;
  const int64_t step = int64_t{gridDim.x} * BLOCK * V;
  for (int64_t i = (int64_t{blockIdx.x} * BLOCK + threadIdx.x) * V; i < n; i += step) {
    if (vectors && i + V <= n) {
      const Vector<S, V> in = load<V>(x + i);
      Vector<D, V> out;
#pragma unroll
      for (int j = 0; j < V; ++j) out.at[j] = convert(widened(in.at[j]));
      store(y + i, out);
    } else {
      for (int j = 0; j < V && i + j < n; ++j) y[i + j] = convert(widened(x[i + j]));
    }
  }
}
