// Dynamic quantisation of each row to int8: scale = max |x| / 127, codes = x / scale to the
// nearest. One block a row; a thread takes four neighbouring elements at a time where the row
// allows it.
#include "device_helpers.cuh"

// cvt.rni to 32 bits saturates and makes 0 of NaN; the clamp does the rest.
__device__ inline signed char to_int8(float v) {
  const int code = __float2int_rn(v);
  return static_cast<signed char>(min(max(code, -128), 127));
}

template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    quantize_int8(signed char* q, float* scales, const T* x, int64_t x_stride, int cols) {
  constexpr int V = 4;
  __shared__ float maxima[BLOCK / 32];
  x += int64_t{blockIdx.x} * x_stride;
  q += int64_t{blockIdx.x} * cols;
  const bool vectors = reinterpret_cast<uintptr_t>(x) % sizeof(Vector<T, V>) == 0 &&
                       reinterpret_cast<uintptr_t>(q) % sizeof(Vector<signed char, V>) == 0;
  const int whole = vectors ? cols / V * V : 0;

  float largest = 0.0f;
  for (int i = threadIdx.x * V; i < whole; i += BLOCK * V) {
    const Vector<T, V> v = load<V>(x + i);
#pragma unroll
    for (int j = 0; j < V; ++j) largest = fmaxf(largest, fabsf(to_float(v.at[j])));
  }
  for (int i = whole + threadIdx.x; i < cols; i += BLOCK)
    largest = fmaxf(largest, fabsf(to_float(x[i])));
  // A row of zeros keeps a scale to divide by.
  const float scale = fmaxf(block_reduce<BLOCK>(largest, Max(), maxima), 1e-10f) / 127.0f;
  if (threadIdx.x == 0) scales[blockIdx.x] = scale;

  for (int i = threadIdx.x * V; i < whole; i += BLOCK * V) {
    const Vector<T, V> v = load<V>(x + i);
    Vector<signed char, V> out;
#pragma unroll
    for (int j = 0; j < V; ++j) out.at[j] = to_int8(to_float(v.at[j]) / scale);
    store(q + i, out);
  }
  for (int i = whole + threadIdx.x; i < cols; i += BLOCK) q[i] = to_int8(to_float(x[i]) / scale);
}
