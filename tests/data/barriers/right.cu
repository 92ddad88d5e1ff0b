// Correct code that the barrier checker has to leave alone; barriers_test.cpp runs each kernel.
// Compiled to right.ptx: nvcc 13.0 -arch=sm_80 -lineinfo -ptx.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_fp16.h>
#include <mma.h>
namespace cg = cooperative_groups;

extern "C" {

// ---- block barriers ----

// Threads beyond the data return; those that have exited count as arrived.
__global__ void early_return(float* y, const float* x, int n) {
  __shared__ float s[128];
  const int t = threadIdx.x;
  if (t >= n) return;
  s[t] = x[t];
  for (int d = 1; d < 8; d *= 2) {
    __syncthreads();
    const float v = t + d < n ? s[t + d] : 0.f;
    __syncthreads();
    s[t] += v;
  }
  y[t] = s[t];
}

// They store something first.
__global__ void early_return_with_a_store(float* y, const float* x, int n) {
  __shared__ float s[128];
  const int t = threadIdx.x;
  if (t >= n) {
    y[t] = 0;
    return;
  }
  s[t] = x[t];
  __syncthreads();
  y[t] = s[n - 1 - t];
}

// As many turns as the block has work for.
__global__ void turns_of_the_block(float* y, const float* x, int n) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  const int turns = n + static_cast<int>(blockIdx.x) % 3;
  float sum = 0;
  for (int i = 0; i < turns; ++i) {
    s[t] = x[t] + i;
    __syncthreads();
    sum += s[63 - t];
    __syncthreads();
  }
  y[blockIdx.x * 64 + t] = sum;
}

// Loops of unequal length in front of a barrier, in a loop: lanes reach it one after the other.
__global__ void unequal_work(float* y, const float* x, int n) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    float v = x[t];
    for (int k = 0; k < t * 40 % 700; ++k) v = v * 0.5f + 1;
    s[t] = v;
    __syncthreads();
    sum += s[63 - t];
    __syncthreads();
    for (int k = 0; k < t * 24 % 500; ++k) sum = sum * 0.5f + 1;
  }
  y[t] = sum;
}

// A barrier in a condition that is the same for the whole block.
__global__ void uniform_condition(float* y, const float* x, int n) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = x[t];
  if (n > 3) {
    __syncthreads();
    y[t] = s[63 - t];
  } else {
    y[t] = s[t];
  }
}

// One thread does the last step; the rest is done.
__global__ void tree(float* y, const float* x, int n) {
  __shared__ float s[128];
  const int t = threadIdx.x;
  s[t] = t < n ? x[t] : 0.f;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) y[0] = s[0];
}

// Two halves of the block with a barrier each, and one for both.
__global__ void named(float* y, const float* x) {
  __shared__ float s[128];
  const int t = threadIdx.x;
  s[t] = x[t];
  asm volatile("bar.sync %0, 64;" ::"r"(t / 64 + 1) : "memory");
  y[t] = s[t ^ 63];
  asm volatile("bar.sync 0;" ::: "memory");
  y[t] += s[127 - t];
}

// A producer that arrives and consumers that wait, as CUTLASS pairs them: a barrier for full, one
// for empty.
__global__ void producer(float* y, const float* x, int n) {
  __shared__ float s[32];
  const int t = threadIdx.x;
  if (t < 32) {
    for (int i = 0; i < n; ++i) {
      asm volatile("bar.sync 2, 96;" ::: "memory");
      s[t] = x[t] + i;
      asm volatile("bar.arrive 1, 96;" ::: "memory");
    }
  } else {
    float sum = 0;
    asm volatile("bar.arrive 2, 96;" ::: "memory");
    for (int i = 0; i < n; ++i) {
      asm volatile("bar.sync 1, 96;" ::: "memory");
      sum += s[t % 32];
      if (i + 1 < n) asm volatile("bar.arrive 2, 96;" ::: "memory");
    }
    y[t] = sum;
  }
}

// The barrier that need not be aligned, met by the lanes of a warp at two places.
__global__ void not_aligned(float* y, const float* x, int n) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = x[t];
  if (t % 32 < n) {
    asm volatile("barrier.sync 0;" ::: "memory");
    y[t] = s[63 - t];
  } else {
    asm volatile("barrier.sync 0;" ::: "memory");
    y[t] = -s[63 - t];
  }
}

// Warps of the block have each a barrier of their own line: a note, for PTX allows it.
__global__ void a_place_for_each_warp(float* y, const float* x) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  if (t < 32) {
    s[t] = x[t];
    __syncthreads();  // a_place_for_each_warp
    y[t] = s[63 - t];
  } else {
    s[t] = -x[t];
    __syncthreads();  // a_place_for_each_warp
    y[t] = s[63 - t] + 1;
  }
}

__global__ void counted(int* y, const float* x, int n) {
  const int t = threadIdx.x;
  if (t >= n) return;
  const int c = __syncthreads_count(x[t] > 5);
  const int all = __syncthreads_and(x[t] > 0);
  y[t] = c + all + __syncthreads_or(x[t] > 1000);
}

// ---- warps ----

// Only the first warp reduces what the warps have summed.
__global__ void block_sum(float* y, const float* x, int n) {
  __shared__ float s[32];
  const int t = threadIdx.x;
  float v = t < n ? x[t] : 0.f;
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
  if (t % 32 == 0) s[t / 32] = v;
  __syncthreads();
  if (t < 32) {
    v = t < blockDim.x / 32 ? s[t] : 0.f;
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    if (t == 0) y[0] = v;
  }
}

// Segments of 16 lanes; a shuffle stays in its own.
__global__ void segments(float* y, const float* x) {
  const int t = threadIdx.x;
  float v = x[t];
  for (int d = 8; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d, 16);
  v += __shfl_down_sync(0xffffffffu, v, 15, 16) + __shfl_up_sync(0xffffffffu, v, 3, 16);
  y[t] = v;
}

// Half a warp alone, under its own mask.
__global__ void half_warp(float* y, const float* x) {
  const int t = threadIdx.x;
  float v = x[t];
  if (t % 32 < 16) {
    for (int d = 8; d > 0; d /= 2) v += __shfl_xor_sync(0x0000ffffu, v, d);
  } else {
    for (int d = 8; d > 0; d /= 2) v -= __shfl_xor_sync(0xffff0000u, v, d);
  }
  y[t] = v;
}

// The lanes that are left, by ballot; a value from beyond them is selected away.
__global__ void ballot_mask(float* y, const float* x, int n) {
  const int t = threadIdx.x;
  const unsigned mask = __ballot_sync(0xffffffffu, t < n);
  if (t < n) {
    const float right = __shfl_down_sync(mask, x[t], 1);
    y[t] = t + 1 < n ? right - x[t] : 0.f;
  }
}

// A scan: lanes below the distance drop what they got.
__global__ void scan(float* y, const float* x, int n) {
  const int t = threadIdx.x;
  float v = t < n ? x[t] : 0.f;
  for (int d = 1; d < 32; d *= 2) {
    const float left = __shfl_up_sync(0xffffffffu, v, d);
    if (t >= d) v += left;
  }
  if (t < n) y[t] = v;
}

// Lanes returned, and nobody reads them.
__global__ void after_a_return(float* y, const float* x, int n) {
  const int t = threadIdx.x;
  if (t >= 2 * n) return;
  const float v = x[t] + __shfl_xor_sync(0xffffffffu, x[t], 1);
  y[t] = v + __shfl_sync(0xffffffffu, v, 0);
}

// A reduction over what is left of a warp that others have left: absent lanes are never added.
__global__ void sum_of_the_rest(float* y, const float* x, int n) {
  const int t = threadIdx.x;
  if (t >= n) return;
  const unsigned mask = __activemask();
  float v = x[t];
  for (int d = 16; d > 0; d /= 2) {
    const float other = __shfl_down_sync(mask, v, d);
    if (t + d < n) v += other;
  }
  if (t == 0) y[0] = v;
}

// Lanes of one warp meet at two shuffles of one kind and mask.
__global__ void both_arms(float* y, const float* x, int n) {
  const int t = threadIdx.x;
  float v = x[t];
  if (t < n) {
    v = 2 * v + __shfl_xor_sync(0xffffffffu, 2 * v, 16);
  } else {
    v = 3 * v + __shfl_xor_sync(0xffffffffu, 3 * v, 16);
  }
  y[t] = v;
}

__global__ void votes(unsigned* y, const float* x, int n) {
  const int t = threadIdx.x;
  unsigned v = __ballot_sync(0xffffffffu, x[t] > 9) + __any_sync(0xffffffffu, x[t] > 30);
  if (t < 24) {
    v += __match_any_sync(0x00ffffffu, t / n) + __reduce_max_sync(0x00ffffffu, v);
    __syncwarp(0x00ffffffu);
  }
  y[t] = v;
}

__global__ void tiles(float* y, const float* x, int n) {
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<8>(block);
  const auto warp = cg::tiled_partition<32>(block);
  const int t = threadIdx.x;
  float v = cg::reduce(tile, x[t], cg::plus<float>());
  v += cg::inclusive_scan(warp, v);
  if (tile.meta_group_rank() % 2 == 0) v += tile.shfl_down(x[t], 1);
  block.sync();
  if (t % 3 == 0) {
    const auto together = cg::coalesced_threads();
    v += together.shfl(v, 0) + together.size();
  }
  y[t] = v;
}

// Warps take turns of their own number; shuffles stay within the warp.
__global__ void warp_loop(float* y, const float* x, int n) {
  const int t = threadIdx.x;
  float sum = 0;
  for (int i = t / 32; i < n; i += blockDim.x / 32) {
    float v = x[t] + i;
#pragma unroll
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    sum += v;
  }
  y[t] = sum;
}

__global__ void product(float* y, const half* a, const half* b) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, row_major> fa;
  fragment<matrix_b, 16, 16, 16, half, col_major> fb;
  fragment<accumulator, 16, 16, 16, float> c;
  fill_fragment(c, 0.f);
  if (threadIdx.x >= 32) return;
  load_matrix_sync(fa, a, 16);
  load_matrix_sync(fb, b, 16);
  mma_sync(c, fa, fb, c);
  store_matrix_sync(y, c, 16, mem_row_major);
}
}
