// A vector added to every row; rows lie on grid.y, and from 65535 on on grid.z too.
//
// Field report: triton-lang/triton#580, class 2 (grid limits): 65536 blocks are one more than
// grid.y takes. The fold is made by the power of two and not by the extent that is launched, so
// that every slice but the first starts a row late.
// Seen by: the oracle (unwritten; a store to a row that another block owns).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void add_rows(T* y, const T* x, const T* v, int rows, int cols) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef PLANTED
  const int row = blockIdx.z * 65536 + blockIdx.y;
#else
  const int row = blockIdx.z * gridDim.y + blockIdx.y;
#endif
  if (row >= rows || col >= cols) return;
  const int64_t at = int64_t{row} * cols + col;
  y[at] = from_float<T>(to_float(x[at]) + to_float(v[col]));
}
