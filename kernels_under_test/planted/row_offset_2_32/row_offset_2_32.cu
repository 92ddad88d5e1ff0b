// Bias added to every row.
//
// Field report: sgl-project/sglang#20389, class 1 (int32 offsets). The output's row offset is a
// product of 32-bit numbers: at 65536 * 65536 it wraps to 0 exactly, so right values go to a valid
// address in the wrong row and their own row keeps what it held.
// Seen by: the wrap checker; as unwritten elements and a write outside what the block owns.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void add_bias(T* y, const T* x, const T* bias, unsigned cols) {
  const unsigned col = blockIdx.y * blockDim.x + threadIdx.x;
  if (col >= cols) return;
  const int64_t in = int64_t{blockIdx.x} * cols + col;
#ifdef PLANTED
  const unsigned out = blockIdx.x * cols + col;
#else
  const int64_t out = in;
#endif
  y[out] = from_float<T>(to_float(x[in]) + to_float(bias[col]));
}
