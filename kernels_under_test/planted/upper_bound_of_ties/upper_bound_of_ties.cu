// Modelled on torch.searchsorted and bucketize: how many of the sorted edges are less than each
// value. Fault: the search goes on past edges that equal the value, as its `right` form does.
template <typename T>
__global__ void buckets(int* y, const T* x, const T* edges, int n, int count) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  int low = 0, high = count;
  while (low < high) {
    const int middle = (low + high) / 2;
#ifdef PLANTED
    const bool above = edges[middle] <= x[i];
#else
    const bool above = edges[middle] < x[i];
#endif
    if (above) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  y[i] = low;
}
