// Matrix transposed through tiles of 16 x 16 in shared memory.
//
// Mutation of our transpose, class 3 (tails): a thread writes where it has not read, and its write
// is guarded with the sizes in the order of the read. Square matrices, and whole tiles, are right.
// Seen by: the checker of uninitialised values (parts of a tile that were not loaded); unwritten;
// out of bounds.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void transpose(T* y, const T* x, int rows, int cols) {
  __shared__ T tile[16][17];
  int col = blockIdx.x * 16 + threadIdx.x;
  int row = blockIdx.y * 16 + threadIdx.y;
  if (row < rows && col < cols) tile[threadIdx.y][threadIdx.x] = x[int64_t{row} * cols + col];
  __syncthreads();
  col = blockIdx.y * 16 + threadIdx.x;
  row = blockIdx.x * 16 + threadIdx.y;
#ifdef PLANTED
  const bool inside = row < rows && col < cols;
#else
  const bool inside = row < cols && col < rows;
#endif
  if (inside) y[int64_t{row} * rows + col] = tile[threadIdx.x][threadIdx.y];
}
