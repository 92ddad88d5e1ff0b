// Rows multiplied by a weight, two elements a thread; the weight is padded to an even length.
//
// Field report: ROCm/aiter#5044, class 3 (tails). The pair at the end of an odd row is stored
// whole: its second half is the next row's first element, which that row's block writes too.
// Seen by: a write outside what the block owns; in the last row, outside the buffer.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void weigh_rows(T* y, const T* x, const T* weight, int cols) {
  x += int64_t{blockIdx.x} * cols;
  y += int64_t{blockIdx.x} * cols;
  for (int c = 2 * threadIdx.x; c < cols; c += 2 * blockDim.x) {
#ifdef PLANTED
    const bool pair = true;
#else
    const bool pair = c + 1 < cols;
#endif
    const Vector<T, 2> w = load<2>(weight + c);
    y[c] = from_float<T>(to_float(x[c]) * to_float(w.at[0]));
    if (pair) y[c + 1] = from_float<T>(to_float(x[c + 1]) * to_float(w.at[1]));
  }
}
