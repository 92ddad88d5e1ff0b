// Quotient and remainder of integers, as a tensor library defines them for every operand:
// truncated, the remainder with the dividend's sign; a divisor of 0 gives quotient 0 and the
// dividend as remainder; the lowest value by -1 wraps to itself. C++ leaves the last two undefined,
// so they are kept away from its operators.
#include <cstdint>

template <typename T>
__device__ void divide(T n, T d, T& quotient, T& remainder) {
  if (d == 0) {
    quotient = 0;
    remainder = n;
  } else if (static_cast<T>(-1) < 0 && d == static_cast<T>(-1)) {
    quotient = static_cast<T>(0ull - static_cast<unsigned long long>(n));
    remainder = 0;
  } else {
    quotient = static_cast<T>(n / d);
    remainder = static_cast<T>(n % d);
  }
}

template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    int_divide(T* quotient, T* remainder, const T* n, const T* d, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * BLOCK + threadIdx.x;
  if (i >= count) return;
  T q, r;
  divide(n[i], d[i], q, r);
  quotient[i] = q;
  remainder[i] = r;
}
