// y = x transposed, through TILE x TILE tiles in shared memory. Column tiles lie on grid.x; row
// tiles lie on grid.y, which ends at 65535, and the blocks stride over the rest.
#include <cuda_fp16.h>

#include <cstdint>

template <typename T, int TILE>
__global__ void transpose(T* y, const T* x, int64_t x_stride, int64_t rows, int cols) {
  constexpr int kRowsAtOnce = 8;
  __shared__ T tile[TILE][TILE + 1];  // the extra column keeps a tile's column off one bank
  const int64_t row_tiles = (rows + TILE - 1) / TILE;
  const int first_col = blockIdx.x * TILE;
  for (int64_t row_tile = blockIdx.y; row_tile < row_tiles; row_tile += gridDim.y) {
    const int64_t first_row = row_tile * TILE;
    for (int r = threadIdx.y; r < TILE; r += kRowsAtOnce) {
      const int64_t row = first_row + r;
      const int col = first_col + threadIdx.x;
      if (row < rows && col < cols) tile[r][threadIdx.x] = x[row * x_stride + col];
    }
    __syncthreads();
    for (int c = threadIdx.y; c < TILE; c += kRowsAtOnce) {
      const int64_t row = first_row + threadIdx.x;
      const int col = first_col + c;
      if (row < rows && col < cols) y[col * rows + row] = tile[threadIdx.x][c];
    }
    __syncthreads();  // the next round overwrites the tile
  }
}
