// Rows multiplied by the scale of their tile of eight rows; tiles of 8 x 32 in swizzled order.
//
// Field report: NVIDIA/cutlass#3394, class 12 (configuration). Data are read by the logical tile
// and their scale by the block's own number; the two are the same without a swizzle.
// Seen by: the oracle (mismatch), with a swizzle of 2 or 4.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void scale_tiles(T* y, const T* x, const float* scale, int rows, int cols, int swizzle) {
  const int col_tiles = (cols + 31) / 32;
  const int band = blockIdx.x / (swizzle * col_tiles);
  const int row_tile = band * swizzle + blockIdx.x % swizzle;
  const int col_tile = blockIdx.x / swizzle % col_tiles;
  const int64_t row = int64_t{row_tile} * 8 + threadIdx.y;
  const int col = col_tile * 32 + threadIdx.x;
  if (row >= rows || col >= cols) return;
#ifdef PLANTED
  const float factor = scale[blockIdx.x / col_tiles];
#else
  const float factor = scale[row_tile];
#endif
  y[row * cols + col] = from_float<T>(to_float(x[row * cols + col]) * factor);
}
