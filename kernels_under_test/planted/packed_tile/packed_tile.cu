// Rows multiplied by a scalar, a tile of 128 columns a block.
//
// Field report: fla-org/flash-linear-attention#172, class 2 (grid limits). The launch respects the
// limits by counting tiles on grid.x alone; the kernel then keeps a tile's coordinates in two
// halves of a word, so the limit of 65536 rows is back.
// Seen by: unwritten elements and writes outside what the block owns, from row 65536 on.
#include "../../kernels/device_helpers.cuh"

struct Tile {
#ifdef PLANTED
  unsigned short row, col;
#else
  unsigned row, col;
#endif
};

template <typename T>
__global__ void scale_tiles(T* y, const T* x, int cols, int tiles, float factor) {
  Tile tile;
  tile.row = blockIdx.x / tiles;
  tile.col = blockIdx.x % tiles;
  const int col = tile.col * 128 + threadIdx.x;
  if (col >= cols) return;
  const int64_t at = int64_t{tile.row} * cols + col;
  y[at] = from_float<T>(to_float(x[at]) * factor);
}
