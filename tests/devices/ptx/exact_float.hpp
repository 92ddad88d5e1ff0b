// Binary floating point by exact integers of any length (Boost.Multiprecision): the reference of
// the row functions' tests. Shares nothing with the code under test.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>

#include "semantics_testing.hpp"

namespace assay::ptx::exact {

using boost::multiprecision::cpp_int;

enum class Mode { nearest, zero, down, up, nearest_away };

/// NaN, infinity or +-m 2^e. An inexact m is long enough and has its lowest bit set.
struct Number {
  enum Kind { nan, infinite, finite } kind = finite;
  bool negative = false;
  cpp_int m = 0;
  int e = 0;
  bool zero() const { return kind == finite && m == 0; }
};

inline uint64_t canonical_nan(FloatLayout f) {
  if (f.fraction == 52) return 0x7ff8000000000000ull;
  return f.fraction == 23 ? 0x7fffffffu : 0x7fffu;
}

inline Number decode(FloatLayout f, uint64_t bits) {
  Number x;
  x.negative = bits & f.sign();
  uint64_t fraction = bits & ((uint64_t(1) << f.fraction) - 1);
  uint64_t exponent = (bits & f.infinity()) >> f.fraction;
  int lowest = 2 - (1 << (f.exponent - 1)) - f.fraction;
  if (exponent == f.infinity() >> f.fraction) {
    x.kind = fraction ? Number::nan : Number::infinite;
  } else if (exponent == 0) {
    x.m = fraction;
    x.e = lowest;
  } else {
    x.m = fraction | (uint64_t(1) << f.fraction);
    x.e = lowest + static_cast<int>(exponent) - 1;
  }
  return x;
}

inline bool round_up(Mode mode, bool negative, bool odd, int against_half, bool inexact) {
  switch (mode) {
    case Mode::nearest:
      return against_half > 0 || (against_half == 0 && odd);
    case Mode::nearest_away:
      return against_half >= 0;
    case Mode::zero:
      return false;
    case Mode::down:
      return negative && inexact;
    case Mode::up:
      return !negative && inexact;
  }
  return false;
}

inline uint64_t encode(FloatLayout f, const Number& x, Mode mode) {
  uint64_t sign = x.negative ? f.sign() : 0;
  if (x.kind == Number::nan) return canonical_nan(f);
  if (x.kind == Number::infinite) return sign | f.infinity();
  if (x.m == 0) return sign;
  int lowest = 2 - (1 << (f.exponent - 1)) - f.fraction;
  int top = static_cast<int>(msb(x.m)) + x.e;
  int last = std::max(top - f.fraction, lowest);
  cpp_int quotient;
  int against_half = -1;
  bool inexact = false;
  if (last <= x.e) {
    quotient = x.m << (x.e - last);
  } else {
    cpp_int unit = cpp_int(1) << (last - x.e);
    quotient = x.m / unit;
    cpp_int rest = 2 * (x.m % unit);
    inexact = rest != 0;
    against_half = rest.compare(unit);
  }
  if (round_up(mode, x.negative, (quotient & 1) != 0, against_half, inexact)) ++quotient;
  if ((quotient >> (f.fraction + 1)) != 0) {  // up into the next binade
    quotient >>= 1;
    ++last;
  }
  uint64_t q = static_cast<uint64_t>(quotient);
  if (q >> f.fraction == 0) return sign | q;
  int64_t exponent = last - lowest + 1;
  if (exponent >= static_cast<int64_t>(f.infinity() >> f.fraction)) {
    bool finite = mode == Mode::zero || (mode == Mode::down && !x.negative) ||
                  (mode == Mode::up && x.negative);
    return sign | (finite ? f.infinity() - 1 : f.infinity());
  }
  uint64_t fraction = (uint64_t(1) << f.fraction) - 1;
  return sign | (static_cast<uint64_t>(exponent) << f.fraction) | (q & fraction);
}

inline Number make_nan() { return {Number::nan}; }
inline Number negate(Number x) {
  x.negative = !x.negative;
  return x;
}

inline Number add(const Number& x, const Number& y, Mode mode) {
  if (x.kind == Number::nan || y.kind == Number::nan) return make_nan();
  if (x.kind == Number::infinite && y.kind == Number::infinite)
    return x.negative == y.negative ? x : make_nan();
  if (x.kind == Number::infinite) return x;
  if (y.kind == Number::infinite) return y;
  int e = std::min(x.e, y.e);
  cpp_int a = x.m << (x.e - e), b = y.m << (y.e - e);
  cpp_int sum = (x.negative ? -a : a) + (y.negative ? -b : b);
  Number result;
  result.e = e;
  result.negative = sum < 0;
  result.m = sum < 0 ? -sum : sum;
  if (sum == 0) result.negative = x.negative == y.negative ? x.negative : mode == Mode::down;
  return result;
}

inline Number multiply(const Number& x, const Number& y) {
  if (x.kind == Number::nan || y.kind == Number::nan) return make_nan();
  Number result;
  result.negative = x.negative != y.negative;
  if (x.kind == Number::infinite || y.kind == Number::infinite) {
    result.kind = x.zero() || y.zero() ? Number::nan : Number::infinite;
    return result;
  }
  result.m = x.m * y.m;
  result.e = x.e + y.e;
  return result;
}

inline Number divide(const Number& x, const Number& y) {
  if (x.kind == Number::nan || y.kind == Number::nan) return make_nan();
  Number result;
  result.negative = x.negative != y.negative;
  if (x.kind == Number::infinite || y.zero()) {
    bool undefined = y.kind == Number::infinite || (y.zero() && x.zero());
    result.kind = undefined ? Number::nan : Number::infinite;
    return result;
  }
  if (y.kind == Number::infinite || x.zero()) return result;
  cpp_int numerator = x.m << 140;
  result.m = numerator / y.m << 1;
  if (numerator % y.m != 0) result.m |= 1;
  result.e = x.e - y.e - 141;
  return result;
}

inline Number square_root(const Number& x) {
  if (x.kind == Number::nan || x.zero()) return x;
  if (x.negative) return make_nan();
  if (x.kind == Number::infinite) return x;
  Number result;
  int shift = 160 + (x.e & 1);
  cpp_int rest;
  result.m = sqrt(cpp_int(x.m << shift), rest) << 1;
  if (rest != 0) result.m |= 1;
  result.e = (x.e - shift) / 2 - 1;
  return result;
}

inline int compare_finite(const Number& x, const Number& y) {
  Number difference = add(x, negate(y), Mode::nearest);
  return difference.zero() ? 0 : difference.negative ? -1 : 1;
}

inline uint64_t flush(FloatLayout f, uint64_t bits) {
  return (bits & f.infinity()) == 0 ? bits & f.sign() : bits;
}
inline bool is_nan(FloatLayout f, uint64_t bits) { return (bits & ~f.sign()) > f.infinity(); }
/// .sat on a result.
inline uint64_t saturate(FloatLayout f, uint64_t bits) {
  if (is_nan(f, bits) || (bits & f.sign())) return 0;
  return std::min(bits, f.one());
}

}  // namespace assay::ptx::exact
