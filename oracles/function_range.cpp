#include "oracles/function_range.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPi = 0x1.921fb54442d19p+1;  // rounded up

bool known(const Ends& x) {
  return x.low == x.high && std::signbit(x.low) == std::signbit(x.high);
}
bool straddles(const Ends& x) { return x.low <= 0 && x.high >= 0; }

/// Between which sizes |x| lies.
Ends size_of(const Ends& x) {
  const double a = std::fabs(x.low);
  const double b = std::fabs(x.high);
  return {straddles(x) ? 0 : std::min(a, b), std::max(a, b)};
}

/// The hull of the values at some points.
class Points {
 public:
  explicit Points(const PointValues& values) : values_(values) {}
  Points& add(double x, double y) {
    x_[static_cast<size_t>(count_)] = x;
    y_[static_cast<size_t>(count_)] = y;
    ++count_;
    return *this;
  }
  std::optional<Ends> hull() {
    std::array<double, 4> v{};
    std::array<double, 4> e{};
    values_(count_, x_.data(), y_.data(), v.data(), e.data());
    Ends ends{kInfinity, -kInfinity};
    for (size_t k = 0; k < static_cast<size_t>(count_); ++k) {
      if (std::isnan(v[k])) return std::nullopt;
      const double error = std::isfinite(v[k]) ? e[k] * (1 + 0x1p-40) : 0;
      ends.low = std::min(ends.low, error == 0 ? v[k] : v[k] - error);
      ends.high = std::max(ends.high, error == 0 ? v[k] : v[k] + error);
    }
    return ends;
  }

 private:
  const PointValues& values_;
  std::array<double, 4> x_{};
  std::array<double, 4> y_{};
  int count_ = 0;
};

std::optional<Ends> corners(const Ends& x, const Ends& y, const PointValues& values) {
  return Points(values)
      .add(x.low, y.low)
      .add(x.low, y.high)
      .add(x.high, y.low)
      .add(x.high, y.high)
      .hull();
}

/// Even, and increasing in |x|.
std::optional<Ends> cosh_range(const Ends& x, const PointValues& values) {
  const Ends size = size_of(x);
  auto range = Points(values).add(size.low, 0).add(size.high, 0).hull();
  if (range) range->low = std::max(range->low, 1.0);
  return range;
}

std::optional<Ends> hypot_range(const Ends& x, const Ends& y, const PointValues& values) {
  const Ends a = size_of(x);
  const Ends b = size_of(y);
  auto range = Points(values).add(a.low, b.low).add(a.high, b.high).hull();
  if (range) range->low = std::max(range->low, 0.0);
  return range;
}

/// Over less than a period the values at both ends tell whether a pole lies between them: tan(p -
/// a) = cot a > cot(pi - b) = tan(p + b) for a + b < pi, and without a pole it is increasing.
std::optional<Ends> tan_range(const Ends& x, const PointValues& values) {
  if (!(x.high - x.low < 3)) return std::nullopt;
  const auto low = Points(values).add(x.low, 0).hull();
  const auto high = Points(values).add(x.high, 0).hull();
  if (!low || !high || low->low > high->high) return std::nullopt;
  return Ends{low->low, high->high};
}

/// The angle of a rectangle's points that is clear of the origin and of the negative axis, across
/// which it jumps, is least and largest at corners: along each edge it is monotonic.
std::optional<Ends> atan2_range(const Ends& x, const Ends& y, const PointValues& values) {
  const bool clear_sign = known(x) && (y.low > 0 || y.high < 0 || known(y));
  if (straddles(x) && y.low <= 0 && !clear_sign) return Ends{-kPi, kPi};
  return corners(x, y, values);
}

std::optional<Ends> copysign_range(const Ends& x, const Ends& y) {
  const Ends size = size_of(x);
  const bool clear = known(y) || !straddles(y);
  if (!clear) return Ends{-size.high, size.high};
  if (std::signbit(y.low)) return Ends{-size.high, -size.low};
  return size;
}

/// x - n |y|, linear where the whole quotient n is one number over all of the box.
std::optional<Ends> fmod_range(const Ends& x, const Ends& y, const PointValues& values) {
  const Ends size = size_of(y);
  if (size.low == 0 || std::isinf(x.low) || std::isinf(x.high)) return std::nullopt;
  double least = kInfinity;
  double most = -kInfinity;
  for (const double quotient :
       {x.low / size.low, x.low / size.high, x.high / size.low, x.high / size.high}) {
    const double slack = std::fabs(quotient) * 0x1p-50;
    least = std::min(least, std::trunc(quotient - slack));
    most = std::max(most, std::trunc(quotient + slack));
  }
  if (least == most && std::isfinite(least)) return corners(x, size, values);
  return Ends{x.low < 0 ? -std::min(size.high, -x.low) : 0,
              x.high > 0 ? std::min(size.high, x.high) : 0};
}

bool is_odd(double y) { return std::fmod(std::fabs(y), 2.0) == 1; }

/// x^y = e^(y log x) of positive x: an exponent that is linear in each of y and log x is least and
/// largest at corners. Negative bases have powers of whole exponents alone.
std::optional<Ends> pow_range(const Ends& x, const Ends& y, const PointValues& values) {
  // (+0)^-1 is +inf, (-0)^-1 is -inf.
  const bool maybe_odd = known(y) ? is_odd(y.low) : y.low <= -1;
  if (straddles(x) && !known(x) && y.low < 0 && maybe_odd) return std::nullopt;
  if (x.low >= 0) return corners(x, y, values);
  if (!known(y) || y.low != std::rint(y.low)) return std::nullopt;
  if (is_odd(y.low)) return corners(x, y, values);
  const Ends size = size_of(x);
  return Points(values).add(size.low, y.low).add(size.high, y.low).hull();
}

}  // namespace

std::optional<Ends> range_over_box(std::string_view function, const Ends& x, const Ends& y,
                                   const PointValues& values) {
  if (function == "cosh") return cosh_range(x, values);
  if (function == "hypot") return hypot_range(x, y, values);
  if (function == "tan") return tan_range(x, values);
  if (function == "atan2") return atan2_range(x, y, values);
  if (function == "copysign") return copysign_range(x, y);
  if (function == "fmod") return fmod_range(x, y, values);
  if (function == "pow") return pow_range(x, y, values);
  return std::nullopt;
}

}  // namespace assay
