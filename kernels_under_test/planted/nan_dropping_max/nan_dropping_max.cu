// Maximum of each row, one warp a row.
//
// Field report: triton-lang/triton#6635, cupy/cupy#3097, class 4 (NaN). fmaxf returns the operand
// that is no NaN, so a NaN vanishes although the contract says that it propagates.
// Seen by: the oracle (mismatch: a number where NaN is right).
#include "../../kernels/device_helpers.cuh"

struct NanMax {
  __device__ float operator()(float a, float b) const {
#ifdef PLANTED
    return fmaxf(a, b);
#else
    return a > b || a != a ? a : b;
#endif
  }
};

template <typename T>
__global__ void row_max(T* y, const T* x, int64_t x_stride, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += 32) m = NanMax()(m, to_float(x[i]));
  m = warp_reduce(m, NanMax());
  if (threadIdx.x == 0) y[row] = from_float<T>(m);
}
