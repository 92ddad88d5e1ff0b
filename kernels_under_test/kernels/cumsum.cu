// Running sums along each row, in f32: one block a row, a tile of four elements a thread at a time,
// moved as vectors where they are aligned. Threads sum their own elements, warps scan the threads'
// totals with shuffles, then each adds what lies before it; `carry` takes the row's sum from tile
// to tile. `REVERSED` runs from each row's end to its beginning; `EXCLUSIVE` leaves an element out
// of its own sum.
#include "device_helpers.cuh"

template <typename T, int BLOCK, bool REVERSED = false, bool EXCLUSIVE = false>
__global__ void __launch_bounds__(BLOCK) cumsum(T* y, const T* x, int64_t x_stride, int cols) {
  constexpr int kWarps = BLOCK / 32;
  constexpr int V = 4;
  __shared__ float totals[kWarps];
  x += int64_t{blockIdx.x} * x_stride;
  y += int64_t{blockIdx.x} * cols;
  // From the end, vectors are aligned only where the row is a whole number of them.
  const bool vectors = aligned<V * sizeof(T)>(x, y) && (!REVERSED || cols % V == 0);
  const int warp = threadIdx.x / 32;
  float carry = 0.0f;
  for (int tile = 0; tile < cols; tile += BLOCK * V) {
    // The thread's elements are i to i + V - 1 in the order of summing; at(j) of its vector is the
    // j-th.
    const int i = tile + threadIdx.x * V;
    const bool whole = vectors && i + V <= cols;
    const auto at = [](int j) { return REVERSED ? V - 1 - j : j; };
    Vector<T, V> v;
    float sums[V];
    sums[V - 1] = 0.0f;
    if (i < cols) {
      if (whole) {
        v = load<V>(x + (REVERSED ? cols - V - i : i));
      } else {
#pragma unroll
        for (int j = 0; j < V; ++j)
          v.at[at(j)] = i + j < cols ? x[REVERSED ? cols - 1 - i - j : i + j] : T(0);
      }
      sums[0] = to_float(v.at[at(0)]);
#pragma unroll
      for (int j = 1; j < V; ++j) sums[j] = sums[j - 1] + to_float(v.at[at(j)]);
    }

    const float scanned = warp_scan(sums[V - 1]);
    if (threadIdx.x % 32 == 31) totals[warp] = scanned;
    float before = __shfl_up_sync(0xffffffffu, scanned, 1);  // the warp's lanes below
    if (threadIdx.x % 32 == 0) before = 0.0f;
    __syncthreads();
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      if (w == warp) before += carry;
      carry += totals[w];
    }

    if (i < cols) {
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const float sum = !EXCLUSIVE ? before + sums[j] : j > 0 ? before + sums[j - 1] : before;
        v.at[at(j)] = from_float<T>(sum);
      }
      if (whole) {
        store(y + (REVERSED ? cols - V - i : i), v);
      } else {
#pragma unroll
        for (int j = 0; j < V; ++j)
          if (i + j < cols) y[REVERSED ? cols - 1 - i - j : i + j] = v.at[at(j)];
      }
    }
    if (tile + BLOCK * V >= cols) break;
    __syncthreads();  // totals are read before the next tile writes them
  }
}
