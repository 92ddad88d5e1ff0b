// Elements doubled; tiles of 8 x 32 in groups of eight rows of tiles, an order kind to the cache.
//
// Field report: ROCm/FlyDSL#979, class 3 (tails). The last group is taken to have eight rows of
// tiles too: tiles below the matrix are visited in place of tiles at its right.
// Seen by: unwritten elements, where the rows of tiles are no multiple of eight.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void double_tiles(T* y, const T* x, int64_t x_stride, int rows, int cols, int row_tiles,
                             int col_tiles) {
  constexpr int kGroup = 8;
  const int group = blockIdx.x / (kGroup * col_tiles);
  const int in_group = blockIdx.x % (kGroup * col_tiles);
#ifdef PLANTED
  const int height = kGroup;
#else
  const int height = min(row_tiles - group * kGroup, kGroup);
#endif
  const int64_t row = int64_t{group * kGroup + in_group % height} * 8 + threadIdx.y;
  const int col = in_group / height * 32 + threadIdx.x;
  if (row < rows && col < cols) {
    y[row * cols + col] = from_float<T>(2.0f * to_float(x[row * x_stride + col]));
  }
}
