// Rows of ids looked up in a table, through a cache in shared memory: equal ids load once. A slot is
// found by linear probing.
//
// A known form, class 12 (configuration): a cache with open addressing, whose number of probes is too
// small for some rows. When they run out, the slot that was looked at last is taken for the id's own,
// and the value of another id comes out. Made to measure feedback: what it takes is several ids of one
// row whose hashes collide.
// Seen by: the oracle (mismatch), where as many ids of a row collide.
#include <cuda_fp16.h>

#include <cstdint>

constexpr int kSlots = 128, kProbes = 16;

template <typename T>
__global__ void cached_lookup(T* y, const T* table, const int32_t* ids, int count) {
  __shared__ int32_t keys[kSlots];
  __shared__ T values[kSlots];
  y += int64_t{blockIdx.x} * count;
  ids += int64_t{blockIdx.x} * count;
  for (int i = threadIdx.x; i < kSlots; i += 32) keys[i] = -1;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 0; i < count; ++i) {
    const int32_t id = ids[i];
    int slot = id % kSlots, left = kProbes;
    while (keys[slot] != id && keys[slot] != -1 && --left > 0) slot = (slot + 1) % kSlots;
#ifndef PLANTED
    if (left == 0) {
      y[i] = table[id];
      continue;
    }
#endif
    if (keys[slot] == -1) {
      keys[slot] = id;
      values[slot] = table[id];
    }
    y[i] = values[slot];
  }
}
