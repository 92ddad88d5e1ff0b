// Token positions gathered by expert, each list padded to whole blocks; one block for all.
//
// A mutation of moe_align, class 3 (tails): an expert's list starts where the one before it
// ends, instead of at the next whole block; with lists of whole blocks all is well.
// Seen by: the oracle (a member in another group's place), wherever an expert before the last has a
// ragged list.
#include <cstdint>

template <int THREADS>
__global__ void __launch_bounds__(THREADS)
    align_experts(const int32_t* expert_of, int32_t* sorted_ids, int32_t* padded_count, int numel,
                  int capacity, int experts, int block_size) {
  __shared__ int32_t cursor[256];  // experts <= 256
  for (int e = threadIdx.x; e < experts; e += THREADS) cursor[e] = 0;
  for (int i = threadIdx.x; i < capacity; i += THREADS) sorted_ids[i] = numel;
  __syncthreads();
  for (int i = threadIdx.x; i < numel; i += THREADS) atomicAdd(cursor + expert_of[i], 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    int start = 0, end = 0;
    for (int e = 0; e < experts; ++e) {
      const int count = cursor[e];
      cursor[e] = start;
      end += (count + block_size - 1) / block_size * block_size;
#ifdef PLANTED
      start += count;
#else
      start = end;
#endif
    }
    *padded_count = end;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < numel; i += THREADS)
    sorted_ids[atomicAdd(cursor + expert_of[i], 1)] = i;
}
