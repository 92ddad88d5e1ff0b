// Blocks that work together: packed and compare-and-swap atomics, locks, look-back, tickets,
// barriers.
#include "../kernels/device_helpers.cuh"

/// Rows added into rows by packed atomics: __half2 or __nv_bfloat162.
template <typename Pair>
__global__ void index_add_pairs(Pair* y, const Pair* x, const int* index, int pairs) {
  const int64_t to = index[blockIdx.x];
  for (int i = threadIdx.x; i < pairs; i += blockDim.x)
    atomicAdd(&y[to * pairs + i], x[int64_t{blockIdx.x} * pairs + i]);
}

/// A maximum of floats and a sum of doubles by compare-and-swap, and a sum of squares by atomicAdd.
__global__ void atomics_by_cas(float* most, double* sum, double* squares, const float* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int* bits = reinterpret_cast<int*>(most);
    int old = *static_cast<volatile int*>(bits);
    while (__int_as_float(old) < x[i]) {
      const int seen = atomicCAS(bits, old, __float_as_int(x[i]));
      if (seen == old) break;
      old = seen;
    }
    auto* words = reinterpret_cast<unsigned long long*>(sum);
    unsigned long long seen = *static_cast<volatile unsigned long long*>(words);
    unsigned long long expected;
    do {
      expected = seen;
      const double next = __longlong_as_double(expected) + double(x[i]);
      seen = atomicCAS(words, expected, __double_as_longlong(next));
    } while (seen != expected);
    atomicAdd(squares, double(x[i]) * x[i]);
  }
}

/// A total kept under a spin lock, one thread of each block at a time.
__global__ void sum_under_lock(int* total, int* lock, const int* x, int n) {
  int sum = 0;
  for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += gridDim.x * 32) sum += x[i];
  sum = __reduce_add_sync(0xffffffffu, sum);
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence();
  volatile int* at = total;
  *at = *at + sum;
  __threadfence();
  atomicExch(lock, 0);
}

/// Running sums by decoupled look-back: a word a tile, its total with a flag in the upper half.
__global__ void cumsum_look_back(int* y, const int* x, unsigned long long* state, unsigned* ticket,
                                 int n) {
  constexpr unsigned long long kPartial = 1ull << 32;
  constexpr unsigned long long kWhole = 2ull << 32;
  __shared__ int sums[128];
  __shared__ int before;
  __shared__ unsigned drawn;
  if (threadIdx.x == 0) drawn = atomicAdd(ticket, 1u);
  __syncthreads();
  const int tile = int(drawn);
  const int i = tile * 128 + threadIdx.x;
  sums[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  for (int back = 1; back < 128; back *= 2) {
    const int v = threadIdx.x >= back ? sums[threadIdx.x - back] : 0;
    __syncthreads();
    sums[threadIdx.x] += v;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    const unsigned total = unsigned(sums[127]);
    unsigned sum = 0;
    if (tile > 0) {
      atomicExch(state + tile, kPartial | total);
      for (int t = tile - 1; t >= 0;) {
        const unsigned long long word = atomicAdd(state + t, 0ull);
        if (word < kPartial) continue;
        sum += unsigned(word);
        if (word >= kWhole) break;
        --t;
      }
    }
    atomicExch(state + tile, kWhole | unsigned(sum + total));
    before = int(sum);
  }
  __syncthreads();
  if (i < n) y[i] = sums[threadIdx.x] + before;
}

/// A sum whose last block adds the blocks' parts, and leaves the ticket at 0.
template <int BLOCK>
__global__ void sum_by_last_block(float* y, float* parts, unsigned* ticket, const float* x, int n) {
  __shared__ float partial[2][BLOCK / 32];
  __shared__ bool last;
  float sum = 0.0f;
  for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) sum += x[i];
  sum = block_reduce<BLOCK>(sum, Sum(), partial[0]);
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  sum = 0.0f;
  for (int i = threadIdx.x; i < gridDim.x; i += BLOCK) sum += __ldcg(parts + i);
  sum = block_reduce<BLOCK>(sum, Sum(), partial[1]);
  if (threadIdx.x == 0) *y = sum;
}

/// Persistent blocks that draw rows by tickets, 64 threads each.
template <typename T>
__global__ void row_mean_by_tickets(T* y, const T* x, unsigned* ticket, int rows, int cols) {
  __shared__ unsigned drawn;
  __shared__ float partial[2];
  while (true) {
    __syncthreads();
    if (threadIdx.x == 0) drawn = atomicAdd(ticket, 1u);
    __syncthreads();
    const unsigned row = drawn;
    if (row >= unsigned(rows)) break;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += 64) sum += to_float(x[int64_t{row} * cols + i]);
    sum = block_reduce<64>(sum, Sum(), partial);
    if (threadIdx.x == 0) y[row] = from_float<T>(sum / cols);
  }
}

/// A barrier over the grid by a counter; then every block subtracts the sum of all. 64 threads a
/// block.
__global__ void subtract_sum_grid(float* y, float* parts, unsigned* arrived, const float* x,
                                  int n) {
  __shared__ float partial[2];
  float sum = 0.0f;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) sum += x[i];
  sum = block_reduce<64>(sum, Sum(), partial);
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = sum;
    __threadfence();
    atomicAdd(arrived, 1u);
    while (*static_cast<volatile unsigned*>(arrived) < gridDim.x) {
    }
    __threadfence();
  }
  __syncthreads();
  float total = 0.0f;
  for (int b = 0; b < gridDim.x; ++b) total += static_cast<volatile float*>(parts)[b];
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) y[i] = x[i] - total;
}
