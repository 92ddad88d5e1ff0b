// Elements doubled, four at a time, one block a row.
//
// Field report: ROCm/aiter#5044, class 3 (tails): the last vector of a row is stored whole, past the
// row's end. The end of the buffer is guarded, and what lands in the next row is what that row's own
// block stores there too: every answer is right. It no longer is when a row has a factor of its own.
// Seen by: a write outside what the block owns.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void double_rows(T* y, const T* x, int rows, int cols) {
  const int64_t first = int64_t{blockIdx.x} * cols;
#ifdef PLANTED
  const int64_t end = int64_t{rows} * cols;
#else
  const int64_t end = first + cols;
#endif
  for (int i = 4 * threadIdx.x; i < cols; i += 4 * blockDim.x) {
    for (int64_t at = first + i; at < first + i + 4 && at < end; ++at) {
      y[at] = from_float<T>(2.0f * to_float(x[at]));
    }
  }
}
