// Running sums in one pass: a block takes its tile by ticket, waits for the flag of the tile before
// and goes on from its sum.
//
// Class 8 (races): the sum of a tile is stored before its flag, but no fence keeps the two in that
// order for other blocks; the form is that of decoupled look-back (Merrill and Garland, 2016).
// Seen by: the race check, from two tiles on.
#include <cstdint>

// tickets[0] counts the tiles that were taken; tickets[1 + t] is tile t's flag.
__global__ void clear(int* tickets, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * 256 + threadIdx.x;
  if (i < count) tickets[i] = 0;
}

__global__ void __launch_bounds__(32)
    running_sums(int* y, const int* x, int* sums, int* tickets, int64_t n) {
  const int lane = threadIdx.x;
  int tile = lane == 0 ? atomicAdd(tickets, 1) : 0;
  tile = __shfl_sync(0xffffffffu, tile, 0);
  const int64_t i = int64_t{tile} * 32 + lane;
  int sum = i < n ? x[i] : 0;
  for (int step = 1; step < 32; step *= 2) {
    const int before = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += before;
  }
  int before = 0;
  if (lane == 31) {
    if (tile > 0) {
      while (atomicAdd(tickets + tile, 0) == 0) {
      }
      __threadfence();
      before = sums[tile - 1];
    }
    sums[tile] = before + sum;
#ifndef PLANTED
    __threadfence();
#endif
    atomicExch(tickets + 1 + tile, 1);
  }
  before = __shfl_sync(0xffffffffu, before, 31);
  if (i < n) y[i] = before + sum;
}
