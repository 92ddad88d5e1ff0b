// SwiGLU: silu of one matrix times another, a block a row.
//
// Field report: linkedin/Liger-Kernel#251, class 1 (int32 offsets). The program's index is not
// widened before it moves the pointers: index times row stride passes 2^31 in an int.
// Seen by: the wrap checker; out of bounds.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void swiglu(T* c, const T* a, const T* b, int a_stride, int cols) {
#ifdef PLANTED
  const int row = blockIdx.x;
#else
  const int64_t row = blockIdx.x;
#endif
  a += row * a_stride;
  b += row * cols;
  c += row * cols;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) {
    const float gate = to_float(a[i]);
    c[i] = from_float<T>(gate / (1.0f + expf(-gate)) * to_float(b[i]));
  }
}
