// Documented errors of approximate instructions: PTX ISA 9.0, 9.7.3 (f32, f64) and 9.7.4 (halves).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "fuzz/conform_formats.hpp"
#include "fuzz/conform_judge.hpp"

namespace assay {

namespace {

using ptx::Op;
using ptx::Type;

using Real = long double;

Real small_float(uint64_t bits, int fraction, int exponent) {
  const uint64_t mask = (uint64_t{1} << fraction) - 1, top = (uint64_t{1} << exponent) - 1;
  const uint64_t e = (bits >> fraction) & top, m = bits & mask;
  const int bias = (1 << (exponent - 1)) - 1;
  const bool negative = (bits >> (fraction + exponent)) & 1;
  Real value = 0;
  if (e == top) {
    value = m == 0 ? HUGE_VALL : std::numeric_limits<Real>::quiet_NaN();
  } else if (e == 0) {
    value = std::ldexp(static_cast<Real>(m), 1 - bias - fraction);
  } else {
    value = std::ldexp(static_cast<Real>(m | (mask + 1)), static_cast<int>(e) - bias - fraction);
  }
  return negative ? -value : value;
}

struct Limits {
  Real smallest_normal, smallest, largest;
  int fraction;
};
Limits limits_of(Type type) {
  const ConformFormat f = conform_format(type);
  const int bias = (1 << (f.exponent - 1)) - 1;
  const Real normal = std::ldexp(Real{1}, 1 - bias);
  return {normal, std::ldexp(normal, -f.fraction),
          std::ldexp(2 - std::ldexp(Real{1}, -f.fraction), bias), f.fraction};
}

Real value_of(Type type, uint64_t bits) {
  const ConformFormat f = conform_format(type);
  return small_float(bits, f.fraction, f.exponent);
}

Real exact_value(Op op, Real x, Real y) {
  switch (op) {
    case Op::div:
      return x / y;
    case Op::rcp:
      return 1 / x;
    case Op::sqrt:
      return std::sqrt(x);
    case Op::rsqrt:
      return 1 / std::sqrt(x);
    case Op::sin:
      return std::sin(x);
    case Op::cos:
      return std::cos(x);
    case Op::lg2:
      return std::log2(x);
    case Op::ex2:
      return std::exp2(x);
    default:
      return std::tanh(x);
  }
}

struct Bound {
  Real relative = 0, absolute = 0, ulps = 0;
};
const Bound kNoPromise{};

const Real kPi = std::acos(Real{-1});

Bound f32_bound(const ptx::Instruction& i, Real x, Real y) {
  switch (i.op) {
    case Op::div:  // .approx: 2 ulp for |y| in [2^-126, 2^126]; .full: 2 ulp everywhere
      if (!i.full && (std::fabs(y) < 0x1p-126L || std::fabs(y) > 0x1p126L)) return kNoPromise;
      return {0, 0, 2};
    case Op::rcp:
      return {0, 0, 1};
    case Op::sqrt:
      return {0x1p-23L};
    case Op::rsqrt:
      return {std::exp2(Real{-22.9L})};
    case Op::sin:
    case Op::cos:
      if (std::fabs(x) <= 2 * kPi) return {0, std::exp2(Real{-20.5L})};
      if (std::fabs(x) <= 100 * kPi) return {0, std::exp2(Real{-14.7L})};
      return kNoPromise;
    case Op::lg2:
      if (x > 0.5L && x < 2) return {0, 0x1p-22L};
      return {0x1p-22L};
    case Op::ex2:
      return {0, 0, 2};
    default:
      return {0x1p-11L};
  }
}

Bound bound_of(const ConformElement& e, Real x, Real y) {
  const ptx::Instruction& i = *e.instruction;
  switch (e.type) {
    case Type::f32:
      return f32_bound(i, x, y);
    case Type::f64:  // rcp and rsqrt .ftz: 20 bits; rsqrt.approx.f64: 2^-51
      return {i.ftz ? 0x1p-20L : 0x1p-51L};
    case Type::f16:
      return i.op == Op::ex2 ? Bound{std::exp2(Real{-9.9L})} : Bound{0, std::exp2(Real{-10.987L})};
    default:
      return i.op == Op::ex2 ? Bound{0x1p-7L} : Bound{0, 0x1p-8L};
  }
}

bool is_approximate(const ptx::Instruction& i) {
  switch (i.op) {
    case Op::div:
    case Op::rcp:
    case Op::sqrt:
    case Op::rsqrt:
    case Op::sin:
    case Op::cos:
    case Op::lg2:
    case Op::ex2:
    case Op::tanh:
      return i.approx || i.full;
    default:
      return false;
  }
}

/// What the emulator's approximations leave exact although the PTX ISA bounds it by ulps alone, and
/// what the judge counts on (docs/judging/welford.md): x / 1, 1 / 1, and powers of two.
bool taken_as_exact(const ptx::Instruction& i, Type type, Real x, Real y) {
  if (type != Type::f32) return false;
  switch (i.op) {
    case Op::div:
      return std::fabs(y) == 1;
    case Op::rcp:
      return std::fabs(x) == 1;
    case Op::ex2:
      return std::floor(x) == x;
    default:
      return false;
  }
}

bool same_special(Real exact, Real got) {
  if (std::isnan(exact)) return std::isnan(got);
  return got == exact && std::signbit(got) == std::signbit(exact);
}

}  // namespace

double share_of_bound(const ConformElement& e, uint64_t result) {
  const ptx::Instruction& i = *e.instruction;
  if (!is_approximate(i)) return -1;
  const Limits limits = limits_of(e.type);
  const auto source = [&](size_t k) {
    if (k >= e.sources.size()) return Real{0};
    // rcp and rsqrt .ftz of f64 read the upper word only.
    const uint64_t bits = e.type == Type::f64 && i.ftz ? e.sources[k] >> 32 << 32 : e.sources[k];
    const Real value = value_of(e.type, bits);
    const bool flushed = i.ftz && std::fabs(value) < limits.smallest_normal;
    return flushed ? std::copysign(Real{0}, value) : value;
  };
  const Real x = source(0), y = source(1), got = value_of(e.type, result);
  const Real exact = exact_value(i.op, x, y);
  const Bound bound = bound_of(e, x, y);
  const bool nothing = bound.relative == 0 && bound.absolute == 0 && bound.ulps == 0;
  if (std::isnan(exact) || std::isinf(exact) || exact == 0) {
    if (nothing && !std::isnan(exact)) return 0;
    return same_special(exact, got) ? 0 : HUGE_VAL;
  }
  if (nothing) return 0;
  if (std::isnan(got)) return HUGE_VAL;
  const Real size = std::fabs(exact);
  // A tiny result may be flushed, a large one may round to infinity.
  if (i.ftz && size < limits.smallest_normal && got == 0) return 0;
  if (taken_as_exact(i, e.type, x, y) && size >= limits.smallest_normal && size <= limits.largest)
    return got == exact ? 0 : HUGE_VAL;
  Real ulp = std::ldexp(
      Real{1}, std::max(std::ilogb(exact), std::ilogb(limits.smallest_normal)) - limits.fraction);
  // No relative bound can hold below the normal range: a result there carries the rounding to its
  // last place, which ex2.approx.f16 does by cutting off (seen on an H200).
  const Real place = e.type == Type::f16 ? limits.smallest : limits.smallest / 2;
  const Real allowed = std::max({bound.relative * size, bound.absolute, bound.ulps * ulp, place});
  if (std::isinf(got)) {
    return size + allowed > limits.largest && std::signbit(got) == std::signbit(exact) ? 0
                                                                                       : HUGE_VAL;
  }
  return static_cast<double>(std::fabs(got - exact) / allowed);
}

}  // namespace assay
