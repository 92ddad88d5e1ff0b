// Rows of doubles with a running error and an enclosure: the arithmetic of the first tier.
//
// Every array counts elements. For element i of a node:
//   v   the reference value, a double near the exact value;
//   e   |v - exact| <= e: the oracle's own error, which shrinks from tier to tier;
//   lo  a correct kernel's value is in [exact - lo, exact + hi]: the allowance, the same in all
//   hi  tiers. Infinite: the kernel may overflow there. NaN: any value is accepted.
//
// Only basic IEEE operations and integer ones are used, without contraction, so the plain and the
// AVX2 build give the same bits. All bounds are rounded outward by kOutward at each operation.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace assay::rows {

/// Longest run of one call, so that broadcast operands fit a small splat buffer.
inline constexpr int kBlock = 256;

/// Covers the roundings of one operation's bound: fewer than 64 nonnegative double operations.
inline constexpr double kOutward = 1 + 0x1p-46;

/// A number so large that of its exact value only a limit towards 0 is known (`vast`): e is
/// infinite, and so is the deviation outwards; v less the deviation inwards is the limit, of the
/// exact value and of a correct kernel's, which may be infinite: every accumulator overflows where
/// one arises (docs/judging/overflow.md, "Numbers beyond double"). Below this a limit says little,
/// and underflow is no longer relative.
inline constexpr double kLeastVast = 1;
/// What e^x, x > 709, gives: far enough from double's end for a sum of some.
inline constexpr double kVastExponential = 0x1p1016;
/// The inner deviation of such numbers, relative to v.
inline constexpr double kVastDeviation = 0x1p-8;
/// That of what finite numbers give beyond double: as far as they are off, relatively, times 2^10
/// (what has a finite value in a kernel is below 2^1025, v is 2^1016), and this at least, for what
/// is rounded afterwards; at most the second.
inline constexpr double kVastSpread = 0x1p10;
inline constexpr double kLeastVastDeviation = 0x1p-32;
inline constexpr double kMostVastDeviation = 0x1p-2;
inline double vast_deviation(double relative_spread) {
  return std::clamp(kVastSpread * relative_spread, kLeastVastDeviation, kMostVastDeviation);
}

/// The inner limit of a correct kernel's |value|; 0 for what is not vast.
inline double vast_limit(double v, double e, double lo, double hi) {
  const double limit = std::fabs(v) - (v > 0 ? lo : hi);
  const bool open = e == HUGE_VAL && (v > 0 ? hi : lo) == HUGE_VAL;
  return open && limit >= kLeastVast / 2 && std::isfinite(v) ? limit : 0;
}

/// A limit on one side alone: neither the exact value nor a correct kernel's is beyond it, whatever
/// its size. What is vast is so limited.
inline bool limited(double v, double e, double lo, double hi) {
  return e == HUGE_VAL && (lo == HUGE_VAL) != (hi == HUGE_VAL) && std::isfinite(v);
}

/// The oracle's own error where a deviation says how far a correct kernel's value is from v: a vast
/// number's limit holds for the exact value too.
inline double known_error(double v, double e, double lo, double hi) {
  return vast_limit(v, e, lo, hi) > 0 ? 0 : e;
}

/// A number this much (relative) below a power of two may round to it, and has its ulp: a published
/// error is counted from the correctly rounded result (docs/judging/elementwise.md).
constexpr double rounds_up_by(double u) { return u / 2 * (1 + 0x1p-10) + 0x1p-40; }

/// Arrays that are read; never null.
struct In {
  const double* v;
  const double* e;
  const double* lo;
  const double* hi;
};
struct Out {
  double* v;
  double* e;
  double* lo;
  double* hi;
};

/// Whether any error or any allowance of a run is not zero.
enum Flags : int { kNoFlags = 0, kAnyError = 1, kAnyAllowance = 2, kAnyNan = 4 };

/// What a kernel's rounding into a format does.
struct Rounding {
  double u;                    ///< unit roundoff, 2^-p
  double eta;                  ///< absolute error of an operation: underflow, or flushing
  double split;                ///< 2^(53 - p) + 1, Veltkamp's splitter
  double min_normal;           ///< below it, numbers are multiples of `smallest`
  double smallest;             ///< smallest subnormal; 0 when subnormals may be flushed
  double largest;              ///< largest finite
  double weight = 1;           ///< roundings
  bool widen = false;          ///< the kernel may overflow to infinity (range = "naive")
  bool native_double = false;  ///< the format is double itself: everything is representable
};

/// A published accuracy: k ulps (plus a half), or an absolute or relative bound.
struct Accuracy {
  double ulps = 0;   ///< base of k, the half included
  double slope = 0;  ///< k grows by floor(slope |x|)
  double absolute = 0;
  double relative = 0;
  double low = 0;  ///< the figure holds for low <= |x| <= high
  double high = 0;
  /// The kernel's argument is known not to exceed it (x - max(x) rounds to at most 0).
  double argument_limit = 0x1p1023;
};

/// Sums along a row.
struct RowSum {
  double v = 0;
  double e = 0;
  double magnitude = 0;  ///< sum |v| + e, rounded outward
  double lo = 0;         ///< sums of the terms' own allowances
  double hi = 0;
  bool exact = false;  ///< every order of adding is exact in the format: no rounding at all
};

/// The largest element of a row, or with sign -1 the smallest, negated.
struct RowMax {
  double v = 0;
  double e = 0;
  double lo = 0;
  double hi = 0;
  bool nan = false;  ///< some element is NaN; v ignores it (-inf: nothing else is left)
};

enum class NanMode { propagate, ignore, ask };

/// Where a match starts: constants of the output's format.
struct MatchFormat {
  double half_scale;  ///< 2^-p: half an ulp of a number whose binade starts at 1
  double min_normal;
  double largest;  ///< largest finite
  /// Below it numbers have an absolute spacing, and so has what counts as weak (RULES.md, counts):
  /// the accumulator's smallest normal number, or where subnormals are flushed 32 of them, which
  /// are then as far apart as they are from 0.
  double weak_floor = 0;
};
struct MatchTotals {
  double share = 0;
  int64_t weak = 0;
  bool all = true;
};

struct Kernels {
  int (*add)(int n, In a, In b, Out o);
  int (*sub)(int n, In a, In b, Out o);
  int (*mul)(int n, In a, In b, bool exact, Out o);
  int (*div)(int n, In a, In b, Out o);
  int (*neg)(int n, In a, Out o);
  int (*abs)(int n, In a, Out o);
  int (*max2)(int n, In a, In b, NanMode mode, Out o);
  int (*exp)(int n, In a, const Accuracy& accuracy, const Rounding& rounding, Out o);
  /// Neither the exact argument nor a correct kernel's is below `least`.
  int (*sqrt)(int n, In a, double least, Out o);
  int (*rsqrt)(int n, In a, double least, Out o);
  /// Only lo and hi are written; v and e stay the argument's.
  int (*settle)(int n, In a, const Rounding& rounding, double* lo, double* hi);
  /// Adds a function's published error to o; |argument| +- its error decides the range.
  int (*publish)(int n, In argument, const Accuracy& accuracy, const Rounding& rounding, Out o);
  /// Widens lo and hi, a quotient's, by what multiplying by a reciprocal may add: `relative` of the
  /// quotient and `absolute` of the dividend.
  void (*hoist)(int n, In dividend, In quotient, double relative, double absolute, double* lo,
                double* hi);
  /// Clips lo and hi, a share's, to [0, 1] and `relative` and `absolute` beyond; a share of
  /// certain 0 to [0, 0].
  void (*share)(int n, In share, In weight, double relative, double absolute, double* lo,
                double* hi);
  /// Null e, lo, hi are zero. `precision_limit` is 2^p of the accumulator.
  RowSum (*sum)(int64_t n, const double* v, const double* e, const double* lo, const double* hi,
                double precision_limit);
  RowMax (*max)(int64_t n, const double* v, const double* e, const double* lo, const double* hi,
                double sign);
  /// sum of (v - mean)^2, and of what an error of `mean_error` in each difference makes of it.
  RowSum (*squares)(int64_t n, const double* v, const double* e, const double* dev, double mean,
                    double mean_error, double shift);
  void (*from_f32)(int64_t n, const uint8_t* bits, double* v);
  void (*from_f16)(int64_t n, const uint8_t* bits, double* v);
  void (*from_bf16)(int64_t n, const uint8_t* bits, double* v);
  /// ok[i] = 1 when got is surely accepted. Sure failures and doubts both give 0.
  MatchTotals (*match)(int n, In a, const double* got, const MatchFormat& format, uint8_t* ok);
};

/// The fastest build that this machine runs; all builds give the same bits.
const Kernels& kernels();
const Kernels& plain_kernels();
const Kernels& avx2_kernels();
bool has_avx2();

/// What adding n terms may err by, relative to sum|t| (docs/judging/sums.md): (n - 1) u in any
/// order, or of at most h additions on a path (1 + u/(1 + u))^h - 1 <= h u (1 + h u), as long as h
/// u <= 1. `any_order`: n - 1.
inline double adding_error(double h, double any_order, double u) {
  if (h >= any_order || h * u > 1) return any_order * u;
  return std::min(any_order * u, h * u * (1 + h * u));
}

/// The largest power of two that x is a multiple of; infinity for 0.
inline double quantum(double x) {
  const auto bits = std::bit_cast<uint64_t>(x);
  const uint64_t fraction = bits & 0x000fffffffffffffu;
  const auto exponent = static_cast<int>(bits >> 52 & 0x7ff);
  if (exponent == 0 && fraction == 0) return std::numeric_limits<double>::infinity();
  const uint64_t significand = exponent == 0 ? fraction : fraction | uint64_t{1} << 52;
  return std::ldexp(1.0, std::max(exponent, 1) - 1075 + std::countr_zero(significand));
}

/// e^x within 2^-51 relative for x in [-707, 709.7] (tests/oracles/rows_test.cpp).
double exp_double(double x);
inline constexpr double kExpError = 0x1p-51;

}  // namespace assay::rows
