// Bodies of the first tier's rows; included by rows.cpp and rows_avx2.cpp, each within its own
// unnamed namespace. Loops are written so that the compiler turns them into vectors;
// docs/judging.md derives the bounds.

constexpr double kHalfUlp = 0x1p-53;  // of double: |round(x) - x| <= kHalfUlp |x|
constexpr double kTiny = 0x1p-1060;   // covers underflow of a product of doubles
/// Covers what a bound loses where it is subnormal: half of 2^-1074 at each of a few operations.
constexpr double kLostBound = 0x1p-1071;
/// Of a product that is no larger the residue, below 2^-107 of it, may underflow.
constexpr double kLeastWithResidue = 0x1p-960;

inline double absolute(double x) { return __builtin_fabs(x); }
inline double larger(double a, double b) { return a > b ? a : b; }
inline bool finite(double x) { return x - x == 0; }
inline double power_below(double x) {
  return std::bit_cast<double>(std::bit_cast<uint64_t>(x) & 0x7ff0000000000000u);
}

/// 0 for finite t, NaN for infinite or NaN t.
inline double taint(double t) { return t - t; }

/// The part of a + b that s = fl(a + b) lost, exactly (Knuth's TwoSum).
inline double sum_residue(double a, double b, double s) {
  const double t = s - a;
  return (a - (s - t)) + (b - t);
}

/// a * b - p exactly, where p = fl(a * b) (Dekker's product; no fma).
inline double product_residue(double a, double b, double p) {
  constexpr double splitter = 0x1p27 + 1;
  const double ca = splitter * a;
  const double ah = ca - (ca - a);
  const double al = a - ah;
  const double cb = splitter * b;
  const double bh = cb - (cb - b);
  const double bl = b - bh;
  return ((ah * bh - p) + ah * bl + al * bh) + al * bl;
}

// Bounds are +0 or more, or NaN: their bits tell whether any is not 0, and integers may be combined
// in any order, which keeps the loops vectors.
inline uint64_t bits_of(double x) { return std::bit_cast<uint64_t>(x); }

struct Seen {
  uint64_t error = 0;
  uint64_t allowance = 0;
  int flags() const { return (error == 0 ? 0 : kAnyError) | (allowance == 0 ? 0 : kAnyAllowance); }
};

// A value that is not finite is exact, and so is the kernel's, unless an operand of the kernel
// might have overflowed where the exact one did not.
inline void put(Out o, int i, double v, double e, double lo, double hi, double in_e, double in_dev,
                Seen& seen) {
  const bool ok = finite(v);
  e = ok ? e * kOutward : taint(in_e);
  lo = ok ? lo * kOutward : taint(in_dev);
  hi = ok ? hi * kOutward : taint(in_dev);
  o.v[i] = v;
  o.e[i] = e;
  o.lo[i] = lo;
  o.hi[i] = hi;
  seen.error |= bits_of(e);
  seen.allowance |= bits_of(lo) | bits_of(hi);
}

#include "oracles/rows_vast.inc.hpp"

int add(int n, In a, In b, Out o) {
  Seen seen;
  uint64_t far = 0;
#pragma GCC ivdep
  for (int i = 0; i < n; ++i) {
    const double v = a.v[i] + b.v[i];
    const double lost = absolute(sum_residue(a.v[i], b.v[i], v));
    const double in_e = a.e[i] + b.e[i];
    const double lo = a.lo[i] + b.lo[i];
    const double hi = a.hi[i] + b.hi[i];
    put(o, i, v, in_e + lost, lo, hi, in_e, lo + hi, seen);
    far |= finite(in_e + v) ? 0 : 1;
  }
  return seen.flags() | (far != 0 ? repair_vast_sum(n, a, b, o) : 0);
}

int sub(int n, In a, In b, Out o) {
  Seen seen;
  uint64_t far = 0;
#pragma GCC ivdep
  for (int i = 0; i < n; ++i) {
    const double v = a.v[i] - b.v[i];
    const double lost = absolute(sum_residue(a.v[i], -b.v[i], v));
    const double in_e = a.e[i] + b.e[i];
    const double lo = a.lo[i] + b.hi[i];
    const double hi = a.hi[i] + b.lo[i];
    put(o, i, v, in_e + lost, lo, hi, in_e, lo + hi, seen);
    far |= finite(in_e + v) ? 0 : 1;
  }
  return seen.flags() | (far != 0 ? repair_vast_sum(n, a, b, o) : 0);
}

/// Infinity times what may be 0 or of either sign in a correct kernel: any value, NaN included. An
/// overflow on one side alone, times 0, is NaN on that side: no bound on either.
inline void repair_infinite_product(int n, In a, In b, Out o) {
  const auto may_vanish = [](In x, int i) {
    const double dev = larger(x.lo[i], x.hi[i]);
    return dev > 0 && absolute(x.v[i]) <= x.e[i] + dev;
  };
  for (int i = 0; i < n; ++i) {
    const bool a_infinite = !finite(a.v[i]) && a.v[i] == a.v[i];
    const bool b_infinite = !finite(b.v[i]) && b.v[i] == b.v[i];
    const double both = o.lo[i] + o.hi[i];
    if ((a_infinite && may_vanish(b, i)) || (b_infinite && may_vanish(a, i)) || both != both)
      o.lo[i] = o.hi[i] = 0 / 0.0;
  }
}

/// The deviations of products next to 0, which are products too, may have underflowed.
inline void repair_small_product(int n, In a, In b, Out o) {
  const auto zero = [](In x, int i) {
    return x.v[i] == 0 && x.e[i] == 0 && x.lo[i] == 0 && x.hi[i] == 0;
  };
  for (int i = 0; i < n; ++i) {
    const double dev = larger(a.lo[i], a.hi[i]) + larger(b.lo[i], b.hi[i]);
    const bool small = absolute(o.v[i]) <= kLeastWithResidue;
    if (!small || !(dev > 0) || zero(a, i) || zero(b, i)) continue;
    o.lo[i] += kLostBound;
    o.hi[i] += kLostBound;
  }
}

int mul(int n, In a, In b, bool exact, Out o);

/// Of a factor next to double's end its size and its error together leave double: bounds of the
/// product of what is 2^-64 of it, which loses less than 2^-1074 of each of that factor's.
inline void repair_far_product(int n, In a, In b, bool exact, Out o) {
  const auto leaves = [](In x, int i) {
    const double most = absolute(x.v[i]) + x.e[i];
    return finite(x.v[i]) && finite(x.e[i]) && !finite(most);
  };
  const auto scaled = [](double x) { return x == 0 ? 0 : x * 0x1p-64 + 0x1p-1074; };
  for (int i = 0; i < n; ++i) {
    if (!finite(o.v[i]) || leaves(a, i) == leaves(b, i)) continue;
    const In far = leaves(a, i) ? a : b;
    const In other = leaves(a, i) ? b : a;
    const double v = far.v[i] * 0x1p-64;
    const double e = scaled(far.e[i]);
    const double lo = scaled(far.lo[i]);
    const double hi = scaled(far.hi[i]);
    double out[4];
    const Out one{&out[0], &out[1], &out[2], &out[3]};
    mul(1, {&v, &e, &lo, &hi}, {other.v + i, other.e + i, other.lo + i, other.hi + i}, exact, one);
    // The product is 2^-52 or more; its scaled bounds may have underflowed.
    const auto back = [](double x) { return x == 0 ? 0 : (x * 0x1p64 + 0x1p-1000) * kOutward; };
    o.e[i] = back(out[1]);
    o.lo[i] = back(out[2]);
    o.hi[i] = back(out[3]);
  }
}

// (a + s)(b + t) - ab = a t + b s + s t over the box of s and t.
int mul(int n, In a, In b, bool exact, Out o) {
  Seen seen;
  uint64_t any_odd = 0;
  const double half_ulp = exact ? 0 : kHalfUlp;
  const double tiny = exact ? 0 : kTiny;
#pragma GCC ivdep
  for (int i = 0; i < n; ++i) {
    const double v = a.v[i] * b.v[i];
    any_odd |= finite(v) ? 0 : 1;
    const double a_size = absolute(a.v[i]);
    const double b_size = absolute(b.v[i]);
    const double am = a_size + a.e[i];
    const double bm = b_size + b.e[i];
    const double rounded = absolute(v) * half_ulp + tiny;
    // A product with 0 or 1 is exact (weights e^0 of averages), and so is one without a residue.
    const bool unit = (a_size == 1) | (b_size == 1);
    const bool whole =
        (product_residue(a.v[i], b.v[i], v) == 0) & (absolute(v) > kLeastWithResidue);
    const double own = ((a.v[i] == 0) | (b.v[i] == 0) | unit | whole) ? 0 : rounded;
    any_odd |= bits_of(absolute(v) > kLeastWithResidue ? 0 : own);
    const double e = a.e[i] * bm + b.e[i] * am + own;
    const double s = larger(a.lo[i], a.hi[i]);
    const double t = larger(b.lo[i], b.hi[i]);
    const bool a_unsure = absolute(a.v[i]) < a.e[i];
    const bool b_unsure = absolute(b.v[i]) < b.e[i];
    const double up_b = a_unsure ? t : a.v[i] >= 0 ? b.hi[i] : b.lo[i];
    const double down_b = a_unsure ? t : a.v[i] >= 0 ? b.lo[i] : b.hi[i];
    const double up_a = b_unsure ? s : b.v[i] >= 0 ? a.hi[i] : a.lo[i];
    const double down_a = b_unsure ? s : b.v[i] >= 0 ? a.lo[i] : a.hi[i];
    const double cross = ((s == 0) | (t == 0)) ? 0 : s * t;
    const double lo = am * down_b + bm * down_a + cross;
    const double hi = am * up_b + bm * up_a + cross;
    any_odd |= (finite(e) & (lo + hi == lo + hi)) ? 0 : 1;
    put(o, i, v, e, lo, hi, a.e[i] + b.e[i], s + t, seen);
  }
  if (any_odd == 0) return seen.flags();
  repair_far_product(n, a, b, exact, o);
  if (!exact) repair_small_product(n, a, b, o);
  repair_infinite_product(n, a, b, o);
  return seen.flags() | kAnyAllowance | repair_vast_product(n, a, b, o);
}

int neg(int n, In a, Out o) {
  Seen seen;
#pragma GCC ivdep
  for (int i = 0; i < n; ++i) {
    const double lo = a.hi[i];
    const double hi = a.lo[i];
    o.v[i] = -a.v[i];
    o.e[i] = a.e[i];
    o.lo[i] = lo;
    o.hi[i] = hi;
    seen.error |= bits_of(a.e[i]);
    seen.allowance |= bits_of(lo) | bits_of(hi);
  }
  return seen.flags();
}

int abs(int n, In a, Out o) {
  Seen seen;
  uint64_t any_vast = 0;
#pragma GCC ivdep
  for (int i = 0; i < n; ++i) {
    const double v = absolute(a.v[i]);
    const double both = larger(a.lo[i], a.hi[i]);
    const bool unsure = v < a.e[i] + both;
    const double lo = unsure ? both : a.v[i] >= 0 ? a.lo[i] : a.hi[i];
    const double hi = unsure ? both : a.v[i] >= 0 ? a.hi[i] : a.lo[i];
    any_vast |= finite(a.e[i]) ? 0 : 1;
    o.v[i] = v;
    o.e[i] = a.e[i];
    o.lo[i] = lo;
    o.hi[i] = hi;
    seen.error |= bits_of(a.e[i]);
    seen.allowance |= bits_of(lo) | bits_of(hi);
  }
  for (int i = 0; i < n && any_vast != 0; ++i)
    if (limit_of(a, i) > 0) keep_limit(a, i, false, o);
  return seen.flags();
}

/// Where an operand of a maximum is NaN: any value when no policy says, or the other's enclosure.
inline void repair_nan(int n, In a, In b, NanMode mode, Out o) {
  for (int i = 0; i < n; ++i) {
    const bool a_nan = a.v[i] != a.v[i];
    const bool b_nan = b.v[i] != b.v[i];
    if (mode == NanMode::ask && (a_nan || b_nan)) o.lo[i] = o.hi[i] = 0 / 0.0;
    if (mode == NanMode::ignore && a_nan != b_nan) {
      o.lo[i] = a_nan ? b.lo[i] : a.lo[i];
      o.hi[i] = a_nan ? b.hi[i] : a.hi[i];
      o.e[i] = a_nan ? b.e[i] : a.e[i];
    }
  }
}

// Of operands x and y, known to e_x and e_y, that may be off by hi_x and hi_y, the maximum grows by
// max(hi_x + min(0, x - y), hi_y + min(0, y - x)) at most, and falls by min(lo_x, x - y + lo_y)
// where x is the larger one: what surely loses adds nothing (docs/judging.md, "Maxima").
int max2(int n, In a, In b, NanMode mode, Out o) {
  Seen seen;
  uint64_t any_nan = 0;
  uint64_t any_vast = 0;
#pragma GCC ivdep
  for (int i = 0; i < n; ++i) {
    const bool a_nan = a.v[i] != a.v[i];
    const bool b_nan = b.v[i] != b.v[i];
    const bool some_nan = a_nan | b_nan;
    any_nan |= some_nan ? 1 : 0;
    const double dropped = a_nan ? b.v[i] : b_nan ? a.v[i] : larger(a.v[i], b.v[i]);
    const double v = some_nan && mode != NanMode::ignore ? 0 / 0.0 : dropped;
    const double dev = a.lo[i] + a.hi[i] + b.lo[i] + b.hi[i];
    const double in_e = larger(a.e[i], b.e[i]);
    any_vast |= finite(in_e) ? 0 : 1;
    // How far a may exceed b, exactly, and b may a: NaN, of an infinite difference, decides
    // nothing.
    const double d = a.v[i] - b.v[i];
    const double rounded = absolute(d) * 0x1p-51;
    const double both = a.e[i] + b.e[i];
    const double a_ahead = d + rounded + both * (1 + 0x1p-50);
    const double b_ahead = rounded - d + both * (1 + 0x1p-50);
    const auto less_lag = [](double by, double ahead) { return ahead < 0 ? by + ahead : by; };
    const double error_a = less_lag(a.e[i], d + rounded);
    const double error_b = less_lag(b.e[i], rounded - d);
    const double far = finite(in_e) ? 0 : in_e;
    const double e = larger(larger(error_a, error_b), 0) + far;
    const double up_a = less_lag(a.hi[i], a_ahead);
    const double up_b = less_lag(b.hi[i], b_ahead);
    const double held_a = a_ahead + b.lo[i];
    const double held_b = b_ahead + a.lo[i];
    const double down_a = a_ahead < 0 ? 0 : a.lo[i] < held_a ? a.lo[i] : held_a;
    const double down_b = b_ahead < 0 ? 0 : b.lo[i] < held_b ? b.lo[i] : held_b;
    // An operand without a bound leaves the maximum without one.
    const double unbounded = dev != dev ? dev : dev == 0 ? 0 : far;
    const double hi = larger(up_a, larger(up_b, 0)) + unbounded;
    const double lo = larger(down_a, larger(down_b, 0)) + unbounded;
    put(o, i, v, e, lo, hi, in_e, dev, seen);
  }
  if (any_nan != 0) repair_nan(n, a, b, mode, o);
  if (any_vast != 0) repair_vast_maximum(n, a, b, o);
  return seen.flags() | (any_nan != 0 ? kAnyNan | kAnyError | kAnyAllowance : 0);
}

// e^x = 2^k e^r, |r| <= ln 2 / 2 (Cody and Waite's reduction, Taylor to degree 13). Truncation
// below 2^-57, roundings below 2^-51.8; kExpError = 2^-51.
inline double exp_core(double x) {
  constexpr double magic = 0x1.8p52;
  const double t = x * 0x1.71547652b82fep+0 + magic;
  const double k = t - magic;
  const double r = (x - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
  double q = 1.0 / 6227020800;
  q = q * r + 1.0 / 479001600;
  q = q * r + 1.0 / 39916800;
  q = q * r + 1.0 / 3628800;
  q = q * r + 1.0 / 362880;
  q = q * r + 1.0 / 40320;
  q = q * r + 1.0 / 5040;
  q = q * r + 1.0 / 720;
  q = q * r + 1.0 / 120;
  q = q * r + 1.0 / 24;
  q = q * r + 1.0 / 6;
  q = q * r + 0.5;
  const double p = 1 + (r + (r * r) * q);
  return std::bit_cast<double>(std::bit_cast<uint64_t>(p) + (std::bit_cast<uint64_t>(t) << 52));
}

/// Deviation that decides a root which is not finite: the exact argument is 0 or negative, and the
/// kernel's, where it is not the same number, may be on the other side of 0.
inline double root_taint(double x, double e, double hi, double dev) {
  const bool moved = e + dev > 0;
  return (moved & !(x + e + hi < 0) & finite(x)) ? 0 / 0.0 : dev;
}

int sqrt(int n, In a, double least, Out o) {
  Seen seen;
  uint64_t far = 0;
#pragma GCC ivdep
  for (int i = 0; i < n; ++i) {
    const double x = a.v[i];
    const double v = __builtin_sqrt(x);
    const double p = v * v;
    const bool exact =
        (p == x) & (product_residue(v, v, p) == 0) & ((x > kLeastWithResidue) | (x == 0));
    const double slack = v * 0x1p-51;
    const double below = larger(x - a.e[i], larger(least, 0));
    const double spread =
        a.e[i] == 0 ? 0 : larger(__builtin_sqrt(x + a.e[i]) - v, v - __builtin_sqrt(below)) + slack;
    const double e = spread + (exact ? 0 : v * kHalfUlp + kTiny);
    const double end = larger(x - a.e[i] - a.lo[i], least);  // negative: the kernel may see NaN
    const double dev = a.lo[i] + a.hi[i];
    // The lower the exact argument, the more of the root does the same deviation make.
    const double lowest = larger(below - absolute(x) * 0x1p-52, larger(least, 0));
    const double rise = __builtin_sqrt(lowest + a.hi[i]) - __builtin_sqrt(lowest);
    const double any = 0 / 0.0;
    const double hi = dev == 0 ? 0 : end < 0 ? any : rise + slack;
    // Next to the least argument the exact one may be above v's, the kernel's not below that.
    const double clear = x - a.e[i] - a.lo[i];
    const double near = larger(least, 0) + a.lo[i];
    const double most = x + a.e[i] < near ? x + a.e[i] : near;
    const double from = clear < least ? larger(v, __builtin_sqrt(most)) : v;
    const double lo = dev == 0 ? 0 : end < 0 ? any : from - __builtin_sqrt(end) + slack;
    put(o, i, v, e, lo, hi, a.e[i], root_taint(x, a.e[i], a.hi[i], dev), seen);
    far |= finite(a.e[i]) ? 0 : 1;
  }
  if (far != 0) repair_vast_root(n, a, o);
  return seen.flags();
}

int rsqrt(int n, In a, double least, Out o) {
  Seen seen;
  uint64_t far = 0;
#pragma GCC ivdep
  for (int i = 0; i < n; ++i) {
    const double x = a.v[i];
    const double v = 1 / __builtin_sqrt(x);
    const double slack = v * 0x1p-50;
    const double below = larger(x - a.e[i], least);
    const double spread = a.e[i] == 0 ? 0
                          : below > 0 ? 1 / __builtin_sqrt(below) - v + slack
                                      : 1 / 0.0;
    const double clear = x - a.e[i] - a.lo[i];
    const double end = larger(clear, least);
    const double dev = a.lo[i] + a.hi[i];
    const double any = 0 / 0.0;
    // As of sqrt, the least argument and all.
    const double near = larger(least, 0) + a.lo[i];
    const double most = x + a.e[i] < near ? x + a.e[i] : near;
    const double from = (clear < least) & (most > x) ? 1 / __builtin_sqrt(most) : v;
    const double hi = dev == 0 ? 0 : end < 0 ? any : 1 / __builtin_sqrt(end) - from + slack;
    const double lowest = larger(below - absolute(x) * 0x1p-52, larger(least, 0));
    const double top = 1 / __builtin_sqrt(lowest);
    const double fall = top - 1 / __builtin_sqrt(lowest + a.hi[i]);
    const double lo = dev == 0 ? 0 : end < 0 ? any : fall + top * 0x1p-50;
    put(o, i, v, spread + v * 0x1p-51, lo, hi, a.e[i], root_taint(x, a.e[i], a.hi[i], dev), seen);
    far |= finite(a.e[i]) ? 0 : 1;
  }
  if (far != 0) repair_vast_reciprocal_root(n, a, o);
  return seen.flags();
}

void hoist(int n, In dividend, In quotient, double relative, double absolute_part, double* lo,
           double* hi) {
  const double factor = relative * (1 + relative);
#pragma GCC ivdep
  for (int i = 0; i < n; ++i) {
    const double v = quotient.v[i];
    // An end that is infinite stays so, and leaves the other one its own size.
    const auto bounded = [](double by) { return by < 1 / 0.0 ? by : 0; };
    const double size = absolute(dividend.v[i]) +
                        (dividend.e[i] + larger(bounded(dividend.lo[i]), bounded(dividend.hi[i])));
    // Scaled before they are added: next to double's end their sum may leave double.
    const double known = factor * absolute(v) + factor * quotient.e[i];
    const double lost = absolute_part == 0 ? 0 : absolute_part * size;
    const double own_lo = (known + factor * lo[i]) + lost;
    const double own_hi = (known + factor * hi[i]) + lost;
    // A vast quotient has room for it.
    const bool vast = (quotient.e[i] == 1 / 0.0) & ((v > 0 ? hi[i] : lo[i]) == 1 / 0.0);
    const bool counts = finite(v) & (size != 0) & !vast;
    const double wider_lo = (lo[i] + own_lo) * kOutward;
    const double wider_hi = (hi[i] + own_hi) * kOutward;
    lo[i] = counts ? wider_lo : lo[i];
    hi[i] = counts ? wider_hi : hi[i];
  }
}

void share(int n, In share, In weight, double relative, double absolute_part, double* lo,
           double* hi) {
#pragma GCC ivdep
  for (int i = 0; i < n; ++i) {
    const double v = share.v[i];
    const bool zero = (weight.v[i] == 0) & (weight.hi[i] == 0) & (weight.e[i] == 0);
    const double most = zero ? 0 : 1;
    // The exact share is within [0, 1] too.
    const double away = larger(absolute(v), absolute(1 - v)) * kOutward;
    const double slack = relative * most + absolute_part + (away < share.e[i] ? away : share.e[i]);
    // The weight of the kernel's own maximum is 1, so that the divisor is never 0.
    const bool lost = (lo[i] != lo[i]) | (hi[i] != hi[i]);
    const double old_lo = lost ? 1 / 0.0 : lo[i];
    const double old_hi = lost ? 1 / 0.0 : hi[i];
    const double most_lo = larger(v + slack, 0) * kOutward;
    const double most_hi = larger(most - v + slack, 0) * kOutward;
    const bool bounded = zero | ((weight.lo[i] == weight.lo[i]) & (weight.hi[i] == weight.hi[i]));
    const bool clips = finite(v) & bounded;
    const double new_lo = most_lo < old_lo ? most_lo : old_lo;
    const double new_hi = most_hi < old_hi ? most_hi : old_hi;
    lo[i] = clips ? new_lo : lo[i];
    hi[i] = clips ? new_hi : hi[i];
  }
}

// Eight partial sums, added as a tree: the same order in every build. Each adds at most n/8 + 1
// terms, then three levels: at most n/8 + 4 roundings on a path.
struct Eight {
  double part[8] = {};
  double total() const {
    return ((part[0] + part[4]) + (part[2] + part[6])) +
           ((part[1] + part[5]) + (part[3] + part[7]));
  }
};

inline double total_of(int64_t n, const double* x) {
  if (x == nullptr) return 0;
  Eight s;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; ++k) s.part[k] += x[i + k];
  for (int k = 0; i < n; ++i, ++k) s.part[k] += x[i];
  return s.total();
}

inline double summation_error(int64_t n) {
  return n <= 1 ? 0 : (static_cast<double>(n / 8) + 4) * kHalfUlp * (1 + 0x1p-20);
}

/// All terms are multiples of q = power_below(magnitude) 2 / limit, so that magnitude < limit q:
/// sizes below 2^52 q plus that number round to multiples of q, larger doubles are multiples of it.
inline bool all_multiples(int64_t n, const double* v, double magnitude, double limit) {
  const double q = power_below(magnitude) * 2 / limit;
  const double grid = q * 0x1p52;
  if (!(q > 0x1p-1022)) return false;
  const auto is_none = [grid](double x) {
    const double size = absolute(x);
    return (size < grid) & ((size + grid) - grid != size);
  };
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    int bad = 0;
    for (int k = 0; k < 64; ++k) bad += is_none(v[i + k]) ? 1 : 0;
    if (bad != 0) return false;
  }
  for (; i < n; ++i)
    if (is_none(v[i])) return false;
  return true;
}

RowSum sum(int64_t n, const double* v, const double* e, const double* lo, const double* hi,
           double limit) {
  Eight s;
  Eight m;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; ++k) {
      s.part[k] += v[i + k];
      m.part[k] += absolute(v[i + k]);
    }
  for (int k = 0; i < n; ++i, ++k) {
    s.part[k] += v[i];
    m.part[k] += absolute(v[i]);
  }
  RowSum out;
  const double own = total_of(n, e) * kOutward;
  const double magnitude = m.total() * (1 + summation_error(n)) * kOutward;
  out.v = s.total();
  out.lo = total_of(n, lo) * (1 + summation_error(n)) * kOutward;
  out.hi = total_of(n, hi) * (1 + summation_error(n)) * kOutward;
  out.magnitude = (magnitude + own) * kOutward;
  out.e = (own * (1 + summation_error(n)) + summation_error(n) * magnitude) * kOutward;
  const bool clean = own == 0 && out.lo == 0 && out.hi == 0;
  if (clean && finite(magnitude))
    out.exact = magnitude == 0 || all_multiples(n, v, magnitude, limit);
  if (out.exact) out.e = 0;
  if (!finite(out.v)) out.e = taint(own);
  return out;
}

struct EightMax {
  double part[8];
  double total() const {
    double m = part[0];
    for (const double p : part) m = larger(p, m);
    return m;
  }
};

/// Largest of of(i): NaN loses every comparison.
template <typename Of>
double max_of(int64_t n, Of of) {
  EightMax m;
  for (double& p : m.part) p = -1 / 0.0;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; ++k) m.part[k] = larger(of(i + k), m.part[k]);
  for (int k = 0; i < n; ++i, ++k) m.part[k] = larger(of(i), m.part[k]);
  return m.total();
}

// As of max2: what lies behind the largest by more than errors and deviations adds nothing to
// either. Whether there was a NaN is told apart.
RowMax max(int64_t n, const double* v, const double* e, const double* lo, const double* hi,
           double sign) {
  RowMax out;
  uint64_t nan = 0;
  uint64_t unbounded = 0;
  for (int64_t i = 0; i < n; ++i) nan |= v[i] != v[i] ? 1 : 0;
  for (int64_t i = 0; i < n && lo != nullptr; ++i) unbounded |= lo[i] != lo[i] ? 1 : 0;
  for (int64_t i = 0; i < n && hi != nullptr; ++i) unbounded |= hi[i] != hi[i] ? 1 : 0;
  out.nan = nan != 0;
  out.v = max_of(n, [&](int64_t i) { return sign * v[i]; });
  const bool number = finite(out.v);
  // How far behind the largest, to either side of what the difference rounds.
  const auto at_least = [&](int64_t i) { return (out.v - sign * v[i]) * (1 - 0x1p-51); };
  const auto at_most = [&](int64_t i) { return (out.v - sign * v[i]) * (1 + 0x1p-51); };
  const auto error = [&](int64_t i) { return e == nullptr ? 0 : e[i]; };
  if (e != nullptr)
    out.e = max_of(n, [&](int64_t i) { return number ? e[i] - at_least(i) : e[i]; });
  out.e = larger(out.e, 0) * kOutward;
  if (lo == nullptr && hi == nullptr) return out;
  if (unbounded != 0) {  // a correct kernel's element may be any value, NaN included
    out.lo = out.hi = 0 / 0.0;
    return out;
  }
  const double* up = sign > 0 ? hi : lo;
  const double* down = sign > 0 ? lo : hi;
  if (!number) return out;
  // The exact maximum is no farther below v than `held`, a kernel's no farther than `kept`.
  const auto least_below = [&](auto by) {
    return -max_of(n, [&](int64_t i) { return -at_most(i) - by(i); }) * kOutward;
  };
  const double held = e == nullptr ? 0 : least_below(error);
  const auto ahead = [&](int64_t i, double by) { return (error(i) + by) * kOutward - at_least(i); };
  if (up != nullptr)
    out.hi = max_of(n, [&](int64_t i) {
      const double lead = ahead(i, held);
      return lead < 0 ? up[i] + lead : up[i];
    });
  if (down != nullptr) {
    const double kept = least_below([&](int64_t i) { return error(i) + down[i]; });
    out.lo = max_of(n, [&](int64_t i) {
      const double most = ahead(i, kept);
      const double fall = down[i] < most ? down[i] : most;
      return ahead(i, held) < 0 ? 0 : fall;
    });
  }
  out.hi = larger(out.hi, 0) * kOutward;
  out.lo = larger(out.lo, 0) * kOutward;
  return out;
}

// d = v - mean, known within w = mean_error + e + rounding; d^2 within 2|d|w + w^2. `lo` collects
// the same for the kernel's own shift of each difference.
RowSum squares(int64_t n, const double* v, const double* e, const double* dev, double mean,
               double mean_error, double shift) {
  Eight s;
  Eight wide;
  Eight shifted;
  const auto take = [&](int64_t i, int k) {
    const double d = v[i] - mean;
    const double size = absolute(d);
    const double w = (mean_error + (e == nullptr ? 0 : e[i]) + size * kHalfUlp) * kOutward;
    const double t = dev == nullptr ? 0 : dev[i] + shift;
    s.part[k] += d * d;
    wide.part[k] += w * (2 * size + w) + size * size * kHalfUlp;
    shifted.part[k] += t * (2 * (size + w) + t);
  };
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; ++k) take(i + k, k);
  for (int k = 0; i < n; ++i, ++k) take(i, k);
  RowSum out;
  out.v = s.total();
  const double grown = 1 + summation_error(n);
  out.e = (wide.total() * grown + summation_error(n) * out.v * grown) * kOutward;
  out.magnitude = (out.v + out.e) * kOutward;
  out.lo = shifted.total() * grown * kOutward;
  out.hi = out.lo;
  return out;
}

void from_f32(int64_t n, const uint8_t* bits, double* v) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    float x;
    std::memcpy(&x, bits + 4 * i, 4);
    v[i] = static_cast<double>(x);
  }
}

// Exponent and significand move into a float's places; the product restores the bias and turns
// subnormals into numbers. Infinities and NaN get the largest exponent.
void from_f16(int64_t n, const uint8_t* bits, double* v) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    uint16_t h;
    std::memcpy(&h, bits + 2 * i, 2);
    const uint32_t magnitude = static_cast<uint32_t>(h & 0x7fffu) << 13;
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
    const uint32_t special = magnitude | 0x7f800000u;
    const uint32_t body = magnitude >= 0x0f800000u ? special : std::bit_cast<uint32_t>(scaled);
    const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
    v[i] = static_cast<double>(std::bit_cast<float>(body | sign));
  }
}

void from_bf16(int64_t n, const uint8_t* bits, double* v) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    uint16_t h;
    std::memcpy(&h, bits + 2 * i, 2);
    v[i] = static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(h) << 16));
  }
}
