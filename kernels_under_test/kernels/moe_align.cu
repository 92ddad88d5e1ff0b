// Token positions gathered by expert, each expert's list padded to whole blocks, as the grouped
// matrix products of a mixture of experts take them. The first launch, one block, counts in shared
// memory, places the experts, and fills; the second lets every position take a place in its
// expert's list, in any order.
#include <cstdint>

template <int THREADS>
__global__ void __launch_bounds__(THREADS)
    count_and_place(const int32_t* expert_of, int32_t* sorted_ids, int32_t* expert_ids,
                    int32_t* padded_count, int32_t* cursor, int numel, int capacity, int experts,
                    int block_size) {
  extern __shared__ int32_t counts[];
  for (int e = threadIdx.x; e < experts; e += THREADS) counts[e] = 0;
  for (int i = threadIdx.x; i < capacity; i += THREADS) sorted_ids[i] = numel;
  __syncthreads();
  for (int i = threadIdx.x; i < numel; i += THREADS) atomicAdd(counts + expert_of[i], 1);
  __syncthreads();
  if (threadIdx.x != 0) return;
  int start = 0;
  for (int e = 0; e < experts; ++e) {
    cursor[e] = start;
    const int end = start + (counts[e] + block_size - 1) / block_size * block_size;
    for (; start < end; start += block_size) expert_ids[start / block_size] = e;
  }
  *padded_count = start;
}

__global__ void sort_positions(const int32_t* expert_of, int32_t* sorted_ids, int32_t* cursor,
                               int numel) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < numel) sorted_ids[atomicAdd(cursor + expert_of[i], 1)] = i;
}
