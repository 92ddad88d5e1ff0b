// Bodies of the first tier's functions but for the trigonometric ones: exponentials, logarithms,
// error functions, powers, exact functions. Included by row_functions.cpp and
// row_functions_avx2.cpp, each within its own unnamed namespace; docs/judging.md ("Other
// functions") derives the errors.

#include "oracles/vector_types.inc.hpp"

typedef unsigned long long Bits __attribute__((vector_size(32)));

constexpr double kInfinite = __builtin_inf();
constexpr double kNone = __builtin_nan("");

/// A value and the bound of its error.
struct Near {
  Vec v;
  Vec e;
};

constexpr double kMagic = 0x1.8p52;  // x + kMagic - kMagic is rint(x) for |x| <= 2^51

/// Horner's scheme; coefficients from the constant upwards.
template <size_t N>
ASSAY_INLINE Vec vpolynomial(const double (&c)[N], Vec x) {
  Vec sum = splat(c[N - 1]);
  for (size_t k = N - 1; k-- > 0;) sum = sum * x + c[k];
  return sum;
}

/// a + b - fl(a + b), exactly (Knuth).
ASSAY_INLINE Vec vsum_residue(Vec a, Vec b, Vec s) {
  const Vec t = s - a;
  return (a - (s - t)) + (b - t);
}

/// a * a - fl(a * a), exactly (Dekker).
ASSAY_INLINE Vec vsquare_residue(Vec a, Vec p) {
  const Vec c = (0x1p27 + 1) * a;
  const Vec h = c - (c - a);
  const Vec l = a - h;
  return ((h * h - p) + 2 * (h * l)) + l * l;
}

/// 2^k for the integer k that t = k + kMagic holds, |k| < 1023.
ASSAY_INLINE Vec vpower_of_two(Vec t) { return (Vec)(((Mask)t + 1023) << 52); }

ASSAY_INLINE Vec vroot(Vec x) {
  return Vec{__builtin_sqrt(x[0]), __builtin_sqrt(x[1]), __builtin_sqrt(x[2]),
             __builtin_sqrt(x[3])};
}

// --- exponentials
// ---------------------------------------------------------------------------------

/// q with e^r = 1 + r + r^2 q for |r| <= 0.3467: Taylor to degree 13, truncated below 2^-57.
ASSAY_INLINE Vec vexponential_tail(Vec r) {
  static constexpr double c[] = {0.5,           1.0 / 6,        1.0 / 24,        1.0 / 120,
                                 1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                                 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
  return vpolynomial(c, r);
}

/// e^x (1 + d), |x| <= 707, d below 2^-51 but for `d` itself: Cody and Waite's reduction.
ASSAY_INLINE Vec vexponential(Vec x) {
  const Vec t = x * 0x1.71547652b82fep+0 + kMagic;
  const Vec k = t - kMagic;
  const Vec r = (x - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
  const Vec p = 1 + (r + (r * r) * vexponential_tail(r));
  return (Vec)((Mask)p + ((Mask)t << 52));
}

/// Beyond double's range: infinite as a double; below it: 0, give or take 2^-1000.
ASSAY_INLINE Near vbeyond(Vec x, double low, double high, Near f) {
  const Vec zero{};
  const Vec infinity = splat(kInfinite);
  const Vec v = x > high ? infinity : x < low ? zero : f.v;
  const Vec least = x == -kInfinite ? zero : splat(0x1p-1000);
  const Vec e = x > high ? zero : x < low ? least : f.e;
  return {x == x ? v : x, x == x ? e : zero};
}

ASSAY_INLINE Near vexp2(Vec x, Vec) {
  const Vec in = x > 1000 ? splat(1000) : x < -1000 ? splat(-1000) : x;
  const Vec t = in + kMagic;
  const Vec f = in - (t - kMagic);  // exact
  const Vec r = f * 0x1.62e42fefa39efp-1;
  const Vec v = (1 + (r + (r * r) * vexponential_tail(r))) * vpower_of_two(t);
  const Vec e = f == 0 ? Vec{} : v * 0x1p-50;
  // 1000 to 1024 is left to multiprecision: the allowance needs room above.
  const Vec edge = ((x > 1000) & (x <= 1025)) ? splat(kInfinite) : e;
  return vbeyond(x, -1000, 1025, {v, edge});
}

// 10^x = 2^k e^(r ln 10): log10(2) in two parts, the upper of 33 bits.
ASSAY_INLINE Near vexp10(Vec x, Vec) {
  const Vec in = x > 301 ? splat(301) : x < -301.1 ? splat(-301.1) : x;
  const Vec t = in * 0x1.a934f0979a371p+1 + kMagic;
  const Vec k = t - kMagic;
  const Vec r = ((in - k * 0x1.34413509p-2) - k * 0x1.ef3fde623e256p-35) * 0x1.26bb1bbb55516p+1;
  const Vec v = (1 + (r + (r * r) * vexponential_tail(r))) * vpower_of_two(t);
  const Vec e = in == 0 ? Vec{} : v * 0x1p-50;
  const Vec edge = ((x > 301) & (x <= 309)) ? splat(kInfinite) : e;
  return vbeyond(x, -301.1, 309, {v, edge});
}

// e^x - 1 = 2^k (r + r^2 q) + (2^k - 1). Where k is not 0 the result is at least 0.29, so its
// parts' errors stay relative.
ASSAY_INLINE Vec vexpm1_core(Vec x) {
  const Vec t = x * 0x1.71547652b82fep+0 + kMagic;
  const Vec k = t - kMagic;
  const Vec r = (x - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
  const Vec p = r + (r * r) * vexponential_tail(r);
  const Vec scale = vpower_of_two(t);
  return scale * p + (scale - 1);
}

ASSAY_INLINE Near vexpm1(Vec x, Vec) {
  const Vec in = x > 700 ? splat(700) : x < -100 ? splat(-100) : x;
  const Vec core = vexpm1_core(in);
  const Vec v = x == 0 ? x : x == -kInfinite ? splat(-1) : core;
  const Vec e = (x == -kInfinite) ? Vec{} : vabs(v) * 0x1p-49;
  const Vec edge = ((x > 700) & (x <= 710)) ? splat(kInfinite) : e;
  return vbeyond(x, -kInfinite, 710, {v, edge});
}

// tanh |x| = m / (m + 2), m = e^(2|x|) - 1.
ASSAY_INLINE Near vtanh(Vec x, Vec) {
  const Vec a = vabs(x);
  const Vec m = vexpm1_core(a > 30 ? splat(60) : 2 * a);
  const Vec size = m / (m + 2);
  const Vec sign = (Vec)((Mask)x & (Mask)splat(-0.0));
  const Vec v = (Vec)((Mask)size | (Mask)sign);
  const Vec e = ((x == x) & (a != kInfinite)) ? size * 0x1p-48 : Vec{};
  return {x == 0 ? x : x == x ? v : x, e};
}

/// Past `kLargestHyperbolic` sinh and cosh exceed double's range.
constexpr double kLargestHyperbolic = 711;

/// Of |x| alone, with the sign that `v` bears: left to multiprecision next to the end of the range.
ASSAY_INLINE Near vhyperbolic_ends(Vec x, Vec v, Vec e) {
  const Vec a = vabs(x);
  const Vec sign = (Vec)((Mask)v & (Mask)splat(-0.0));
  const Vec infinite = (Vec)((Mask)splat(kInfinite) | (Mask)sign);
  const Vec edge = a > 700 ? splat(kInfinite) : e;
  const Mask beyond = a > kLargestHyperbolic;
  return {x == x ? (beyond ? infinite : v) : x, (x == x) & ~beyond ? edge : Vec{}};
}

// sinh |x| = (m + m / (m + 1)) / 2, m = e^|x| - 1.
ASSAY_INLINE Near vsinh(Vec x, Vec) {
  const Vec a = vabs(x);
  const Vec m = vexpm1_core(a < 700 ? a : splat(700));
  const Vec size = 0.5 * (m + m / (m + 1));
  const Vec v = (Vec)((Mask)size | ((Mask)x & (Mask)splat(-0.0)));
  return vhyperbolic_ends(x, x == 0 ? x : v, size * 0x1p-47);
}

ASSAY_INLINE Near vcosh(Vec x, Vec) {
  const Vec a = vabs(x);
  const Vec g = vexponential(a < 700 ? a : splat(700));
  const Vec v = 0.5 * (g + 1 / g);
  return vhyperbolic_ends(x, v, x == 0 ? Vec{} : v * 0x1p-49);
}

// --- logarithms
// -----------------------------------------------------------------------------------

/// x = 2^k m with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh((m - 1) / (m + 1)), whose series to
/// the power 21 truncates below 2^-59 of it.
struct Logarithm {
  Vec k;
  Vec log_m;
};
ASSAY_INLINE Logarithm vlogarithm(Vec x) {
  static constexpr double c[] = {1,        1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9, 1.0 / 11,
                                 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
  const Bits root_half = (Bits)splat(0x1.6a09e667f3bcdp-1);
  const Bits shifted = ((Bits)x - root_half + (1024ull << 52)) >> 52;
  const Vec k = (Vec)(shifted | (Bits)splat(0x1p52)) - (0x1p52 + 1024);
  const Vec m = (Vec)((Bits)x - ((shifted - 1024) << 52));
  const Vec f = m - 1;  // exact
  const Vec s = f / (2 + f);
  return {k, 2 * s * vpolynomial(c, s * s)};
}

/// log x for normal x > 0, within 2^-50 relative: where k is not 0 the result is at least 0.34.
ASSAY_INLINE Vec vlog_core(Vec x) {
  const Logarithm l = vlogarithm(x);
  return l.k * 0x1.62e42feep-1 + (l.log_m + l.k * 0x1.a39ef35793c76p-33);
}

/// Where a logarithm's argument is no positive normal number.
ASSAY_INLINE Near vlogarithm_ends(Vec x, Vec v, Vec e) {
  const Vec zero{};
  const Vec at_end = x == 0 ? splat(-kInfinite) : x == kInfinite ? x : splat(kNone);
  const Mask inside = (x > 0) & (x < kInfinite);
  const Vec number = inside ? v : at_end;
  const Vec error = inside ? e : zero;
  return {number, (inside & (x < 0x1p-1022)) ? splat(kInfinite) : error};
}

ASSAY_INLINE Near vlog(Vec x, Vec) {
  const Vec v = vlog_core(x);
  return vlogarithm_ends(x, v, vabs(v) * 0x1p-49);
}

ASSAY_INLINE Near vlog2(Vec x, Vec) {
  const Logarithm l = vlogarithm(x);
  const Vec v = l.k + l.log_m * 0x1.71547652b82fep+0;
  return vlogarithm_ends(x, v, l.log_m == 0 ? Vec{} : vabs(v) * 0x1p-49);
}

ASSAY_INLINE Near vlog10(Vec x, Vec) {
  const Vec v = vlog_core(x) * 0x1.bcb7b1526e50ep-2;
  return vlogarithm_ends(x, v, vabs(v) * 0x1p-48);
}

// 1 + x = u + c exactly; log(u + c) = log u + c / u, less (c / u)^2 / 2 <= 2^-54 |c / u|.
ASSAY_INLINE Near vlog1p(Vec x, Vec) {
  const Vec one = splat(1);
  const Vec u = one + x;
  const Vec c = vsum_residue(one, x, u);
  const Mask huge = x > 0x1p1000;
  const Vec v = vlog_core(u) + (huge ? Vec{} : c / u);
  const Near f = vlogarithm_ends(u, v, vabs(v) * 0x1p-48);
  return {x == 0 ? x : f.v, x == 0 ? Vec{} : f.e};
}

// --- inverse hyperbolic functions: log1p of what has no cancelling terms
// ---------------------------

/// +-log1p(w) or half of it, with the sign of x; beyond `far` left to multiprecision.
ASSAY_INLINE Near vof_log1p(Vec x, Vec w, double times, Mask far) {
  const Near l = vlog1p(w, w);
  const Vec size = vabs(l.v) * times;
  const Vec v = (Vec)((Mask)size | ((Mask)x & (Mask)splat(-0.0)));
  const Mask number = (l.v == l.v) & (size < kInfinite);
  const Vec error = far ? splat(kInfinite) : size * 0x1p-46;
  return {l.v == l.v ? v : splat(kNone), number & (x != 0) ? error : Vec{}};
}

// asinh |x| = log1p(a + a^2 / (1 + sqrt(1 + a^2))).
ASSAY_INLINE Near vasinh(Vec x, Vec) {
  const Vec a = vabs(x);
  const Mask far = (a > 0x1p500) & (a < kInfinite);
  const Vec in = a > 0x1p500 ? splat(1) : a;
  const Vec square = in * in;
  const Vec w = in + square / (1 + vroot(1 + square));
  return vof_log1p(x, a == kInfinite ? a : w, 1, far);
}

// acosh x = log1p(t + sqrt(t (t + 2))), t = x - 1: NaN below 1.
ASSAY_INLINE Near vacosh(Vec x, Vec) {
  const Mask far = (x > 0x1p500) & (x < kInfinite);
  const Vec t = (far ? splat(2) : x) - 1;
  return vof_log1p(x, x < 1 ? splat(kNone) : t + vroot(t * (t + 2)), 1, far);
}

// atanh |x| = log1p(2 a / (1 - a)) / 2.
ASSAY_INLINE Near vatanh(Vec x, Vec) {
  const Vec a = vabs(x);
  return vof_log1p(x, a > 1 ? splat(kNone) : 2 * a / (1 - a), 0.5, a != a);
}

// --- error functions
// ------------------------------------------------------------------------------

/// (1 + 2x) e^(x^2) erfc(x) on t = (x - 3.75) / (x + 3.75), x from 0 to infinity: the Chebyshev
/// series of degree 30 (form: Shepherd & Laframboise 1981), as a polynomial in t; coefficients
/// computed with 60 digits. Truncation below 2^-67, sum of |coefficients| 1.77, values in
/// [1, 1.29].
constexpr double kScaledErfc[] = {
    0x1.3ccda0b5d5dc2p+0,  -0x1.1f367683f89a7p-3,  0x1.d5f2948159d00p-9,   0x1.510169d096804p-4,
    -0x1.bda9309a28836p-4, 0x1.7a14188a99b02p-4,   -0x1.e0d0fa6e0256dp-5,  0x1.d0b0037dcd85fp-6,
    -0x1.3f603c3352c80p-7, 0x1.cc3a0e216a7ecp-10,  0x1.33fb24097f271p-12,  -0x1.303f9d7bfa6edp-12,
    0x1.b1445791ddc97p-15, 0x1.778a2325c743fp-16,  -0x1.80096ad3be85ep-17, -0x1.052473d024d87p-20,
    0x1.d6c79fc715967p-20, -0x1.f4b904939bd8cp-25, -0x1.191140fc409a4p-22, 0x1.a1c79ddbe2bf6p-26,
    0x1.669ba832107c7p-25, -0x1.2e824aa77c61ep-28, -0x1.f09e80aa8e4a0p-28, 0x1.29cbf81a074f7p-31,
    0x1.66ba904ed9ce3p-30, -0x1.f7faadca6a4c5p-36, -0x1.eac499be56cb4p-33, -0x1.4878e774ef37ap-38,
    0x1.0ae6bd2e9dbd7p-35, 0x1.f5edb129f7a51p-41,  -0x1.442a36c86c1cap-39};

/// erfc(a) for 0 <= a <= 26: e^(-a^2) from the square and its residue.
ASSAY_INLINE Vec verfc_core(Vec a) {
  const Vec t = (a - 3.75) / (a + 3.75);
  const Vec square = a * a;
  const Vec g = vexponential(-square) * (1 - vsquare_residue(a, square));
  return g * vpolynomial(kScaledErfc, t) / (1 + 2 * a);
}

constexpr double kErfcEnd = 26;  // erfc(26) < 2^-978

ASSAY_INLINE Near verfc(Vec x, Vec) {
  const Vec a = vabs(x);
  const Mask far = ~(a <= kErfcEnd);
  const Vec tail = far ? Vec{} : verfc_core(far ? splat(kErfcEnd) : a);
  const Vec error = far ? splat(0x1p-970) : tail * 0x1p-47;
  const Vec v = x < 0 ? 2 - tail : tail;
  const Vec e = x < 0 ? error + 0x1p-52 : error;
  const Mask finite = a < kInfinite;
  return {x == x ? v : x, finite ? e : Vec{}};
}

// erfc(t) / 2 at t = -x / sqrt 2. t is off by 2^-52 of itself, for which erfc moves by at most
// 2 t^2 + 1 times as much: 2 e^(-t^2) / sqrt(pi) < (t + sqrt(t^2 + 2)) erfc(t) (Birnbaum 1942).
ASSAY_INLINE Near vnormcdf(Vec x, Vec y) {
  const Vec t = -x * 0.70710678118654752440;
  const Near complement = verfc(t, y);
  const Vec v = complement.v / 2;
  const Mask finite = vabs(x) < kInfinite;
  const Mask near = (t < kErfcEnd) & (t > -kErfcEnd);
  const Vec within = near ? v * (2 * t * t + 1) * 0x1p-51 : Vec{};
  return {v, finite ? complement.e / 2 + within : Vec{}};
}

// Below 1/2 the Maclaurin series to x^25, truncated below 2^-58; from there 1 - erfc.
ASSAY_INLINE Near verf(Vec x, Vec) {
  static constexpr double c[] = {1,
                                 -1.0 / 3,
                                 1.0 / (2 * 5),
                                 -1.0 / (6 * 7),
                                 1.0 / (24 * 9),
                                 -1.0 / (120 * 11),
                                 1.0 / (720 * 13),
                                 -1.0 / (5040 * 15),
                                 1.0 / (40320.0 * 17),
                                 -1.0 / (362880.0 * 19),
                                 1.0 / (3628800.0 * 21),
                                 -1.0 / (39916800.0 * 23),
                                 1.0 / (479001600.0 * 25)};
  const Vec a = vabs(x);
  const Mask far = ~(a <= kErfcEnd);
  const Vec in = far ? splat(kErfcEnd) : a;
  const Vec near_zero = in * 0x1.20dd750429b6dp+0 * vpolynomial(c, in * in);
  const Vec size = in < 0.5 ? near_zero : 1 - verfc_core(in);
  const Vec sign = (Vec)((Mask)x & (Mask)splat(-0.0));
  const Vec v = (Vec)((Mask)size | (Mask)sign);
  const Mask number = (x == x) & (a < kInfinite) & (x != 0);
  return {x == x ? v : x, number ? size * 0x1p-49 : Vec{}};
}

// --- powers
// ---------------------------------------------------------------------------------------

// e^(y log x) for x > 0: y log x errs by |y log x| 2^-48, and so does the result, relatively. Other
// arguments are left to the general evaluation.
ASSAY_INLINE Near vpow(Vec x, Vec y) {
  const Mask inside = (x >= 0x1p-1022) & (x < kInfinite) & (vabs(y) < kInfinite);
  const Vec l = y * vlog_core(inside ? x : splat(1));
  const Mask fits = inside & (vabs(l) < 700);
  const Vec v = vexponential(fits ? l : Vec{});
  const Vec e = v * (vabs(l) * 0x1p-48 + 0x1p-50);
  const Mask exact = inside & ((x == 1) | (y == 0));
  const Vec unknown = exact ? Vec{} : splat(kInfinite);
  // Far beyond every format: 0, give or take 2^-1000; infinite as a double.
  const Mask vanishes = inside & (l < -710);
  const Mask explodes = inside & (l > 711);
  const Vec error = fits & ~exact ? e : unknown;
  const Vec value = explodes ? splat(kInfinite) : vanishes ? Vec{} : v;
  return {value, explodes ? Vec{} : vanishes ? splat(0x1p-1000) : error};
}

// --- roots
// ----------------------------------------------------------------------------------------

// sqrt(a^2 + b^2) with the larger scaled into [1, 2): the squares and their sum err by 2^-52, which
// the root halves, and rounds.
ASSAY_INLINE Near vhypot(Vec x, Vec y) {
  const Vec zero{};
  const Vec a = vabs(x);
  const Vec b = vabs(y);
  const Vec large = a > b ? a : b;
  const Vec small = a > b ? b : a;
  const Mask plain = (large >= 0x1p-1000) & (large < 0x1p1000);
  const Vec unit = plain ? vpower_below(large) : splat(1);
  const Vec p = plain ? large / unit : splat(1);
  const Vec q = plain ? small / unit : zero;
  const Vec v = small == 0 ? large : vroot(p * p + q * q) * unit;
  const Mask infinite = (a == kInfinite) | (b == kInfinite);
  const Mask number = (x == x) & (y == y);
  const Vec error = plain ? v * 0x1p-51 : splat(kInfinite);
  const Mask exact = infinite | ~number | (small == 0);
  return {infinite ? splat(kInfinite) : number ? v : splat(kNone), exact ? zero : error};
}

// e^(log x / 3), good to 2^-45, and one step of Newton's: the residue y^3 - x errs by 2^-52 x.
ASSAY_INLINE Near vcbrt(Vec x, Vec) {
  const Vec zero{};
  const Vec a = vabs(x);
  const Mask plain = (a >= 0x1p-1000) & (a < 0x1p1000);
  const Vec in = plain ? a : splat(1);
  const Vec first = vexponential(vlog_core(in) / 3);
  const Vec size = first - (first * first * first - in) / (3 * (first * first));
  const Vec sign = (Vec)((Mask)x & (Mask)splat(-0.0));
  const Vec v = (Vec)((Mask)size | (Mask)sign);
  const Mask number = (a > 0) & (a < kInfinite);
  const Vec error = plain ? size * 0x1p-51 : splat(kInfinite);
  return {number ? v : x, number ? error : zero};
}

// --- exact functions
// ------------------------------------------------------------------------------

template <typename One>
ASSAY_INLINE void each_exact(int n, const double* x, const double* y, double* v, double* e,
                             One one) {
  for (int i = 0; i < n; ++i) {
    v[i] = one(x[i], y[i]);
    e[i] = 0;
  }
}

void row_floor(int n, const double* x, const double* y, double* v, double* e) {
  each_exact(n, x, y, v, e, [](double a, double) { return __builtin_floor(a); });
}
void row_ceil(int n, const double* x, const double* y, double* v, double* e) {
  each_exact(n, x, y, v, e, [](double a, double) { return __builtin_ceil(a); });
}
void row_trunc(int n, const double* x, const double* y, double* v, double* e) {
  each_exact(n, x, y, v, e, [](double a, double) { return __builtin_trunc(a); });
}
void row_rint(int n, const double* x, const double* y, double* v, double* e) {
  each_exact(n, x, y, v, e, [](double a, double) { return __builtin_rint(a); });
}
void row_is_nan(int n, const double* x, const double* y, double* v, double* e) {
  each_exact(n, x, y, v, e, [](double a, double) { return a != a ? 1.0 : 0.0; });
}
void row_copysign(int n, const double* x, const double* y, double* v, double* e) {
  each_exact(n, x, y, v, e, [](double a, double b) { return __builtin_copysign(a, b); });
}
/// IEEE 754's remainder of truncation is exact by its definition.
void row_fmod(int n, const double* x, const double* y, double* v, double* e) {
  each_exact(n, x, y, v, e, [](double a, double b) { return __builtin_fmod(a, b); });
}
