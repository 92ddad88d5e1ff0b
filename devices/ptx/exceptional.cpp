#include "devices/ptx/exceptional.hpp"

#include <algorithm>
#include <cmath>

#include "devices/ptx/narrow_chains.hpp"
#include "kernels_under_test/dtype.hpp"

namespace assay::ptx {

namespace {

/// Digits that are left when a cancellation is worth telling: of f32's 24, 20 and more are gone; of
/// f16's 11, seven. With fewer left an error of one rounding is an eighth of the value or more.
constexpr int kDigitsLeft = 4;

DType format(Type type) {
  switch (type) {
    case Type::f64:
      return DType::f64;
    case Type::f16:
      return DType::f16;
    case Type::bf16:
      return DType::bf16;
    case Type::e4m3:
      return DType::e4m3;
    case Type::e5m2:
      return DType::e5m2;
    default:
      return DType::f32;  // tf32 is held as f32
  }
}

bool is_fma(Op op) { return op == Op::fma || op == Op::mad; }

double smallest_normal(Type type) { return std::ldexp(1.0, format_of(format(type)).min_exponent); }

/// The two numbers that an addition joins.
std::pair<double, double> joined(const Operation& o) {
  if (is_fma(o.op)) return {o.operands[0] * o.operands[1], o.operands[2]};
  return {o.operands[0], o.op == Op::sub ? -o.operands[1] : o.operands[1]};
}

/// Adds or takes off a constant so large that what is below it are integers: how programs round to
/// integers, by 1.5 * 2^23 in expf.
bool rounds_to_integer(const Operation& o) {
  for (int k = is_fma(o.op) ? 2 : 0; k < o.count; ++k) {
    const double x = o.operands[static_cast<size_t>(k)];
    if ((o.constants >> k & 1) != 0 && x != 0 && std::ilogb(x) >= precision_of(o.type) - 1)
      return true;
  }
  return false;
}

bool cancels(const Operation& o) {
  if (o.op != Op::add && o.op != Op::sub && !is_fma(o.op)) return false;
  if (rounds_to_integer(o)) return false;
  const auto [a, b] = joined(o);
  if (a == 0 || b == 0) return false;
  const int larger = std::max(std::ilogb(a), std::ilogb(b));
  return o.result == 0 || larger - std::ilogb(o.result) >= precision_of(o.type) - kDigitsLeft;
}

/// A result that is subnormal or 0, of normal operands whose result is not 0.
bool underflows(const Operation& o) {
  const double least = smallest_normal(o.type);
  if (std::fabs(o.result) >= least) return false;
  switch (o.op) {
    case Op::mul:
      return std::fabs(o.operands[0]) >= least && std::fabs(o.operands[1]) >= least;
    case Op::div:
      return std::fabs(o.operands[0]) >= least;
    case Op::cvt:
      return o.count == 1 && std::fabs(o.operands[0]) > 0;
    case Op::ex2:
    case Op::rcp:
      return true;
    default:
      return false;
  }
}

}  // namespace

const char* text_of(Exception kind) {
  switch (kind) {
    case Exception::nan:
      return "NaN";
    case Exception::infinity:
      return "infinity";
    case Exception::cancellation:
      return "cancellation";
    case Exception::underflow:
      return "underflow";
  }
  return "";
}

std::optional<Exception> exception_of(const Operation& o, bool operand_rounded) {
  const auto begin = o.operands.begin(), end = begin + o.count;
  const bool of_nan = std::any_of(begin, end, [](double x) { return std::isnan(x); });
  const bool of_infinity = std::any_of(begin, end, [](double x) { return std::isinf(x); });
  if (of_nan) return std::nullopt;
  if (std::isnan(o.result)) return Exception::nan;
  if (of_infinity) return std::nullopt;
  if (std::isinf(o.result)) return Exception::infinity;
  if (operand_rounded && cancels(o)) return Exception::cancellation;
  if (underflows(o)) return Exception::underflow;
  return std::nullopt;
}

bool rounds(const Operation& o) {
  if (!std::isfinite(o.result) || o.count == 0) return false;
  const auto [x, y, z] = o.operands;
  switch (o.op) {
    case Op::add:
    case Op::sub: {
      const auto [a, b] = joined(o);
      const double sum = a + b, part = sum - a;
      return sum != o.result || (a - (sum - part)) + (b - part) != 0;  // Knuth's TwoSum
    }
    case Op::mul:
      return std::fma(x, y, -o.result) != 0;
    case Op::fma:
    case Op::mad:
      return std::fma(x, y, z) != o.result || o.type == Type::f64;
    case Op::cvt:
      return x != o.result;
    case Op::neg:
    case Op::abs:
    case Op::min:
    case Op::max:
    case Op::copysign:
      return false;
    case Op::div:
      return std::fma(o.result, y, -x) != 0;
    default:
      return true;
  }
}

void Cause::join(const Cause& other) {
  const auto earlier = [](uint32_t a, uint32_t b) {
    return a == 0 ? b : b == 0 ? a : std::min(a, b);
  };
  nonfinite = earlier(nonfinite, other.nonfinite);
  cancellation = earlier(cancellation, other.cancellation);
  underflow = earlier(underflow, other.underflow);
  rounded |= other.rounded;
}

uint32_t ExceptionTrace::add(ExceptionEvent event) {
  constexpr int kMostOfOne = 4096;
  auto& [count, last] = counts_[{event.site, event.kind}];
  if (++count > kMostOfOne) return last;
  events_.push_back(std::move(event));
  return last = static_cast<uint32_t>(events_.size() - 1);
}

double number_of(Type type, uint64_t bits) { return to_double(format(type), bits); }

Type element_of(Type type) {
  switch (type) {
    case Type::f16x2:
      return Type::f16;
    case Type::bf16x2:
      return Type::bf16;
    case Type::e4m3x2:
      return Type::e4m3;
    case Type::e5m2x2:
      return Type::e5m2;
    default:
      return type;
  }
}

}  // namespace assay::ptx
