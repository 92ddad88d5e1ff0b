// How often each bin occurs; values outside of [0, bins) count nowhere. A first launch clears the
// counts. With SHARED, a block counts in shared memory and adds what it has at the end; otherwise
// every element is an atomic of its own. Values are read 16 bytes at a time where they start on 16
// bytes.
#include "device_helpers.cuh"

__global__ void clear(int32_t* counts, int bins) {
  const int bin = blockIdx.x * blockDim.x + threadIdx.x;
  if (bin < bins) counts[bin] = 0;
}

template <typename Index, int BLOCK, int SHARED>
__global__ void __launch_bounds__(BLOCK)
    histogram(int32_t* counts, const Index* x, int64_t n, int bins) {
  extern __shared__ int32_t local[];
  if (SHARED) {
    for (int bin = threadIdx.x; bin < bins; bin += BLOCK) local[bin] = 0;
    __syncthreads();
  }
  const auto count = [&](Index bin) {
    if (bin >= 0 && bin < bins) atomicAdd((SHARED ? local : counts) + bin, 1);
  };
  constexpr int V = 16 / sizeof(Index);
  const int64_t whole = aligned16(x) ? n / V * V : 0;
  const int64_t thread = int64_t{blockIdx.x} * BLOCK + threadIdx.x;
  const int64_t threads = int64_t{gridDim.x} * BLOCK;
#pragma unroll 1
  for (int64_t i = thread * V; i < whole; i += threads * V) {
    const Vector<Index, V> v = load<V>(x + i);
#pragma unroll
    for (int j = 0; j < V; ++j) count(v.at[j]);
  }
#pragma unroll 1
  for (int64_t i = whole + thread; i < n; i += threads) count(x[i]);
  if (SHARED) {
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += BLOCK)
      if (local[bin] != 0) atomicAdd(counts + bin, local[bin]);
  }
}
