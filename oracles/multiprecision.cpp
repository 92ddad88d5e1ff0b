// The last tier, and correctly rounded doubles of any function: Boost.Multiprecision's binary
// floating point, which is integer arithmetic and so the same on every machine. The only file that
// sees Boost.
#include <boost/multiprecision/cpp_bin_float.hpp>

#include "oracles/tier_evaluator.inc.hpp"

namespace assay {
namespace {

namespace mp = boost::multiprecision;

/// Products of finite float32 numbers are multiples of 2^-298 below 2^256: 640 bits hold every sum
/// of up to 2^60 of them, and leave the rounding of functions far below any decision.
constexpr unsigned kBits = 640;
/// Enough to round a function's value to double; ties do not occur but at exact values.
constexpr unsigned kShortBits = 256;
template <unsigned bits>
using Binary = mp::number<mp::cpp_bin_float<bits, mp::digit_base_2>, mp::et_off>;
using Float = Binary<kBits>;
using Short = Binary<kShortBits>;

/// e^x of a larger |x| leaves the exponents that the library's numbers have (2^31).
constexpr int kFarthestExponent = 1 << 29;
static_assert(std::numeric_limits<Float>::max_exponent > 1.5 * kFarthestExponent);

template <typename N>
int significant_bits(const N& x) {
  const auto& bits = x.backend().bits();
  if (bits.size() == 1 && bits.limbs()[0] == 0) return 0;
  return static_cast<int>(std::numeric_limits<N>::digits) -
         static_cast<int>(mp::lsb(mp::cpp_int(bits)));
}

/// Kinds of results that need no arithmetic: the recommended functions of IEEE 754-2019, 9.2.
template <typename N>
N rounded_to_integer(const std::string& name, const N& x) {
  if (name == "floor") return mp::floor(x);
  if (name == "ceil") return mp::ceil(x);
  if (name == "trunc") return mp::trunc(x);
  const N down = mp::floor(x);
  const N rest = x - down;
  const bool odd = mp::fmod(down, N(2)) != 0;
  const N nearest = rest > 0.5 || (rest == 0.5 && odd) ? N(down + 1) : down;
  return nearest == 0 && (mp::signbit)(x) ? N(-mp::abs(nearest)) : nearest;
}

/// Newton's iteration on y^3 = |x| from a double's 53 bits, doubled at each step.
template <typename N>
N cube_root(const N& x) {
  const N size = mp::abs(x);
  const int exponent = static_cast<int>(mp::ilogb(size)) / 3 * 3;
  const N scaled = mp::ldexp(size, -exponent);  // in (1/8, 8)
  N root = std::cbrt(scaled.template convert_to<double>());
  for (int bits = 50; bits < std::numeric_limits<N>::digits; bits *= 2)
    root -= (root - scaled / (root * root)) / 3;
  root = mp::ldexp(root, exponent / 3);
  return x < 0 ? N(-root) : root;
}

/// erf(x) = 2 / sqrt(pi) e^(-x^2) sum of 2^n x^(2n + 1) / (2n + 1)!! (DLMF 7.6.2): every term has
/// the sign of x, so that nothing cancels.
template <typename N>
N error_function(const N& x) {
  static const N two_by_root_pi = 2 / mp::sqrt(N(4 * mp::atan(N(1))));
  const N square = x * x;
  N term = x;
  N sum = x;
  const N small = mp::ldexp(N(1), -std::numeric_limits<N>::digits);
  for (int n = 1; mp::abs(term) > mp::abs(sum) * small; ++n) {
    term *= 2 * square / (2 * n + 1);
    sum += term;
  }
  return two_by_root_pi * mp::exp(N(-square)) * sum;
}

/// erfc(x), x > 0: e^(-x^2) / sqrt(pi) over the continued fraction x + (1/2)/(x + 1/(x + (3/2)/(x +
/// ...))) (DLMF 7.9.2), from its end: the tail left out after k terms is below e^(-2 x sqrt(2 k)).
template <typename N>
N complement_far(const N& x) {
  static const N root_pi = mp::sqrt(N(4 * mp::atan(N(1))));
  const double digits = std::numeric_limits<N>::digits * 0.70;  // ln 2 and some
  const double ratio = digits / (2 * x.template convert_to<double>());
  N tail = x;
  for (int k = static_cast<int>(ratio * ratio / 2) + 16; k > 0; --k) tail = x + N(k) / (2 * tail);
  return mp::exp(N(-x * x)) / (root_pi * tail);
}

/// erfc(x) > e^(-x^2) / (2 x + 2): below `far` 1 - erf(x) loses a quarter of the bits and a few
/// more, as function_units allows.
template <typename N>
N complement(const N& x) {
  static const double far = std::sqrt(std::numeric_limits<N>::digits * 0.25 * 0.69);
  return x > far ? complement_far(x) : N(1 - error_function(x));
}

/// e^x - 1. Small arguments cancel: 1 + x holds kBits / 2 more bits than its difference from 1
/// needs.
template <typename N>
N exponential_less_one(const N& x) {
  if (mp::abs(x) > 0x1p-20) return mp::exp(x) - 1;
  N term = x;
  N sum = x;
  for (int i = 2; i < 40; ++i) sum += term *= x / i;
  return sum;
}

/// log(1 + x), x > -1.
template <typename N>
N logarithm_of_one_and(const N& x) {
  if (mp::abs(x) > 0x1p-20) return mp::log(N(x + 1));
  N power = x;
  N sum = x;
  for (int i = 2; i < 40; ++i) {
    power *= -x;
    sum += power / i;
  }
  return sum;
}

/// Hyperbolic functions and their inverses by the two above, none of whose terms cancel; inverse
/// sines and cosines by the angle's tangent (DLMF 4.23.14, 4.35 to 4.37), |x| < 1.
template <typename N>
bool of_an_angle(const std::string& name, const N& x, N& out) {
  const N size = mp::abs(x);
  const auto with_sign = [&](const N& y) { return out = x < 0 ? N(-y) : y, true; };
  if (name == "asin") return out = mp::atan(N(x / mp::sqrt(N((1 - x) * (1 + x))))), true;
  if (name == "acos") return out = 2 * mp::atan(mp::sqrt(N((1 - x) / (1 + x)))), true;
  if (name == "atan") return out = mp::atan(x), true;
  if (name == "sinh") {
    const N m = exponential_less_one(size);
    return with_sign((m + m / (m + 1)) / 2);
  }
  if (name == "cosh") {
    const N e = mp::exp(size);
    return out = (e + 1 / e) / 2, true;
  }
  if (name == "asinh")
    return with_sign(
        logarithm_of_one_and(N(size + size * size / (1 + mp::sqrt(N(1 + size * size))))));
  if (name == "acosh")
    return out = logarithm_of_one_and(N((x - 1) + mp::sqrt(N((x - 1) * (x + 1))))), true;
  if (name == "atanh") return with_sign(logarithm_of_one_and(N(2 * size / (1 - size))) / 2);
  return false;
}

template <typename N>
N of_one(const std::string& name, const N& x, bool& known) {
  static const N ln2 = mp::log(N(2));
  static const N ln10 = mp::log(N(10));
  N angle;
  if (of_an_angle(name, x, angle)) return angle;
  if (name == "exp") return mp::exp(x);
  if (name == "exp2") return mp::exp(N(x * ln2));
  if (name == "exp10") return mp::exp(N(x * ln10));
  if (name == "expm1") return exponential_less_one(x);
  if (name == "log") return mp::log(x);
  if (name == "log2") return mp::log(x) / ln2;
  if (name == "log10") return mp::log(x) / ln10;
  if (name == "log1p") return logarithm_of_one_and(x);
  if (name == "sin") return mp::sin(x);
  if (name == "cos") return mp::cos(x);
  if (name == "tan") return mp::tan(x);
  if (name == "tanh") return mp::tanh(x);
  if (name == "erf") return error_function(x);
  if (name == "erfc") return complement(x);
  if (name == "normcdf") return complement(N(-x * mp::sqrt(N(0.5)))) / 2;
  if (name == "rsqrt") return 1 / mp::sqrt(x);
  if (name == "sqrt") return mp::sqrt(x);
  if (name == "cbrt") return cube_root(x);
  known = false;
  return x;
}

/// Values at infinities, NaN and the ends of domains, where multiprecision would throw or loop.
template <typename N>
bool special(const std::string& name, const N& x, N& out) {
  const N infinity = std::numeric_limits<N>::infinity();
  const N nan = std::numeric_limits<N>::quiet_NaN();
  const bool is_nan = (mp::isnan)(x);
  const bool is_infinite = (mp::isinf)(x);
  const bool logarithm = name == "log" || name == "log2" || name == "log10";
  if (name == "is_nan") return out = is_nan ? 1 : 0, true;
  if (is_nan) return out = x, true;
  if (name == "log1p" && x <= -1) return out = x == -1 ? N(-infinity) : nan, true;
  if (logarithm && x <= 0) return out = x == 0 ? N(-infinity) : nan, true;
  if ((name == "sqrt" || name == "rsqrt") && x < 0) return out = nan, true;
  if (name == "rsqrt" && x == 0) return out = infinity, true;
  if ((name == "asin" || name == "acos" || name == "atanh") && mp::abs(x) > 1)
    return out = nan, true;
  if (name == "atanh" && mp::abs(x) == 1) return out = x > 0 ? infinity : N(-infinity), true;
  if (name == "acosh" && x < 1) return out = nan, true;
  if ((name == "acos" || name == "acosh") && x == 1) return out = 0, true;
  if (!is_infinite) return false;
  const bool up = x > 0;
  if (name == "cosh") return out = infinity, true;
  if (name == "exp" || name == "exp2" || name == "exp10") return out = up ? infinity : N(0), true;
  if (name == "expm1") return out = up ? infinity : N(-1), true;
  if (name == "tanh" || name == "erf") return out = up ? 1 : -1, true;
  if (name == "erfc") return out = up ? 0 : 2, true;
  if (name == "normcdf") return out = up ? 1 : 0, true;
  if (name == "rsqrt") return out = 0, true;
  if (name == "sin" || name == "cos" || name == "tan") return out = nan, true;
  return out = x, true;
}

/// fmod by long division: exact whatever the quotient's size, which mp::fmod is only while the
/// quotient fits the precision.
template <typename N>
N remainder_of_truncation(const N& x, const N& y) {
  const N divisor = mp::abs(y);
  N rest = mp::abs(x);
  while (rest >= divisor) {
    N step = mp::ldexp(divisor, static_cast<int>(mp::ilogb(rest) - mp::ilogb(divisor)));
    if (step > rest) step /= 2;
    rest -= step;
  }
  return (mp::signbit)(x) ? N(-rest) : rest;
}

/// IEEE 754-2019, 9.2.1: pow at zeros, infinities, NaN and negative bases.
template <typename N>
N power(const N& x, const N& y, bool& exact) {
  const bool odd = !(mp::isinf)(y) && !(mp::isnan)(y) && mp::fmod(y, N(2)) != 0;
  const bool whole = (mp::isinf)(y) || mp::floor(y) == y;
  exact = true;
  if (y == 0 || x == 1) return N(1);
  if ((mp::isnan)(x) || (mp::isnan)(y)) return std::numeric_limits<N>::quiet_NaN();
  const N size = mp::abs(x);
  const N infinity = std::numeric_limits<N>::infinity();
  const bool negative = (mp::signbit)(x) && whole && odd;
  if ((mp::isinf)(y) && size == 1) return N(1);
  if (size == 0 || (mp::isinf)(size) || (mp::isinf)(y)) {
    const bool vanishes = (size < 1) == (y > 0);
    const N limit = vanishes ? N(0) : infinity;
    return negative ? N(-limit) : limit;
  }
  if (x < 0 && !whole) return std::numeric_limits<N>::quiet_NaN();
  exact = y == 1;
  const N result = mp::pow(size, y);
  return negative ? N(-result) : result;
}

/// atan2(x, y): the angle of the point (y, x); the ends where multiprecision would divide by 0.
template <typename N>
N angle(const N& x, const N& y, bool& exact) {
  static const N pi = 4 * mp::atan(N(1));
  exact = false;
  if ((mp::isnan)(x) || (mp::isnan)(y)) return std::numeric_limits<N>::quiet_NaN();
  const bool left = (mp::signbit)(y) != 0;
  N size;
  if ((mp::isinf)(x))
    size = (mp::isinf)(y) ? N(pi / 4 * (left ? 3 : 1)) : N(pi / 2);
  else if (x == 0 || (mp::isinf)(y))
    size = left ? pi : N(0);
  else if (y == 0)
    size = pi / 2;
  else
    size =
        left ? N(pi - mp::atan(N(mp::abs(x) / mp::abs(y)))) : mp::atan(N(mp::abs(x) / mp::abs(y)));
  exact = size == 0;
  return (mp::signbit)(x) ? N(-size) : size;
}

/// IEEE 754-2019, 9.2.1: infinite if either argument is, NaN beside it or not.
template <typename N>
N hypotenuse(const N& x, const N& y, bool& exact) {
  exact = true;
  if ((mp::isinf)(x) || (mp::isinf)(y)) return std::numeric_limits<N>::infinity();
  if ((mp::isnan)(x) || (mp::isnan)(y)) return std::numeric_limits<N>::quiet_NaN();
  if (x == 0 || y == 0) return mp::abs(x == 0 ? y : x);
  exact = false;
  return mp::sqrt(N(x * x + y * y));
}

template <typename N>
N function_value(const std::string& name, const N& x, const N& y, bool& known, bool& exact) {
  const bool whole = name == "floor" || name == "ceil" || name == "trunc" || name == "rint";
  N out;
  if (name == "copysign") return exact = true, (mp::signbit)(x) == (mp::signbit)(y) ? x : N(-x);
  if (name == "fmod") {
    exact = true;
    if ((mp::isnan)(x) || (mp::isnan)(y) || (mp::isinf)(x) || y == 0)
      return std::numeric_limits<N>::quiet_NaN();
    return (mp::isinf)(y) ? x : remainder_of_truncation(x, y);
  }
  if (name == "pow") return power(x, y, exact);
  if (name == "atan2") return angle(x, y, exact);
  if (name == "hypot") return hypotenuse(x, y, exact);
  static const N half_pi = 2 * mp::atan(N(1));
  if ((name == "atan" && (mp::isinf)(x)) || (name == "asin" && mp::abs(x) == 1))
    return x > 0 ? half_pi : N(-half_pi);
  if (name == "acos" && x == -1) return 2 * half_pi;
  if (name == "acos" && x == 0) return half_pi;
  if (special(name, x, out)) return exact = true, out;
  if (whole) return exact = true, rounded_to_integer(name, x);
  const bool one_at_zero =
      name == "exp" || name == "exp2" || name == "exp10" || name == "cos" || name == "cosh";
  if (x == 0 && one_at_zero) return exact = true, N(1);
  if (x == 0 && name == "erfc") return exact = true, N(1);
  if (x == 0 && name == "normcdf") return exact = true, N(0.5);
  if (x == 0) return exact = true, x;
  if (x == 1 && (name == "log" || name == "log2" || name == "log10")) return exact = true, N(0);
  // Reducing the argument costs as many bits as it has before the point.
  if ((name == "sin" || name == "cos" || name == "tan") && mp::abs(x) > 0x1p128)
    return known = false, x;
  // Beyond these the values are not distinguishable from their limits in any format. What grows has
  // no bound then: what the formula makes of it may come back into range.
  const bool hyperbolic = name == "sinh" || name == "cosh";
  const bool exponential = name == "exp" || name == "exp2" || name == "exp10";
  const int farthest = name == "exp10" ? kFarthestExponent / 4 : kFarthestExponent;
  if ((exponential || hyperbolic || name == "expm1") && x > farthest)
    return known = false, N(mp::ldexp(N(1), kFarthestExponent));
  if (hyperbolic && x < -farthest) {
    const N size = mp::ldexp(N(1), kFarthestExponent);
    return known = false, name == "sinh" ? N(-size) : size;
  }
  if (exponential && x < -farthest) return N(mp::ldexp(N(1), -kFarthestExponent));
  if (name == "erf" && mp::abs(x) > 30) return x > 0 ? N(1) : N(-1);
  if (name == "erfc" && x < -30) return N(2);
  if (name == "normcdf" && x > 43) return N(1);
  if ((name == "erfc" && x > 200) || (name == "normcdf" && x < -283))
    return N(mp::ldexp(N(1), -50000));
  return of_one(name, x, known);
}

/// With `kDigits` bits: the last tier, and the shorter numbers that decide nearly all before it.
template <unsigned kDigits>
struct Multiprecision {
  using Num = Binary<kDigits>;
  static Num from(double x) {
    Num out(x);
    if (std::isnan(x)) out.backend().sign() = std::signbit(x);  // copysign's
    return out;
  }
  static Num from_integer(__int128 x) {
    const bool negative = x < 0;
    const auto magnitude =
        negative ? -static_cast<unsigned __int128>(x) : static_cast<unsigned __int128>(x);
    Num out = Num(static_cast<uint64_t>(magnitude >> 64)) * mp::ldexp(Num(1), 64);
    out += Num(static_cast<uint64_t>(magnitude));
    return negative ? Num(-out) : out;
  }
  static Num add(const Num& a, const Num& b) { return a + b; }
  static Num sub(const Num& a, const Num& b) { return a - b; }
  static Num mul(const Num& a, const Num& b) { return a * b; }
  static Num div(const Num& a, const Num& b) {
    if (b != 0 || (mp::isnan)(a) || (mp::isnan)(b)) return a / b;
    // 0/0 is NaN; x/0 an infinity of the signs' product.
    if (a == 0) return std::numeric_limits<Num>::quiet_NaN();
    const bool negative = (a < 0) != static_cast<bool>((mp::signbit)(b));
    const Num infinity = std::numeric_limits<Num>::infinity();
    return negative ? Num(-infinity) : infinity;
  }
  static Num sqrt(const Num& a) {
    return a < 0 ? std::numeric_limits<Num>::quiet_NaN() : Num(mp::sqrt(a));
  }
  static Num negate(const Num& a) { return -a; }
  static bool less(const Num& a, const Num& b) { return a < b; }
  static bool is_nan(const Num& a) { return (mp::isnan)(a); }
  static bool is_zero(const Num& a) { return a == 0; }
  static int infinity(const Num& a) { return (mp::isinf)(a) ? (a > 0 ? 1 : -1) : 0; }
  static double to_double(const Num& a) { return a.template convert_to<double>(); }
  /// With exponents as wide as the numbers': e^x of a large x errs by more than any long double.
  using Bound = mp::number<mp::cpp_bin_float<64, mp::digit_base_2>, mp::et_off>;
  static Bound to_bound(const Num& a) { return Bound(a); }
  static Num from_bound(const Bound& e) { return Num(e); }
  static Bound scaled_unit(const Num& a) {
    const Num unit = mp::ldexp(Num(mp::abs(a)), -static_cast<int>(kDigits) + 2);
    return Bound(unit) + 0x1p-16000L;
  }
  static bool exact_sum(const Num& a, const Num& b, const Num& s) {
    if (a == 0 || b == 0 || !(mp::isfinite)(s)) return true;
    const Num t = s - a;
    return (a - (s - t)) + (b - t) == 0;  // Knuth's TwoSum
  }
  static bool exact_product(const Num& a, const Num& b) {
    return a == 0 || b == 0 ||
           significant_bits(a) + significant_bits(b) <= static_cast<int>(kDigits);
  }
  static bool exact_quotient(const Num& a, const Num& b, const Num& q) {
    return a == 0 || (b != 0 && exact_product(q, b) && q * b == a);
  }
  static bool exact_root(const Num& a, const Num& r) {
    return a == 0 || (exact_product(r, r) && r * r == a);
  }
  /// Error of a function in units: cancellation in expm1, log1p and argument reduction included.
  /// Most is lost by an angle: as many bits as it has before the point, and next to a multiple of
  /// pi/2 some 61 more (of doubles; the nearest is 6381956970095103 x 2^797: Muller, Elementary
  /// Functions, "Range reduction").
  static constexpr bool is_short = kDigits < kBits;
  static constexpr long double function_units = is_short ? 0x1p132L : 0x1p200L;
  static constexpr double largest_angle = is_short ? 0x1p60 : 0x1p128;
  static Num function(const std::string& name, const Num& x, const Num& y, bool& known,
                      bool& exact) {
    const bool angle = name == "sin" || name == "cos" || name == "tan";
    if (angle && mp::abs(x) > largest_angle) return known = false, x;
    // The rests of a long division have the bits of both.
    if (is_short && name == "fmod" && !exact_product(x, y)) return known = false, x;
    return function_value(name, x, y, known, exact);
  }
  static std::string text(const Num& a, int digits) {
    if ((mp::isnan)(a)) return "NaN";
    if ((mp::isinf)(a)) return a > 0 ? "inf" : "-inf";
    return a.str(digits, std::ios_base::fmtflags());
  }
};

}  // namespace

std::unique_ptr<ExactTier> make_multiprecision_tier(const Graph& graph) {
  return std::make_unique<TierEvaluator<Multiprecision<kBits>>>(graph);
}

std::unique_ptr<ExactTier> make_short_multiprecision_tier(const Graph& graph) {
  return std::make_unique<TierEvaluator<Multiprecision<kShortBits>>>(graph);
}

double nearest_value(std::string_view function, double x, double y) {
  bool known = true;
  bool exact = false;
  if (x == 0 && std::signbit(x)) {
    // -0 where the function is odd or keeps it.
    for (const char* odd : {"expm1", "log1p", "sin", "tan", "tanh", "erf", "cbrt", "floor", "ceil",
                            "trunc", "rint", "sqrt", "asin", "atan", "sinh", "asinh", "atanh"})
      if (function == odd) return x;
    if (function == "rsqrt") return -std::numeric_limits<double>::infinity();
  }
  const Short value =
      function_value<Short>(std::string(function), Short(x), Short(y), known, exact);
  if (!known) {
    const bool grows = function.starts_with("exp") || function == "sinh" || function == "cosh";
    const double infinity = std::numeric_limits<double>::infinity();
    return !grows ? 0 : value < 0 ? -infinity : infinity;
  }
  return value.convert_to<double>();
}

}  // namespace assay
