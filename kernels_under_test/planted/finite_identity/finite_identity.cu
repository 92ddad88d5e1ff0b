// Largest element of each row, NaN wins; one warp a row.
//
// Mutation of our row_max, class 4 (identities): the largest negative number stands for -inf, as it does
// where a type has no infinity. A row of -inf, masked from end to end, has a finite maximum then.
// Seen by: the oracle (mismatch: a number where -inf is right).
#include "../../kernels/device_helpers.cuh"

struct NanMax {
  __device__ float operator()(float a, float b) const { return a > b || a != a ? a : b; }
};

template <typename T>
__global__ void row_max(T* y, const T* x, int64_t x_stride, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
#ifdef PLANTED
  float m = -3e38f;
#else
  float m = -INFINITY;
#endif
  for (int i = threadIdx.x; i < cols; i += 32) m = NanMax()(m, to_float(x[i]));
  m = warp_reduce(m, NanMax());
  if (threadIdx.x == 0) y[row] = from_float<T>(m);
}
