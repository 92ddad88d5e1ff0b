// y = x w in f32, one element a thread.
//
// Mutation of our matmul, class 3 (sizes): the loop over K ends at N. Square matrices are right.
// Seen by: the oracle (mismatch), where N is less; as reads past the end, where it is more.
#include <cstdint>

__global__ void product(float* y, const float* x, const float* w, int M, int N, int K) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  const int64_t col = int64_t{blockIdx.y} * blockDim.x + threadIdx.x;
  if (row >= M || col >= N) return;
  float sum = 0.0f;
#ifdef PLANTED
  const int last = N;
#else
  const int last = K;
#endif
  for (int k = 0; k < last; ++k) {
    sum += x[row * K + k] * w[k * int64_t{N} + col];
  }
  y[row * N + col] = sum;
}
