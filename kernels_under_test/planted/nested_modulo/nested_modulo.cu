// Elements multiplied by a pattern of length K that repeats along the flat index.
//
// Field report: tile-ai/tilelang#2955, class 7 (integer semantics). (row * cols + col) % K is
// folded to col % K, which is right only where K divides cols.
// Seen by: the oracle (mismatch), from the second row on.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void repeat_pattern(T* y, const T* x, const T* pattern, int cols, int K) {
  const int64_t first = int64_t{blockIdx.x} * cols;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
#ifdef PLANTED
    const int k = c % K;
#else
    const int k = static_cast<int>((first + c) % K);
#endif
    y[first + c] = from_float<T>(to_float(x[first + c]) * to_float(pattern[k]));
  }
}
