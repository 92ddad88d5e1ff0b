// Token positions gathered by expert, each expert's list padded to whole blocks, as the grouped
// matrix products of a mixture of experts take them. The first launch, one block, counts in shared
// memory and fills, 16 bytes at a time where the list starts on 16 bytes; its first warp places the
// experts by scans of their blocks. The second lets every position take a place in its expert's
// list, in any order.
#include "device_helpers.cuh"

template <int THREADS>
__global__ void __launch_bounds__(THREADS)
    count_and_place(const int32_t* expert_of, int32_t* sorted_ids, int32_t* expert_ids,
                    int32_t* padded_count, int32_t* cursor, int numel, int capacity, int experts,
                    int block_size) {
  extern __shared__ int32_t counts[];
#pragma unroll 1
  for (int e = threadIdx.x; e < experts; e += THREADS) counts[e] = 0;
  const int whole = aligned16(sorted_ids) ? capacity / 4 * 4 : 0;
#pragma unroll 1
  for (int i = threadIdx.x * 4; i < whole; i += THREADS * 4)
    *reinterpret_cast<int4*>(sorted_ids + i) = make_int4(numel, numel, numel, numel);
#pragma unroll 1
  for (int i = whole + threadIdx.x; i < capacity; i += THREADS) sorted_ids[i] = numel;
  __syncthreads();
#pragma unroll 1
  for (int i = threadIdx.x; i < numel; i += THREADS) atomicAdd(counts + expert_of[i], 1);
  __syncthreads();

  if (threadIdx.x >= 32) return;
  int start = 0;  // block of the first of 32 experts
  for (int first = 0; first < experts; first += 32) {
    const int e = first + threadIdx.x;
    const int blocks = e < experts ? (counts[e] + block_size - 1) / block_size : 0;
    const int end = warp_scan(blocks) + start;
    if (e < experts) {
      const int begin = end - blocks;
      cursor[e] = begin * block_size;
      for (int block = begin; block < end; ++block) expert_ids[block] = e;
    }
    start = __shfl_sync(0xffffffffu, end, 31);
  }
  if (threadIdx.x == 0) *padded_count = start * block_size;
}

__global__ void sort_positions(const int32_t* expert_of, int32_t* sorted_ids, int32_t* cursor,
                               int numel) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < numel) sorted_ids[atomicAdd(cursor + expert_of[i], 1)] = i;
}
