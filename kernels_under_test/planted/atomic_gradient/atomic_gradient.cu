// Column sums over tiles of rows, as the backward pass of attention gathers dq over blocks of keys.
//
// Field report: Dao-AILab/flash-attention#414, class 13 (batch and run variance). Blocks add their
// parts with f32 atomics: which comes first is up to the scheduler, so two runs of one input differ in
// their last bits, which the contract rules out.
// Seen by: the property repeatable. Every single run is within the allowance.
#include "../../kernels/device_helpers.cuh"

constexpr int kTile = 8;

__global__ void clear(float* dq, int cols) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col < cols) dq[col] = 0.0f;
}

template <typename T>
__global__ void gather(float* dq, float* parts, const T* ds, int64_t ds_stride, int rows, int cols) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col >= cols) return;
  const int first = blockIdx.y * kTile;
  float part = 0.0f;
  for (int row = first; row < rows && row < first + kTile; ++row) {
    part += to_float(ds[row * ds_stride + col]);
  }
#ifdef PLANTED
  atomicAdd(&dq[col], part);
#else
  parts[int64_t{blockIdx.y} * cols + col] = part;
#endif
}

__global__ void join(float* dq, const float* parts, int tiles, int cols) {
#ifndef PLANTED
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col >= cols) return;
  float sum = 0.0f;
  for (int tile = 0; tile < tiles; ++tile) sum += parts[int64_t{tile} * cols + col];
  dq[col] = sum;
#endif
}
