// Sine, cosine, tangent, arctangent, and the table of all functions. Included after
// row_functions_impl.inc.hpp.

/// An argument less a multiple of pi/2: x = (4 j + quadrant) pi/2 + hi + lo, |hi| <= pi/4 (1 +
/// 2^-50).
struct Reduced {
  Vec hi;
  Vec lo;
  Mask quadrant;
  Mask known;
  Vec error;  ///< absolute, of hi + lo
};

// pi/2 in three parts of 33 bits, whose products with integers up to 2^20 are exact, and a rest.
ASSAY_INLINE Reduced vreduce_near(Vec x) {
  const Vec t = x * 0x1.45f306dc9c883p-1 + kMagic;
  const Vec k = t - kMagic;
  const Vec a = x - k * 0x1.921fb544p+0;  // exact (Sterbenz)
  const Vec q = k * -0x1.0b4611a6p-34;
  const Vec b = a + q;
  const Vec w = k * -0x1.3198a2ep-69;
  const Vec c = b + w;
  const Vec rest = (vsum_residue(a, q, b) + vsum_residue(b, w, c)) - k * 0x1.b839a252049c1p-104;
  const Vec hi = c + rest;
  return {hi, (c - hi) + rest, (Mask)t & 3, x == x, k == 0 ? Vec{} : splat(0x1p-95)};
}

constexpr double kNearLimit = 0x1p20;
constexpr double kFarLimit = 0x1p300;

/// The first 512 bits of 2/pi, behind 64 zeros.
constexpr uint64_t kTwoOverPi[] = {0,
                                   0xa2f9836e4e441529,
                                   0xfc2757d1f534ddc0,
                                   0xdb6295993c439041,
                                   0xfe5163abdebbc561,
                                   0xb7246e3a424dd2e0,
                                   0x06492eea09d1921c,
                                   0xfe1deb1cb129a73e,
                                   0xe88235f52ebb4484};

/// The 64 bits of 2/pi that follow its bit number `first` (behind the zeros).
inline uint64_t two_over_pi(int first) {
  const int word = first / 64;
  const int bit = first % 64;
  if (bit == 0) return kTwoOverPi[word];
  return kTwoOverPi[word] << bit | kTwoOverPi[word + 1] >> (64 - bit);
}

struct FarReduced {
  double hi;
  double lo;
  long long quadrant;
};

// Payne and Hanek 1983, in integers: |x| = m 2^s. Of m 2^s (2/pi), multiples of 4 do not matter, so
// the bits of 2/pi above 2^(2-s) may be left out, and 192 bits from there leave an error below
// 2^53 2^-190.
inline FarReduced reduce_far(double x) {
  const uint64_t bits = std::bit_cast<uint64_t>(x) & 0x7fffffffffffffffu;
  const uint64_t m = (bits & 0xfffffffffffffu) | 0x10000000000000u;
  const int s = static_cast<int>(bits >> 52) - 1075;
  const int first = s - 2 + 64;
  const uint64_t w[3] = {two_over_pi(first + 128), two_over_pi(first + 64), two_over_pi(first)};
  uint64_t p[3];
  unsigned __int128 carry = 0;
  for (int k = 0; k < 3; ++k) {
    carry += static_cast<unsigned __int128>(m) * w[k];
    p[k] = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
  // p / 2^190 is x 2/pi modulo 4; to the nearest integer, then the signed rest.
  auto quadrant = static_cast<long long>(p[2] >> 62);
  uint64_t f[3] = {p[0] << 2, p[1] << 2 | p[0] >> 62, p[2] << 2 | p[1] >> 62};
  const bool up = f[2] >> 63 != 0;
  if (up) {
    ++quadrant;
    for (uint64_t& word : f) word = ~word;  // 1 - f, less 2^-192
  }
  const double parts[4] = {static_cast<double>(f[2] >> 32) * 0x1p-32,
                           static_cast<double>(f[2] & 0xffffffffu) * 0x1p-64,
                           static_cast<double>(f[1] >> 32) * 0x1p-96,
                           static_cast<double>(f[1] & 0xffffffffu) * 0x1p-128};
  const double upper = parts[0] + parts[1];
  const double upper_rest = parts[1] - (upper - parts[0]);
  const double lower = parts[2] + parts[3];
  const double hi = upper + (upper_rest + lower);
  const double lo = (upper - hi) + (upper_rest + lower);
  const double sign = (x < 0) != up ? -1 : 1;
  constexpr double half_pi = 0x1.921fb54442d18p+0;
  constexpr double splitter = 0x1p27 + 1;
  const double r = hi * half_pi;
  const double hh = splitter * hi - (splitter * hi - hi);
  const double hl = hi - hh;
  constexpr double ph = 0x1.921fb54p+0;
  constexpr double pl = half_pi - ph;
  const double residue = ((hh * ph - r) + hh * pl + hl * ph) + hl * pl;
  const double rest = residue + (hi * 0x1.1a62633145c07p-54 + lo * half_pi);
  return {sign * r, sign * rest, x < 0 ? -quadrant : quadrant};
}

ASSAY_INLINE Reduced vreduce(Vec x) {
  const Vec a = vabs(x);
  const Mask far = ~(a <= kNearLimit);
  Reduced r = vreduce_near(far ? Vec{} : x);
  if (!any(far)) return r;
  for (int k = 0; k < 4; ++k) {
    if (far[k] == 0) continue;
    r.known[k] = a[k] < kFarLimit ? -1 : 0;
    if (r.known[k] == 0) continue;
    const FarReduced one = reduce_far(x[k]);
    r.hi[k] = one.hi;
    r.lo[k] = one.lo;
    r.quadrant[k] = one.quadrant & 3;
    r.error[k] = 0x1p-95;
  }
  return r;
}

/// Taylor to degree 17 and 18: truncated below 2^-63 of the result. Roundings below 2^-52.
ASSAY_INLINE Vec vsine(const Reduced& r) {
  static constexpr double c[] = {
      -1.0 / 6,        1.0 / 120,        -1.0 / 5040,         1.0 / 362880,
      -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368e3, 1.0 / 355687428096e3};
  const Vec z = r.hi * r.hi;
  return r.hi + (r.hi * z * vpolynomial(c, z) + r.lo * (1 - 0.5 * z));
}
ASSAY_INLINE Vec vcosine(const Reduced& r) {
  static constexpr double c[] = {
      1.0 / 24,        -1.0 / 720,         1.0 / 40320,         -1.0 / 3628800,
      1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888e3, -1.0 / 6402373705728e3};
  const Vec z = r.hi * r.hi;
  const Vec half = 0.5 * z;
  const Vec one = 1 - half;
  return one + (((1 - one) - half) + (z * z * vpolynomial(c, z) - r.hi * r.lo));
}

/// Not known: an infinite error, but for infinities and NaN, whose sine is NaN.
ASSAY_INLINE Near vtrigonometric(const Reduced& r, Vec x, Vec v, Vec e) {
  const Mask finite = vfinite(x);
  const Vec error = r.known ? e : splat(kInfinite);
  return {finite ? v : splat(kNone), finite ? error : Vec{}};
}

ASSAY_INLINE Near vsin(Vec x, Vec) {
  const Reduced r = vreduce(x);
  const Vec size = (r.quadrant & 1) != 0 ? vcosine(r) : vsine(r);
  const Vec v = (r.quadrant & 2) != 0 ? -size : size;
  const Near f = vtrigonometric(r, x, v, vabs(v) * 0x1p-50 + r.error);
  return {x == 0 ? x : f.v, x == 0 ? Vec{} : f.e};
}

ASSAY_INLINE Near vcos(Vec x, Vec) {
  const Reduced r = vreduce(x);
  const Vec size = (r.quadrant & 1) != 0 ? vsine(r) : vcosine(r);
  const Vec v = ((r.quadrant + 1) & 2) != 0 ? -size : size;
  const Near f = vtrigonometric(r, x, v, vabs(v) * 0x1p-50 + r.error);
  return {f.v, x == 0 ? Vec{} : f.e};
}

// The reduced argument's error counts 1 / cos^2 <= 2 (1 + tan^2), or as much for the cotangent.
ASSAY_INLINE Near vtan(Vec x, Vec) {
  const Reduced r = vreduce(x);
  const Vec s = vsine(r);
  const Vec c = vcosine(r);
  const Mask odd = (r.quadrant & 1) != 0;
  const Vec v = (odd ? -c : s) / (odd ? s : c);
  const Near f = vtrigonometric(r, x, v, vabs(v) * 0x1p-48 + 4 * r.error * (1 + v * v));
  return {x == 0 ? x : f.v, x == 0 ? Vec{} : f.e};
}

/// atan t for |t| <= 0.4143: its series to t^43, truncated below 2^-60 of it.
ASSAY_INLINE Vec varctangent(Vec t) {
  static constexpr double c[] = {1,        -1.0 / 3,  1.0 / 5,  -1.0 / 7,  1.0 / 9,  -1.0 / 11,
                                 1.0 / 13, -1.0 / 15, 1.0 / 17, -1.0 / 19, 1.0 / 21, -1.0 / 23,
                                 1.0 / 25, -1.0 / 27, 1.0 / 29, -1.0 / 31, 1.0 / 33, -1.0 / 35,
                                 1.0 / 37, -1.0 / 39, 1.0 / 41, -1.0 / 43};
  return t * vpolynomial(c, t * t);
}

// The angle of the point (y, x), after C's atan2(y, x): of the smaller over the larger coordinate,
// less pi/4 where that exceeds tan(pi/8), then unfolded.
ASSAY_INLINE Near vatan2(Vec x, Vec y) {
  const Vec zero{};
  const Vec one = splat(1);
  const Vec a = vabs(x);
  const Vec b = vabs(y);
  const Mask both = (a == kInfinite) & (b == kInfinite);
  const Mask steep = a > b;
  const Vec large = steep ? a : b;
  const Vec small = steep ? b : a;
  const Mask plain = (large > 0) & (large < kInfinite);
  const Vec q = plain ? large : one;
  const Vec p = plain ? small : both ? one : zero;
  const Mask wide = p > 0.41421356237309503 * q;
  const Vec t = (wide ? p - q : p) / (wide ? p + q : q);
  const Vec octant = varctangent(t) + (wide ? splat(0x1.921fb54442d18p-1) : zero);
  const Vec quadrant = steep ? 0x1.921fb54442d18p+0 - (octant - 0x1.1a62633145c07p-54) : octant;
  const Mask left = (Mask)y < 0;
  const Vec size = left ? 0x1.921fb54442d18p+1 - (quadrant - 0x1.1a62633145c07p-53) : quadrant;
  const Vec sign = (Vec)((Mask)x & (Mask)splat(-0.0));
  const Vec v = (Vec)((Mask)size | (Mask)sign);
  // Quotients that underflow, and coordinates whose sum overflows, are left to multiprecision.
  const Mask far = ((p != 0) & (t < 0x1p-960) & (t > -0x1p-960)) | (plain & (large > 0x1p1020));
  const Vec e = far ? splat(kInfinite) : vabs(v) * 0x1p-50;
  const Mask number = (x == x) & (y == y);
  return {number ? v : x + y, number ? e : zero};
}

// The inverse functions as angles of points: 1 - x^2 as a product, none of whose factors cancels
// more than x itself lies next to 1.
ASSAY_INLINE Near vatan(Vec x, Vec) { return vatan2(x, splat(1)); }

ASSAY_INLINE Near vasin(Vec x, Vec) {
  const Near f = vatan2(x, vroot((1 - x) * (1 + x)));
  return {f.v, f.e * 2};
}

ASSAY_INLINE Near vacos(Vec x, Vec) {
  const Near f = vatan2(vroot((1 - x) * (1 + x)), x);
  return {f.v, f.e * 2};
}

/// Calls f for each four elements; the last may have fewer, padded with ones.
template <Near (*f)(Vec, Vec)>
void row(int n, const double* x, const double* y, double* v, double* e) {
  for (int i = 0; i < n; i += 4) {
    const int count = n - i < 4 ? n - i : 4;
    double a[4] = {1, 1, 1, 1};
    double b[4] = {1, 1, 1, 1};
    if (count < 4)
      for (int k = 0; k < count; ++k) {
        a[k] = x[i + k];
        b[k] = y[i + k];
      }
    const Near r = count == 4 ? f(load(x + i), load(y + i)) : f(load(a), load(b));
    for (int k = 0; k < count; ++k) {
      v[i + k] = r.v[k];
      e[i + k] = r.e[k];
    }
  }
}

struct NamedRow {
  std::string_view name;
  RowFunction evaluate;
};

RowFunction find_row(std::string_view name) {
  static constexpr auto table = std::to_array<NamedRow>({
      {"exp10", row<vexp10>}, {"sinh", row<vsinh>},       {"cosh", row<vcosh>},
      {"asin", row<vasin>},   {"acos", row<vacos>},       {"atan", row<vatan>},
      {"asinh", row<vasinh>}, {"acosh", row<vacosh>},     {"atanh", row<vatanh>},
      {"exp2", row<vexp2>},   {"expm1", row<vexpm1>},     {"log", row<vlog>},
      {"log2", row<vlog2>},   {"log10", row<vlog10>},     {"log1p", row<vlog1p>},
      {"sin", row<vsin>},     {"cos", row<vcos>},         {"tan", row<vtan>},
      {"tanh", row<vtanh>},   {"erf", row<verf>},         {"erfc", row<verfc>},
      {"pow", row<vpow>},     {"floor", row_floor},       {"ceil", row_ceil},
      {"trunc", row_trunc},   {"rint", row_rint},         {"is_nan", row_is_nan},
      {"fmod", row_fmod},     {"copysign", row_copysign}, {"atan2", row<vatan2>},
      {"hypot", row<vhypot>}, {"cbrt", row<vcbrt>},       {"normcdf", row<vnormcdf>},
  });
  for (const NamedRow& named : table)
    if (named.name == name) return named.evaluate;
  return nullptr;
}

#undef ASSAY_INLINE
