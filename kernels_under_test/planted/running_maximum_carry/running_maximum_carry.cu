// Modelled on scans of a row by tiles of a warp: the running maximum goes from tile to tile. Fault: the
// lane before the last carries it on, so that a maximum in a tile's last element is lost.
__global__ void running_maxima(float* y, const float* x, int cols) {
  const long long row = (long long)blockIdx.x * cols;
  float carried = -INFINITY;
  for (int first = 0; first < cols; first += 32) {
    const int i = first + threadIdx.x;
    float v = i < cols ? x[row + i] : -INFINITY;
    for (int back = 1; back < 32; back *= 2) {
      const float other = __shfl_up_sync(0xffffffffu, v, back);
      if (threadIdx.x >= back) v = fmaxf(v, other);
    }
    v = fmaxf(v, carried);
    if (i < cols) y[row + i] = v;
#ifdef PLANTED
    carried = __shfl_sync(0xffffffffu, v, 30);
#else
    carried = __shfl_sync(0xffffffffu, v, 31);
#endif
  }
}
