// Tiled matrix product in f32, one element a thread.
//
// Field report: triton-lang/triton#630, class 3 (tails). The last tile along K is loaded under a
// mask, but what the mask leaves out is not set to 0: it still holds the tile before.
// Seen by: the oracle (mismatch) where K is no multiple of TILE; where K is less, as a use of
// shared memory that was never written.
#include <cstdint>

template <int TILE>
__global__ void product(float* y, const float* x, const float* w, int M, int N, int K) {
  __shared__ float xs[TILE][TILE], ws[TILE][TILE];
  const int64_t m = int64_t{blockIdx.x} * TILE + threadIdx.y;
  const int n = blockIdx.y * TILE + threadIdx.x;
  float sum = 0.0f;
  for (int k = 0; k < K; k += TILE) {
    const int xk = k + threadIdx.x, wk = k + threadIdx.y;
#ifdef PLANTED
    if (xk < K) xs[threadIdx.y][threadIdx.x] = m < M ? x[m * K + xk] : 0.0f;
    if (wk < K) ws[threadIdx.y][threadIdx.x] = n < N ? w[int64_t{wk} * N + n] : 0.0f;
#else
    xs[threadIdx.y][threadIdx.x] = m < M && xk < K ? x[m * K + xk] : 0.0f;
    ws[threadIdx.y][threadIdx.x] = n < N && wk < K ? w[int64_t{wk} * N + n] : 0.0f;
#endif
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; ++i) sum += xs[threadIdx.y][i] * ws[i][threadIdx.x];
    __syncthreads();
  }
  if (m < M && n < N) y[m * N + n] = sum;
}
