// Double precision up to the ends of its range.
#include <cstdint>

/// Lengths, quotients and products that leave the range on the way.
template <int FORM>
__global__ void f64_elementwise(double* y, const double* a, const double* b, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const double p = a[i];
  const double q = b[i];
  if (FORM == 0) y[i] = sqrt(p * p + q * q);
  if (FORM == 1) y[i] = p / sqrt(p * p + 1e-12);
  if (FORM == 2) y[i] = (p - q) / (p + q);
  if (FORM == 3) y[i] = p * p / q;
  if (FORM == 4) y[i] = p * q * p;
  if (FORM == 5) y[i] = p * q - q * p;
  if (FORM == 6) y[i] = 1 / (1 + p * p);
}

/// Sums of rows kept in double and rounded to float, one thread a row.
__global__ void f64_row_sum(double* y, float* rounded, const double* x, int cols) {
  double sum = 0;
  for (int i = 0; i < cols; ++i) sum += x[int64_t{blockIdx.x} * cols + i];
  y[blockIdx.x] = sum;
  rounded[blockIdx.x] = float(sum);
}

/// A dot product and a Euclidean norm, one thread a row.
__global__ void f64_dot_norm(double* dot, double* norm, const double* a, const double* b,
                             int cols) {
  const int64_t base = int64_t{blockIdx.x} * cols;
  double ab = 0;
  double aa = 0;
  for (int i = 0; i < cols; ++i) {
    ab += a[base + i] * b[base + i];
    aa += a[base + i] * a[base + i];
  }
  dot[blockIdx.x] = ab;
  norm[blockIdx.x] = sqrt(aa);
}

/// Mean, variance, maximum and logarithm of the sum of exponentials, one thread a row.
__global__ void f64_statistics(double* mean, double* variance, double* most, double* lse,
                               const double* x, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  x += int64_t{row} * cols;
  double sum = 0;
  double largest = -INFINITY;
  bool nan = false;
  for (int i = 0; i < cols; ++i) {
    sum += x[i];
    largest = fmax(largest, x[i]);
    nan |= isnan(x[i]);
  }
  double squares = 0;
  double exponentials = 0;
  for (int i = 0; i < cols; ++i) {
    squares += (x[i] - sum / cols) * (x[i] - sum / cols);
    exponentials += exp(x[i] - largest);
  }
  mean[row] = sum / cols;
  variance[row] = squares / cols;
  most[row] = nan ? NAN : largest;
  lse[row] = largest + log(exponentials);
}

/// Powers and sums of powers of a row, in orders that leave the range at other places.
template <int FORM>
__global__ void f64_row_powers(double* y, const double* x, const double* w, int cols) {
  x += int64_t{blockIdx.x} * cols;
  w += int64_t{blockIdx.x} * cols;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < cols; ++i) {
    if (FORM == 0) sum += x[i] * x[i] * x[i];
    if (FORM == 1) sum += x[i] * (x[i] * x[i]);
    if (FORM == 2) sum += x[i] / w[i];
    if (FORM == 3) sum += x[i] * w[i] * 0.5;
    squares += w[i] * w[i];
  }
  if (FORM == 1) sum = tanh(sum);
  y[blockIdx.x] = FORM == 3 ? sum / squares : sum;
}

/// A double plus one, rounded to float.
__global__ void f64_add_to_f32(float* y, const double* x, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = float(x[i] + 1.0);
}

/// f32 rows summed in double.
__global__ void row_mean_in_f64(float* y, const float* x, int cols) {
  double sum = 0;
  for (int i = 0; i < cols; ++i) sum += x[int64_t{blockIdx.x} * cols + i];
  y[blockIdx.x] = float(sum / cols);
}
