// Races that the checker has to find; races_test.cpp runs each kernel and knows the lines by the
// words "first" and "second" in their comments.
// Compiled to wrong.ptx: nvcc 13.0 -arch=sm_80 -lineinfo -ptx.
extern "C" {
__device__ unsigned tickets;

__global__ void no_barrier(float* y, const float* x) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = x[t];         // no_barrier first
  y[t] = s[63 - t];    // no_barrier second
}

__global__ void store_then_load(float* y, const float* x) {
  const int t = threadIdx.x;
  y[t] = x[t];                // store_then_load first
  const float v = y[t ^ 64];  // store_then_load second
  __syncthreads();
  y[t] = v;
}

__global__ void no_syncwarp(float* y, const float* x) {
  __shared__ float s[32];
  const int t = threadIdx.x;
  s[t] = x[t];                                      // no_syncwarp first
  const float v = __shfl_xor_sync(~0u, x[t], 1);
  y[t] = s[31 - t] + v;                             // no_syncwarp second
}

__global__ void no_fence(float* y, float* part, const float* x) {
  if (threadIdx.x != 0) return;
  part[blockIdx.x] = x[blockIdx.x];                        // no_fence first
  if (atomicInc(&tickets, gridDim.x) != gridDim.x - 1) return;
  float sum = 0;
  for (int i = 0; i < gridDim.x; ++i) sum += part[i];      // no_fence second
  y[0] = sum;
}

// A fence orders its own thread's stores, not those of the others.
__global__ void fence_of_one(float* y, float* part, const float* x) {
  __shared__ bool last;
  part[blockIdx.x * 64 + threadIdx.x] = x[threadIdx.x];    // fence_of_one first
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicInc(&tickets, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) y[threadIdx.x] = part[63 - threadIdx.x];       // fence_of_one second
}

__global__ void block_fence(float* y, float* part, const float* x) {
  if (threadIdx.x != 0) return;
  part[blockIdx.x] = x[blockIdx.x];                        // block_fence first
  __threadfence_block();
  if (atomicInc(&tickets, gridDim.x) != gridDim.x - 1) return;
  float sum = 0;
  for (int i = 0; i < gridDim.x; ++i) sum += part[i];      // block_fence second
  y[0] = sum;
}

__global__ void plain_flag(float* y, int* flag, float* data) {
  if (blockIdx.x == 0) {
    *data = 5;
    __threadfence();
    *flag = 1;                                             // plain_flag first
  } else {
    const int ready = *flag;                               // plain_flag second
    y[0] = ready;
  }
}

__global__ void one_element(int* y) {
  y[0] = blockIdx.x;  // one_element first second
}

__global__ void in_place_stencil(float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float v = i + 1 < n ? y[i + 1] : 0.f;              // in_place_stencil first
  __syncthreads();
  if (i < n) y[i] += v;                                    // in_place_stencil second
}

__global__ void reused(float* y, const float* x, int n) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    s[t] = x[i * 64 + t];                                  // reused second
    __syncthreads();
    sum += s[63 - t];                                      // reused first
  }
  y[t] = sum;
}

__global__ void unlocked(int* lock, float* y) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  y[0] += blockIdx.x;  // unlocked first second
  atomicExch(lock, 0);
}

__global__ void lanes_differ(int* y) {
  y[threadIdx.x / 2] = threadIdx.x;  // lanes_differ first second
}

// Block 0 clears and adds; others may have added before.
__global__ void clearing(int* y) {
  if (blockIdx.x == 0) y[threadIdx.x] = 0;   // clearing first
  __syncthreads();
  atomicAdd(y + 31 - threadIdx.x, 1);        // clearing second
}

// Atomics of the scope of a block order nothing between blocks.
__global__ void block_atomics(int* y) {
  if (threadIdx.x == 0) atomicAdd_block(y, 1);   // block_atomics first second
}

__global__ void load_beside_atomic(int* y, int* count) {
  if (blockIdx.x == 0) {
    atomicAdd(count, 1);   // load_beside_atomic first
  } else {
    y[0] = *count;         // load_beside_atomic second
  }
}

// Copied asynchronously, waited for by each thread alone.
__global__ void early_copy(float* y, const float* x) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(s + t));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(x + t) : "memory");  // early_copy first
  asm volatile("cp.async.wait_all;" ::: "memory");
  y[t] = s[63 - t];   // early_copy second
}

// Thread 0 writes a value that others read in the round before.
__global__ void broadcast_reused(float* y, const float* x, int n) {
  __shared__ float s;
  const int t = threadIdx.x;
  for (int i = 0; i < n; ++i) {
    if (t == 0) s = x[i];        // broadcast_reused first
    __syncthreads();
    y[i * 64 + t] = s;           // broadcast_reused second
    __syncwarp();                // orders the lanes of one warp alone
  }
}

// An unrolled loop's copies of one line store different values to one element: lane 0 of either warp.
__global__ void copies_differ(float* y, const float* x) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float v = x[threadIdx.x + 64 * i];
    if (v == 1 + 96 * i) y[0] = v;  // copies_differ first second
  }
}
}
