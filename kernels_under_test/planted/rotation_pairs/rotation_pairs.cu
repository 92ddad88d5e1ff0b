// Rotary position embedding, one block a token: element i of a head turns with element i + half.
//
// Mutation of our rope, class 10 (layouts): two layouts are in use. This one turns neighbours, 2i
// and 2i + 1, which is the other's; every length is right.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void rope(T* y, const T* q, const int64_t* positions, const float* cache, int heads,
                     int half) {
  const int64_t first = int64_t{blockIdx.x} * heads * 2 * half;
  const float* cosines = cache + positions[blockIdx.x] * 2 * half;
  const float* sines = cosines + half;
  for (int i = threadIdx.x; i < heads * half; i += blockDim.x) {
    const int at = i % half;
#ifdef PLANTED
    const int64_t low = first + i / half * 2 * half + 2 * at;
    const int64_t high = low + 1;
#else
    const int64_t low = first + i / half * 2 * half + at;
    const int64_t high = low + half;
#endif
    const float a = to_float(q[low]);
    const float b = to_float(q[high]);
    y[low] = from_float<T>(a * cosines[at] - b * sines[at]);
    y[high] = from_float<T>(b * cosines[at] + a * sines[at]);
  }
}
