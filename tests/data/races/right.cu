// Correct code that the race checker has to leave alone; races_test.cpp runs each kernel.
// Compiled to right.ptx: nvcc 13.0 -arch=sm_80 -lineinfo -ptx.
#include <cuda_pipeline.h>

extern "C" {
__device__ unsigned tickets;

// A sum over blocks, by the last one to finish; threadFenceReduction's form.
__global__ void last_block(float* y, float* part, const float* x) {
  __shared__ float s[64];
  __shared__ bool last;
  const int t = threadIdx.x;
  s[t] = x[blockIdx.x * 64 + t];
  __syncthreads();
  if (t == 0) {
    float sum = 0;
    for (int i = 0; i < 64; ++i) sum += s[i];
    part[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(&tickets, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && t < gridDim.x) s[t] = part[t];
  __syncthreads();
  if (last && t == 0) {
    float sum = 0;
    for (int i = 0; i < gridDim.x; ++i) sum += s[i];
    y[0] = sum;
    tickets = 0;
  }
}

// The same with a fence after the ticket, and with every thread's own store before its own fence.
__global__ void last_block_acquires(float* y, float* part, const float* x) {
  __shared__ bool last;
  const int t = threadIdx.x;
  part[blockIdx.x * 64 + t] = x[blockIdx.x * 64 + t];
  __threadfence();
  __syncthreads();
  if (t == 0) last = atomicInc(&tickets, gridDim.x) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  float sum = 0;
  for (int i = 0; i < gridDim.x; ++i) sum += part[i * 64 + t];
  y[t] = sum;
  if (t == 0) tickets = 0;
}

// Places handed out by an atomic counter.
__global__ void ticketed(int* y, int* count) {
  const int at = atomicAdd(count, 1);
  y[at] = threadIdx.x;
}

// Single-pass scan of one number a block: flags 1 (total there) and 2 (prefix there).
__global__ void look_back(int* y, volatile int* flag, int* total, int* prefix, const int* x) {
  if (threadIdx.x != 0) return;
  const int b = blockIdx.x;
  total[b] = x[b];
  __threadfence();
  flag[b] = 1;
  int before = 0;
  for (int i = b - 1; i >= 0; --i) {
    int state;
    while ((state = flag[i]) == 0) {
    }
    __threadfence();
    before += state == 2 ? prefix[i] : total[i];
    if (state == 2) break;
  }
  prefix[b] = before + x[b];
  __threadfence();
  flag[b] = 2;
  y[b] = before + x[b];
}

__global__ void spin_lock(int* lock, float* y) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      y[0] += threadIdx.x;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

// The programming guide's loop around compare-and-swap: its first load is plain.
__global__ void cas_loop(unsigned* y) {
  unsigned old = *y, assumed;
  do {
    assumed = old;
    old = atomicCAS(y, assumed, assumed + 3);
  } while (old != assumed);
}

__global__ void warp_synchronous(float* y, const float* x) {
  __shared__ float s[64];
  const int t = threadIdx.x, lane = t & 31;
  s[t] = x[t];
  __syncwarp();
  for (int o = 16; o > 0; o /= 2) {
    float v = 0;
    if (lane < o) v = s[t + o];
    __syncwarp();
    if (lane < o) s[t] += v;
    __syncwarp();
  }
  if (lane == 0) y[t / 32] = s[t];
}

// Halves of a warp, each under a mask of its own.
__global__ void half_warps(float* y, const float* x) {
  __shared__ float s[32];
  const int t = threadIdx.x;
  const unsigned mask = t < 16 ? 0xffffu : 0xffff0000u;
  s[t] = x[t];
  __syncwarp(mask);
  y[t] = s[t ^ 15];
}

__global__ void volatile_warp(float* y, const float* x) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  if (t < 32) {
    volatile float* v = s;
    v[t] += v[t + 32];
    v[t] += v[t + 16];
    v[t] += v[t + 8];
    v[t] += v[t + 4];
    v[t] += v[t + 2];
    v[t] += v[t + 1];
  }
  if (t == 0) y[0] = s[0];
}

__global__ void one_value(int* flag, const float* x) {
  if (x[blockIdx.x * blockDim.x + threadIdx.x] > 0) *flag = 1;
}

__global__ void double_buffer(float* y, const float* x, int n) {
  __shared__ float s[2][64];
  const int t = threadIdx.x;
  float sum = 0;
  s[0][t] = x[t];
  for (int i = 0; i < n; ++i) {
    __syncthreads();
    if (i + 1 < n) s[(i + 1) & 1][t] = x[(i + 1) * 64 + t];
    sum += s[i & 1][63 - t];
  }
  y[t] = sum;
}

__global__ void copies(float* y, const float* x, int n) {
  __shared__ float s[2][64];
  const int t = threadIdx.x;
  float sum = 0;
  __pipeline_memcpy_async(&s[0][t], &x[t], 4);
  __pipeline_commit();
  for (int i = 0; i < n; ++i) {
    if (i + 1 < n) __pipeline_memcpy_async(&s[(i + 1) & 1][t], &x[(i + 1) * 64 + t], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += s[i & 1][63 - t];
    __syncthreads();
  }
  y[t] = sum;
}

// Bytes and halves of one word belong to different threads.
__global__ void narrow(unsigned char* y, unsigned short* z) {
  y[blockIdx.x * 64 + threadIdx.x] = threadIdx.x;
  z[blockIdx.x * 64 + threadIdx.x] = threadIdx.x;
}

// Two named barriers, each of half the block.
__global__ void named(float* y, const float* x) {
  __shared__ float s[128];
  const int t = threadIdx.x, half = t / 64;
  for (int i = 0; i < 3; ++i) {
    s[t] = x[t] + i;
    asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory");
    y[t] = s[half * 64 + 63 - (t & 63)];
    asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory");
  }
}

__global__ void arrivals(float* y, const float* x) {
  __shared__ float s[64];
  __shared__ alignas(8) unsigned long long bar;
  const int t = threadIdx.x;
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&bar));
  if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(at) : "memory");
  __syncthreads();
  s[t] = x[t];
  unsigned long long state;
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory");
  unsigned done = 0;
  while (!done) {
    asm volatile(
        "{.reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
        : "=r"(done)
        : "r"(at), "l"(state)
        : "memory");
  }
  y[t] = s[63 - t];
}

// A sum by shuffles, handed on by an atomic, then by a barrier.
__global__ void shuffled(float* y, const float* x) {
  __shared__ float total;
  const int t = threadIdx.x;
  if (t == 0) total = 0;
  __syncthreads();
  float sum = x[t];
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  if (t % 32 == 0) atomicAdd(&total, sum);
  __syncthreads();
  y[t] = total;
}

// A barrier of all blocks, as cooperative groups' grid.sync makes it: the last to arrive lets the
// others go on. `arrived` counts, `round` tells.
__global__ void grid_barrier(float* y, float* part, const float* x, unsigned* arrived,
                             volatile unsigned* round) {
  const int t = threadIdx.x, b = blockIdx.x, blocks = gridDim.x;
  part[b * 32 + t] = x[b * 32 + t];
  __syncthreads();
  if (t == 0) {
    __threadfence();
    if (atomicAdd(arrived, 1u) == blocks - 1) {
      *arrived = 0;
      __threadfence();
      *round = 1;
    }
    while (*round == 0) {
    }
    __threadfence();
  }
  __syncthreads();
  y[b * 32 + t] = part[(blocks - 1 - b) * 32 + t];
}

// Atomics of the scope of a block, each block with a counter of its own.
__global__ void block_scope(int* count) {
  atomicAdd_block(count + blockIdx.x, 1);
  __syncthreads();
  if (threadIdx.x == 0) count[blockIdx.x] += 1;
}

// Writes by red, fenced; a flag by atom; the reader comes after both.
__global__ void red_then_flag(int* y, int* sum, int* flag) {
  if (threadIdx.x != 0) return;
  atomicAdd(sum, blockIdx.x + 1);
  __threadfence();
  if (atomicAdd(flag, 1) == gridDim.x - 1) {
    __threadfence();
    *y = *sum;
  }
}

// What one lane writes the others of its warp read after __syncwarp, of a subset too.
__global__ void broadcast(float* y, const float* x) {
  __shared__ float s[2];
  const int t = threadIdx.x, warp = t / 32;
  for (int i = 0; i < 3; ++i) {
    if (t % 32 == 0) s[warp] = x[i * 2 + warp];
    __syncwarp();
    y[i * 64 + t] = s[warp];
    __syncwarp();
  }
}

// Tiles filled in part, read whole and selected from, then used again by other lanes: what an earlier
// block left in the same room of shared memory is no access of this one's.
__global__ void tile_in_part(float* y, const float* x) {
  __shared__ float s[2][32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, left = 16 - blockIdx.x;
  if (lane < left) s[warp][lane] = x[blockIdx.x * 64 + threadIdx.x];
  __syncwarp();
  const float v = s[warp][lane ^ 1], u = s[warp][lane ^ 3];
  float sum = (lane ^ 1) < left ? v : 0.f;
  if ((lane ^ 3) < left) sum += u;
  __syncwarp();
  s[warp][lane] = sum;
  __syncwarp();
  y[blockIdx.x * 64 + threadIdx.x] = s[warp][lane ^ 2];
}

// One value stored at one line, by copies of it in an unrolled loop.
__global__ void one_value_unrolled(float* y, const float* x) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (x[(blockIdx.x * 64 + threadIdx.x) ^ (i * 32 + i)] > 2.f) y[(threadIdx.x + i) % 4] = 1.f;
  }
}
}
