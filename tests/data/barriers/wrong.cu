// Faults that the barrier checker has to find; barriers_test.cpp runs each kernel. A comment
// `// NAME` marks the line that the finding names, `// NAME other` that of one of its steps.
// Compiled to wrong.ptx: nvcc 13.0 -arch=sm_80 -lineinfo -ptx.
#include <cooperative_groups.h>
#include <mma.h>

extern "C" {

// ---- block barriers ----

// A barrier under a condition that differs within the warp.
__global__ void half_a_warp(float* y, const float* x, int n) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = x[t];
  if (t < n) __syncthreads();  // half_a_warp
  y[t] = s[63 - t];            // half_a_warp other
}

// Both arms have a barrier of their own.
__global__ void two_barriers(float* y, const float* x, int n) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  if (t < n) {
    s[t] = x[t];
    __syncthreads();  // two_barriers other
  } else {
    s[t] = -x[t];
    __syncthreads();  // two_barriers
  }
  y[t] = s[63 - t];
}

// A loop whose trip count differs within the warp, with work behind it.
__global__ void uneven_loop(float* y, const float* x, int n) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = 0;
  for (int i = t; i < n; i += 64) {
    s[t] += x[i];
    __syncthreads();  // uneven_loop
  }
  y[t] = s[t];  // uneven_loop other
}

// The barrier under a condition, in a uniform loop.
__global__ void in_a_loop(float* y, const float* x, int n) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  float sum = 0;
  s[t] = x[t];
  for (int i = 0; i < n; ++i) {
    if (t % 2 == 0) __syncthreads();  // in_a_loop
    sum += s[63 - t];
  }
  y[t] = sum;  // in_a_loop other
}

// Leaves a device function, not the kernel, before its barrier.
__device__ __noinline__ void exchange(float* s, int t, int n) {
  if (t >= n) return;
  s[t] += 1;
  __syncthreads();  // returns_from_a_function
  s[t] += s[0];
}
__global__ void returns_from_a_function(float* y, const float* x, int n) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = x[t];
  exchange(s, t, n);
  y[t] = s[t];  // returns_from_a_function other
}

// A barrier of the first warp alone.
__global__ void one_warp_of_two(float* y, const float* x) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = x[t];
  if (t < 32) __syncthreads();  // one_warp_of_two
  y[t] = s[t];                  // one_warp_of_two other
}

// The count of a named barrier is no multiple of the warp's 32.
__global__ void odd_count(float* y, const float* x) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = x[t];
  asm volatile("bar.sync 1, 48;" ::: "memory");  // odd_count
  y[t] = s[t ^ 1];
}

// More threads than the block has: nobody is ever released.
__global__ void too_many(float* y, const float* x) {
  const int t = threadIdx.x;
  asm volatile("bar.sync 1, 128;" ::: "memory");  // too_many
  y[t] = x[t];
}

// One side waits for 64 threads, the other for 32.
__global__ void counts_differ(float* y, const float* x) {
  __shared__ float s[96];
  const int t = threadIdx.x;
  s[t] = x[t];
  if (t < 32) {
    asm volatile("bar.sync 1, 64;" ::: "memory");  // counts_differ
  } else {
    asm volatile("bar.arrive 1, 96;" ::: "memory");  // counts_differ
  }
  y[t] = s[t];
}

// A reduction meets a plain barrier.
__global__ void mixed(int* y, int n) {
  const int t = threadIdx.x;
  if (t < 32) {
    y[t] = __syncthreads_count(t < n);  // mixed
  } else {
    __syncthreads();  // mixed
    y[t] = 0;
  }
}

// Waits for a warp that waits at another barrier: a deadlock.
__global__ void crossed(float* y, const float* x) {
  const int t = threadIdx.x;
  if (t < 32) {
    asm volatile("bar.sync 1, 64;" ::: "memory");  // crossed
    asm volatile("bar.sync 2, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 2, 64;" ::: "memory");  // crossed other
    asm volatile("bar.sync 1, 64;" ::: "memory");
  }
  y[t] = x[t];
}

// Waits at a barrier for lanes that wait for it at a __syncwarp: a deadlock.
__global__ void barrier_and_warp(float* y, const float* x, int n) {
  const int t = threadIdx.x;
  if (t < n) {
    __syncthreads();  // barrier_and_warp
  } else {
    __syncwarp();  // barrier_and_warp other
  }
  y[t] = x[t];
}

// ---- warps ----

// The mask names lanes that never come, and that go on.
__global__ void full_mask_in_a_branch(float* y, const float* x, int n) {
  const int t = threadIdx.x;
  float v = x[t];
  if (t < n) v += __shfl_xor_sync(0xffffffffu, v, 1);  // full_mask_in_a_branch
  y[t] = v;                                            // full_mask_in_a_branch other
}

// The mask leaves out lanes that execute the shuffle.
__global__ void mask_without_self(float* y, const float* x) {
  const int t = threadIdx.x;
  y[t] = __shfl_xor_sync(0x0000ffffu, x[t], 1);  // mask_without_self
}

// The same of a vote, a match, a sum and a __syncwarp.
__global__ void vote_without_self(unsigned* y, const float* x) {
  const int t = threadIdx.x;
  y[t] = __ballot_sync(0x0000ffffu, x[t] > 3);  // vote_without_self
}
__global__ void match_without_self(unsigned* y, int n) {
  const int t = threadIdx.x;
  y[t] = __match_any_sync(0x7fffffffu, t / n);  // match_without_self
}
__global__ void redux_without_self(unsigned* y) {
  const int t = threadIdx.x;
  y[t] = __reduce_add_sync(0xfffffffeu, t);  // redux_without_self
}
__global__ void syncwarp_without_self(float* y, const float* x) {
  __shared__ float s[32];
  const int t = threadIdx.x;
  s[t] = x[t];
  __syncwarp(0x000000ffu);  // syncwarp_without_self
  y[t] = s[t];
}

// Lanes meet at two different operations.
__global__ void two_operations(int* y, const float* x, int n) {
  const int t = threadIdx.x;
  if (t < n) {
    y[t] = __any_sync(0xffffffffu, x[t] > 3);  // two_operations other
  } else {
    y[t] = __all_sync(0xffffffffu, x[t] > 3);  // two_operations
  }
}

// Two masks for one exchange: the halves wait for each other.
__global__ void two_masks(float* y, const float* x, int n) {
  const int t = threadIdx.x;
  float v = x[t];
  if (t < n) {
    v += __shfl_xor_sync(0x0000ffffu, v, 8);
    v += __shfl_xor_sync(0xffffffffu, v, 16);  // two_masks
  } else {
    v += __shfl_xor_sync(0xffff0000u, v, 8);
    v += __shfl_xor_sync(0xffff00ffu, v, 16);
  }
  y[t] = v;
}

// A matrix product by less than a whole warp.
__global__ void product_by_some(float* y, const half* a, const half* b) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, row_major> fa;
  fragment<matrix_b, 16, 16, 16, half, col_major> fb;
  fragment<accumulator, 16, 16, 16, float> c;
  fill_fragment(c, 0.f);
  if (threadIdx.x >= 24) return;
  load_matrix_sync(fa, a, 16);  // product_by_some
  load_matrix_sync(fb, b, 16);
  mma_sync(c, fa, fb, c);
  store_matrix_sync(y, c, 16, mem_row_major);
}

// ---- shuffles ----

// The last warp is not full: its lanes read lanes that returned.
__global__ void reads_the_exited(float* y, const float* x, int n) {
  const int t = threadIdx.x;
  if (t >= n) return;
  float v = x[t];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);  // reads_the_exited
  if (t == 0) y[0] = v;  // reads_the_exited other
}

// The mask is right, and the lane next to the last reads beyond it.
__global__ void reads_beyond_the_mask(float* y, const float* x, int n) {
  const int t = threadIdx.x;
  const unsigned mask = __ballot_sync(0xffffffffu, t < n);
  if (t < n) {
    const float right = __shfl_down_sync(mask, x[t], 1);  // reads_beyond_the_mask
    y[t] = right - x[t];  // reads_beyond_the_mask other
  }
}

// The value decides a branch.
__global__ void branches_on_the_absent(float* y, const float* x, int n) {
  const int t = threadIdx.x;
  if (t >= n) return;
  const float other = __shfl_xor_sync(0xffffffffu, x[t], 16);  // branches_on_the_absent
  if (other > x[t]) {
    y[t] = 1;
    __threadfence();
    y[t] += 2;
  }
}
}
