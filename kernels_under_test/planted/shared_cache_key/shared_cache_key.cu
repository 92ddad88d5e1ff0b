// Sum of a vector, one warp, in steps of 32 elements. How many steps a size takes is worked out by the
// first call and kept in a cache for the calls after it; two calls.
//
// Field report: facebookexperimental/triton#2869, class 9 (specialisation on values). What was built
// for one size is found by a key that another size has too: sizes that are alike in whether 16 divides
// them share it. Which of them came first decides. (The report's cause is disputed; two calls of one
// process are two launches here, the cache is a workspace.)
// Seen by: the oracle (mismatch), where the first size takes fewer steps.
#include "../../kernels/device_helpers.cuh"

constexpr int kSlots = 8;

__global__ void clear(int* cache) {
  if (threadIdx.x < kSlots) cache[threadIdx.x] = 0;
}

/// The place of a size's steps. The twin keeps each size beside them, for as many as there are calls.
__device__ inline int slot_of(int* cache, int n) {
#ifdef PLANTED
  return n % 16 == 0 ? 0 : 1;
#else
  for (int slot = 0; slot < kSlots; slot += 2) {
    if (cache[slot] == 0) cache[slot] = n;
    if (cache[slot] == n) return slot + 1;
  }
  return kSlots - 1;
#endif
}

template <typename T>
__global__ void __launch_bounds__(32) sum_parts(float* y, const T* x, int* cache, int n) {
  __shared__ int steps;
  if (threadIdx.x == 0) {
    int* kept = cache + slot_of(cache, n);
    if (*kept == 0) *kept = (n + 31) / 32;
    steps = *kept;
  }
  __syncwarp();
  float sum = 0.0f;
  for (int step = 0; step < steps; ++step) {
    const int i = step * 32 + threadIdx.x;
    if (i < n) sum += to_float(x[i]);
  }
  sum = warp_reduce(sum, Sum());
  if (threadIdx.x == 0) *y = sum;
}
