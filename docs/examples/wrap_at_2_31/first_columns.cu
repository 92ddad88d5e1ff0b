// Copies the first columns of a matrix with wide rows. Wrong: the row's offset is an int, and rows times
// their stride passes 2^31.
__global__ void first_columns(float* y, const float* x, int stride, int cols) {
  const int row = blockIdx.x;
  for (int i = threadIdx.x; i < cols; i += blockDim.x)
    y[static_cast<long long>(row) * cols + i] = x[row * stride + i];
}
