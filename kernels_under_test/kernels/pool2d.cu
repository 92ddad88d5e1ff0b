// Maximum and mean over windows of K x K of planes, with padding: the first of equal maxima, NaN
// before all (the last of several, as PyTorch has it), and its place in the plane. The mean counts the
// padding or not. A thread a window.
#include "device_helpers.cuh"

template <typename T, int K, bool COUNT_PADDING>
__global__ void __launch_bounds__(256)
    pool2d(T* max_out, int64_t* index, T* mean_out, const T* x, int64_t windows, int height,
           int width, int out_height, int out_width, int step, int padding) {
  const int64_t window = int64_t{blockIdx.x} * 256 + threadIdx.x;
  if (window >= windows) return;
  const int top = static_cast<int>(window / out_width % out_height) * step - padding;
  const int left = static_cast<int>(window % out_width) * step - padding;
  x += window / out_width / out_height * height * width;
  const int y_first = max(top, 0), y_end = min(top + K, height);
  const int x_first = max(left, 0), x_end = min(left + K, width);

  float best = -INFINITY;
  float sum = 0.0f;
  int64_t place = int64_t{y_first} * width + x_first;
  for (int i = y_first; i < y_end; ++i) {
    for (int j = x_first; j < x_end; ++j) {
      const int64_t here = int64_t{i} * width + j;
      const float v = to_float(x[here]);
      if (v > best || isnan(v)) {
        best = v;
        place = here;
      }
      sum += v;
    }
  }
  const int rows = COUNT_PADDING ? min(top + K, height + padding) - top : y_end - y_first;
  const int cols = COUNT_PADDING ? min(left + K, width + padding) - left : x_end - x_first;
  max_out[window] = from_float<T>(best);
  index[window] = place;
  mean_out[window] = from_float<T>(sum / (rows * cols));
}
