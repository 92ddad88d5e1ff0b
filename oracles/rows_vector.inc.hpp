// The busiest rows, four elements at a time in the compiler's vector types: the same source and the
// same bits with and without AVX2. Included after rows_impl.inc.hpp.

#include "oracles/vector_types.inc.hpp"

struct VecIn {
  Vec v, e, lo, hi;
};

/// Calls body(VecIn, i, count) for each four elements; the last may have fewer, padded with its
/// first.
template <typename Body>
ASSAY_INLINE void each_four(int n, In a, Body body) {
  int i = 0;
  for (; i + 4 <= n; i += 4)
    body(VecIn{load(a.v + i), load(a.e + i), load(a.lo + i), load(a.hi + i)}, i, 4);
  if (i == n) return;
  double pad[4][4];
  for (int k = 0; k < 4; ++k) {
    const int from = i + k < n ? i + k : i;
    pad[0][k] = a.v[from];
    pad[1][k] = a.e[from];
    pad[2][k] = a.lo[from];
    pad[3][k] = a.hi[from];
  }
  body(VecIn{load(pad[0]), load(pad[1]), load(pad[2]), load(pad[3])}, i, n - i);
}

ASSAY_INLINE VecIn load_four(In a, int i, int count) {
  if (count == 4) return {load(a.v + i), load(a.e + i), load(a.lo + i), load(a.hi + i)};
  VecIn out;
  for (int k = 0; k < 4; ++k) {
    const int from = i + (k < count ? k : 0);
    out.v[k] = a.v[from];
    out.e[k] = a.e[from];
    out.lo[k] = a.lo[from];
    out.hi[k] = a.hi[from];
  }
  return out;
}

/// As each_four, with a quicker body for blocks of which no element is odd: `odd` adds what it sees
/// of four. Both bodies must give the same bits where no element is odd.
template <typename Odd, typename Plain, typename Full>
ASSAY_INLINE void each_four_or_plain(int n, In a, Odd odd, Plain plain, Full full) {
  constexpr int kBlock = 64;
  for (int start = 0; start < n; start += kBlock) {
    const int count = n - start < kBlock ? n - start : kBlock;
    const In block{a.v + start, a.e + start, a.lo + start, a.hi + start};
    Mask found{};
    if (count < kBlock)
      found = ~found;
    else
      each_four(count, block, [&](const VecIn& x, int i, int) { odd(x, start + i, found); });
    if (any(found)) {
      each_four(count, block, [&](const VecIn& x, int i, int some) { full(x, start + i, some); });
    } else {
      each_four(count, block, [&](const VecIn& x, int i, int) { plain(x, start + i); });
    }
  }
}

ASSAY_INLINE void store_some(double* p, Vec v, int count) {
  if (count == 4) return store(p, v);
  for (int k = 0; k < count; ++k) p[k] = v[k];
}

struct VecSeen {
  Mask error{};
  Mask allowance{};
  int flags() const { return (any(error) ? kAnyError : 0) | (any(allowance) ? kAnyAllowance : 0); }
};

/// As `put`, for four.
ASSAY_INLINE void vput(Out o, int i, int count, Vec v, Vec e, Vec lo, Vec hi, Vec in_e, Vec in_dev,
                       VecSeen& seen) {
  const Mask ok = vfinite(v);
  const Vec taint_e = in_e - in_e;
  const Vec taint_dev = in_dev - in_dev;
  e = ok ? e * kOutward : taint_e;
  lo = ok ? lo * kOutward : taint_dev;
  hi = ok ? hi * kOutward : taint_dev;
  store_some(o.v + i, v, count);
  store_some(o.e + i, e, count);
  store_some(o.lo + i, lo, count);
  store_some(o.hi + i, hi, count);
  seen.error |= (Mask)e;
  seen.allowance |= (Mask)lo | (Mask)hi;
}

ASSAY_INLINE Vec vproduct_residue(Vec a, Vec b, Vec p) {
  const double splitter = 0x1p27 + 1;
  const Vec ca = splitter * a;
  const Vec ah = ca - (ca - a);
  const Vec al = a - ah;
  const Vec cb = splitter * b;
  const Vec bh = cb - (cb - b);
  const Vec bl = b - bh;
  return ((ah * bh - p) + ah * bl + al * bh) + al * bl;
}

/// What the residue of a product so large holds is no less than the smallest subnormal number.
ASSAY_INLINE Mask vhas_residue(Vec p) { return (vabs(p) > kLeastWithResidue) | (p == 0); }

/// rows::vast_limit, for four.
ASSAY_INLINE Vec inner_limit(const VecIn& b) { return vabs(b.v) - (b.v > 0 ? b.lo : b.hi); }
ASSAY_INLINE Mask vast(const VecIn& b) {
  const Vec outer = b.v > 0 ? b.hi : b.lo;
  return (b.e == 1 / 0.0) & (outer == 1 / 0.0) & (inner_limit(b) >= kLeastVast / 2) & vfinite(b.v);
}

/// Of a quotient by no more than 2^400 the bounds, relatively 2^-53 and more.
ASSAY_INLINE Mask may_underflow(const VecIn& a) {
  const Mask exactly_zero = (a.v == 0) & (a.e == 0) & (vlarger(a.lo, a.hi) == 0);
  return ~((vabs(a.v) > 0x1p-560) | exactly_zero);
}

struct VecSides {
  Vec lo, hi;
};

/// What a quotient v = a / b may deviate by: (a + s)/(b + t) - a/b = (s - (a/b) t)/(b + t). Away
/// from 0 by a larger dividend and a smaller divisor, towards it the other way; a divisor that
/// grows, if to infinity, takes at most the quotient itself: |exact| <= vm + spread. `in_reach`:
/// the divisor is known to stay on its side of 0.
template <bool in_reach>
ASSAY_INLINE VecSides quotient_sides(const VecIn& a, const VecIn& b, Vec v, Vec vm, Vec spread,
                                     Vec bm) {
  const Vec zero{};
  const Vec s = vlarger(a.lo, a.hi);
  const Vec t = vlarger(b.lo, b.hi);
  const Vec inward = b.v > 0 ? b.lo : b.hi;
  const Vec outward = b.v > 0 ? b.hi : b.lo;
  const Vec reach = bm - inward;
  const Vec shrinks = outward < reach ? outward : reach;
  const Mask sure = (vabs(a.v) > a.e) & (v != 0);
  const Vec grown = a.v > 0 ? a.hi : a.lo;
  const Vec shrunk = a.v > 0 ? a.lo : a.hi;
  const Vec most = vm + spread;
  Vec away = (sure ? grown : s) + most * inward;
  Vec toward = (sure ? shrunk : s) + most * shrinks;
  if (!in_reach) {  // `most` may be infinite or NaN
    away = inward == 0 ? (sure ? grown : s) : away;
    toward = shrinks == 0 ? (sure ? shrunk : s) : toward;
  }
  const Mask small = may_underflow(a) | ((v != 0) & (vabs(v) <= kLeastWithResidue));
  const Vec lost = small & ((s > 0) | (t > 0)) ? splat(kLostBound) : zero;
  if (!in_reach) {
    away += lost;
    toward += lost;
  }
  away = away / reach * (1 + 0x1p-50);
  toward = toward / reach * (1 + 0x1p-50);
  if (!in_reach) {
    away += lost;
    toward += lost;
    const Mask still = (s == 0) & (t == 0);
    const Vec any_value = splat(0 / 0.0);
    away = reach > 0 ? away : any_value;
    toward = reach > 0 ? toward : any_value;
    away = still ? zero : away;
    toward = still ? zero : toward;
  }
  const Vec both = vlarger(away, toward);
  const Vec up = v > 0 ? away : toward;
  const Vec down = v > 0 ? toward : away;
  return {sure ? down : both, sure ? up : both};
}

int div(int n, In x, In y, Out o) {
  VecSeen seen;
  const Vec infinity = splat(1 / 0.0);
  const Vec any_value = splat(0 / 0.0);
  const Vec zero{};
  Mask far{};
  const auto odd = [&](const VecIn& a, int i, Mask& found) {
    const VecIn b = load_four(y, i, 4);
    const Vec least = (vabs(b.v) - b.e) - vlarger(b.lo, b.hi);
    const Vec most = vabs(a.v) + a.e + vlarger(a.lo, a.hi);
    const Mask near = (least > 0x1p-400) & (vabs(b.v) < 0x1p400) & (most < 0x1p400);
    found |= ~near | may_underflow(a);
  };
  // Every quantity finite, the divisor's sign known: none of the cases below.
  const auto plain = [&](const VecIn& a, int i) {
    const VecIn b = load_four(y, i, 4);
    const Vec v = a.v / b.v;
    const Vec p = v * b.v;
    const Mask exact = (p == a.v) & (vproduct_residue(v, b.v, p) == 0);
    const Vec vm = vabs(v) * (1 + 0x1p-50);
    const Vec bm = vabs(b.v) - b.e;
    const Vec in_e = b.e == 0 ? a.e : a.e + vm * b.e;
    const Vec spread = in_e / bm;
    const Vec e = spread + (exact ? zero : vm * kHalfUlp + kTiny);
    const VecSides sides = quotient_sides<true>(a, b, v, vm, spread, bm);
    vput(o, i, 4, v, e, sides.lo, sides.hi, zero, zero, seen);
  };
  each_four_or_plain(n, x, odd, plain, [&](const VecIn& a, int i, int count) {
    const VecIn b = load_four(y, i, count);
    const Vec v = a.v / b.v;
    far |= ~vfinite(a.e) | (~vfinite(v) & vfinite(a.v) & (b.v != 0) & (v == v));
    const Vec p = v * b.v;
    const Mask by_infinity = (v == 0) & ~vfinite(b.v);  // an exact 0, whose product would be NaN
    const Mask exact =
        by_infinity | ((p == a.v) & (vproduct_residue(v, b.v, p) == 0) & vhas_residue(a.v));
    const Vec vm = vabs(v) * (1 + 0x1p-50);
    const Vec bm = vabs(b.v) - b.e;
    const Vec in_e = b.e == 0 ? a.e : a.e + vm * b.e;
    const Vec divided = bm > 0 ? in_e / bm : infinity;
    const Vec spread = in_e == 0 ? zero : divided;
    const Vec e = spread + (exact ? zero : vm * kHalfUlp + kTiny);
    const Vec s = vlarger(a.lo, a.hi);
    const Vec t = vlarger(b.lo, b.hi);
    const VecSides sides = quotient_sides<false>(a, b, v, vm, spread, bm);
    const Vec reach = bm - (b.v > 0 ? b.lo : b.hi);
    // A quotient that is not finite: by what may be no 0, or of what may be 0 or of either sign.
    const Mask moved_b = ~(reach > 0) & (b.e + t > 0);
    const Mask moved_a = (b.v == 0) & (a.e + s > 0) & (vabs(a.v) <= a.e + s);
    const Vec decides = (moved_a | moved_b) ? any_value : s + t;
    // Divided by what is vast: both the exact and a correct kernel's quotient lie next to 0.
    const Vec limit = (vabs(a.v) + a.e + s) / inner_limit(b) * (1 + 0x1p-50);
    const Mask vanishes = vast(b) & vfinite(a.v) & vfinite(limit);
    // Both may have become infinite: their quotient is NaN then.
    const Mask no_number = (s == infinity) & (t == infinity) & ~vanishes;
    const Vec all_e = vanishes ? limit : e;
    const Vec near = 2 * limit;
    const Vec lo = vanishes ? near : no_number ? any_value : sides.lo;
    const Vec hi = vanishes ? near : no_number ? any_value : sides.hi;
    vput(o, i, count, v, all_e, lo, hi, a.e + b.e, decides, seen);
  });
  return seen.flags() | (any(far) ? repair_vast_quotient(n, x, y, o) : 0);
}

/// exp_core, for four.
ASSAY_INLINE Vec vexp_core(Vec x) {
  constexpr double magic = 0x1.8p52;
  const Vec t = x * 0x1.71547652b82fep+0 + magic;
  const Vec k = t - magic;
  const Vec r = (x - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
  Vec q = splat(1.0 / 6227020800);
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
  const Vec p = 1 + (r + (r * r) * q);
  return (Vec)((Mask)p + ((Mask)t << 52));
}

/// k ulps of a result of that magnitude: of the binade that it rounds to.
ASSAY_INLINE Vec vpublished(Vec magnitude, Vec argument, const Accuracy& accuracy,
                            const Rounding& rounding) {
  constexpr double magic = 0x1.8p52;
  const Vec grown = accuracy.slope * argument;
  const Vec nearest = (grown + magic) - magic;
  const Vec floor = nearest > grown ? nearest - 1 : nearest;
  const Vec ulp = vlarger(vpower_below(magnitude * (1 + rounds_up_by(rounding.u))),
                          splat(rounding.min_normal)) *
                  (2 * rounding.u);
  const Vec k = accuracy.ulps + (accuracy.slope == 0 ? Vec{} : floor);
  return k * ulp + accuracy.absolute + accuracy.relative * magnitude;
}

/// What a result within these sizes loses by underflow: half the smallest subnormal, or flushed,
/// itself. Normal numbers are not flushed; 2^-10 covers the rounding or published error that is not
/// in `least`.
ASSAY_INLINE Vec vunderflow(Vec least, Vec most, const Rounding& r) {
  const Vec eta = splat(r.eta);
  const Vec flushed = least * (1 - 0x1p-10) >= r.min_normal ? Vec{} : most < eta ? most : eta;
  return r.smallest > 0 ? eta : flushed + r.eta * r.u;
}

int exp(int n, In x, const Accuracy& accuracy, const Rounding& rounding, Out o) {
  VecSeen seen;
  Mask far{};
  const Vec zero{};
  const Vec one = splat(1);
  const Vec infinity = splat(1 / 0.0);
  const auto odd = [&](const VecIn& a, int, Mask& found) {
    const Mask near = (a.v >= -707) & (a.v <= 709);
    found |= ~(near & (vlarger(a.lo, a.hi) <= 1) & (a.e <= 1));
  };
  const auto plain = [&](const VecIn& a, int i) {
    const Vec v = vexp_core(a.v);
    const Vec h = a.e;
    const Mask at_zero = (a.v == 0) & (h == 0);
    const Vec e = at_zero ? zero : v * (kExpError + h * (1 + h) * (1 + 0x1p-40));
    const Vec reach = vlarger(a.lo, a.hi);
    const Vec down = a.lo < 1 ? a.lo : one;
    const Vec grown = a.hi * (1 + a.hi);
    const Mask special = at_zero & (reach == 0);
    const Vec top = v + e;
    const Vec own = vpublished(top * (1 + grown), vabs(a.v) + h + reach, accuracy, rounding) +
                    vunderflow(v - e - top * down, top * (1 + grown), rounding);
    const Vec rise = special ? zero : top * grown + own;
    const Vec fall = special ? zero : top * down + own;
    const Vec least = fall < top ? fall : top;  // a correct exponential is not negative
    vput(o, i, 4, v, e, least, rise, h, reach, seen);
  };
  each_four_or_plain(n, x, odd, plain, [&](const VecIn& a, int i, int count) {
    const Vec below = splat(-707);
    const Vec above = splat(709);
    const Vec at_least = a.v > -707 ? a.v : below;
    const Vec clamped = a.v > 709 ? above : at_least;
    const Vec core = vexp_core(clamped);
    const Mask is_finite = vfinite(a.v);
    const Mask huge = a.v > 709;
    const Mask none = a.v < -707;  // below every format: 0, give or take 2^-1000
    // Next to double's end and beyond: vast. A kernel's is infinite, or as close as f64 has it.
    const Vec edge = is_finite ? splat(kVastExponential) : a.v;
    const Mask is_vast = is_finite & (a.v - a.e - a.lo > 709);
    const Vec large = huge ? edge : core;
    const Vec number = none ? zero : large;
    const Vec v = a.v == a.v ? number : a.v;
    const Vec h = a.e;
    const Mask at_zero = (a.v == 0) & (h == 0);
    const Vec known = none ? splat(0x1p-1000) : core * (kExpError + h * (1 + h) * (1 + 0x1p-40));
    const Vec bounded = (huge | ~(h <= 1)) ? infinity : known;
    const Vec e = (at_zero | ~is_finite) ? zero : bounded;
    const Vec reach = vlarger(a.lo, a.hi);
    far |= ~(reach <= 1) | ~(h <= 1);
    const Vec down = a.lo < 1 ? a.lo : one;
    const Vec grown = a.hi * (1 + a.hi);
    const Mask special = (at_zero | ~is_finite) & (reach == 0);
    const Vec top = v + e;
    const Vec own = vpublished(top * (1 + grown), vabs(clamped) + h + reach, accuracy, rounding) +
                    vunderflow(v - e - top * down, top * (1 + grown), rounding);
    const Vec rise = special ? zero : top * grown + own;
    const Vec fall = special ? zero : top * down + own;
    const Vec least = fall < top ? fall : top;  // a correct exponential is not negative
    const Vec hi = is_vast ? infinity : rise;
    const Vec lo = is_vast ? splat(kVastExponential * kVastDeviation) : least;
    vput(o, i, count, v, e, lo, hi, h, reach, seen);
  });
  if (!any(far)) return seen.flags();
  repair_vast_exponential(n, x, rounding.eta, o);
  // Exponents off by more than 1: expm1(h) <= h (1 + h) holds no longer; take the upper end itself.
  for (int i = 0; i < n; ++i) {
    const double up = x.hi[i];
    if (limit_of(x, i) > 709) continue;
    if ((larger(up, x.lo[i]) <= 1 && x.e[i] <= 1) || !finite(o.v[i])) continue;
    const double down = x.lo[i];
    if (x.v[i] - x.e[i] - down > 709) continue;  // vast
    if (up != up || down != down || (up == down && !finite(up))) {
      o.lo[i] = o.hi[i] = 0 / 0.0;  // an exponent that may be NaN
      continue;
    }
    const auto upper_end = [&](double end) {
      return end > 709 ? 1 / 0.0 : exp_core(end > -707 ? end : -707) * (1 + 0x1p-40);
    };
    // Neither the exact value nor v is below 0 or above the upper end.
    if (!(x.e[i] <= 1)) o.e[i] = upper_end(x.v[i] + x.e[i]);
    const double reach = x.v[i] + x.e[i] + up;
    const double end = reach < accuracy.argument_limit ? reach : accuracy.argument_limit;
    const double top = upper_end(end);
    const auto own = [&](double size, double argument) {
      const double far_argument = absolute(argument) < 1000 ? absolute(argument) : 1000;
      return vpublished(splat(size), splat(far_argument), accuracy, rounding)[0] + rounding.eta;
    };
    o.hi[i] =
        finite(top) ? (top + own(top, end < 0 ? larger(-end, up - x.v[i]) : end)) * kOutward : top;
    // The lower end; a correct exponential is not negative.
    const double bottom = x.v[i] - x.e[i] - down;
    const double least = bottom > -707 && bottom < 709 ? exp_core(bottom) * (1 - 0x1p-40) : 0;
    const double floor = larger(least - own(least, bottom), 0);
    o.lo[i] = o.v[i] + o.e[i] - floor * (1 - 0x1p-50);
  }
  return seen.flags();
}

int settle(int n, In x, const Rounding& r, double* lo, double* hi) {
  Mask allowance{};
  const double u = r.u * r.weight;
  const double grid = r.smallest * 0x1.8p52;
  const double split = r.native_double ? 1 : r.split;  // 1: everything fits
  const Mask once = splat(r.weight) == 1;
  const Mask gradual = splat(r.smallest) > 0;
  const Vec limit = splat(r.widen ? r.largest * (1 - 2 * r.u) : 1 / 0.0);
  const Vec infinity = splat(1 / 0.0);
  const Vec zero{};
  each_four(n, x, [&](const VecIn& a, int i, int count) {
    const Vec m = vabs(a.v);
    const Vec c = a.v * split;
    const Mask fits = c - (c - a.v) == a.v;
    const Mask normal = (m >= r.min_normal) | (a.v == 0) | (gradual & ((a.v + grid) - grid == a.v));
    const Vec wide = vlarger(a.lo, a.hi);
    const Mask exact = fits & normal & (a.e == 0) & (wide == 0) & (m <= r.largest);
    const Mask plain = ~vfinite(a.v) | (exact & (once | (a.v == 0)));
    // Rounding is monotonic: each end errs by itself.
    const Mask limited = (a.e == infinity) & ((a.lo == infinity) ^ (a.hi == infinity));
    const Vec known = limited ? zero : a.e;
    const auto rounded = [&](Vec by) {
      // Scaled before they are added: next to double's end their sum may leave double.
      const Vec own =
          (u * m + u * known + u * by) + vunderflow(m - known - wide, m + known + by, r);
      return (by + (plain ? zero : own)) * kOutward;
    };
    const Mask over_up = ~plain & (a.v + known + a.hi >= limit);
    const Mask over_down = ~plain & (known + a.lo - a.v >= limit);
    const Vec up_out = over_up ? infinity : rounded(a.hi);
    const Vec down_out = over_down ? infinity : rounded(a.lo);
    store_some(lo + i, down_out, count);
    store_some(hi + i, up_out, count);
    allowance |= (Mask)down_out | (Mask)up_out;
  });
  return any(allowance) ? kAnyAllowance : kNoFlags;
}

int publish(int n, In x, const Accuracy& accuracy, const Rounding& rounding, Out o) {
  VecSeen seen;
  const Vec zero{};
  const Vec any_value = splat(0 / 0.0);
  each_four(n, x, [&](const VecIn& a, int i, int count) {
    const VecIn f = load_four({o.v, o.e, o.lo, o.hi}, i, count);
    const Mask is_vast = vast(f);
    const Vec spread = a.e + vlarger(a.lo, a.hi);
    const Vec most = vabs(a.v) + spread;
    const Vec least = vlarger(inner_limit(a) - (vast(a) ? zero : a.e), zero);
    const Mask documented = (least >= accuracy.low) & (most <= accuracy.high);
    const Vec magnitude = vabs(f.v) + f.e + vlarger(f.lo, f.hi);
    const Vec own = vpublished(magnitude, most, accuracy, rounding) +
                    vunderflow(vabs(f.v) - f.e - vlarger(f.lo, f.hi), magnitude, rounding);
    // Beyond the range (of a divisor) a / b is 0, by way of 1 / b, or as within it; an infinite a
    // makes NaN of such a 0.
    const Mask vanishes = (least >= accuracy.low) & (most > accuracy.high) & vfinite(magnitude) &
                          vfinite(f.lo + f.hi);
    const Vec beyond_own = vanishes ? magnitude + own : any_value;
    const Vec known = documented ? own : beyond_own;
    const Mask beyond = (most > accuracy.high) & vfinite(most);
    const Vec added = ((f.v == f.v) & (vfinite(f.v) | beyond) & ~is_vast) ? known : zero;
    const Vec lo = (f.lo + added) * kOutward;
    const Vec hi = (f.hi + added) * kOutward;
    store_some(o.lo + i, lo, count);
    store_some(o.hi + i, hi, count);
    seen.error |= (Mask)f.e;
    seen.allowance |= (Mask)lo | (Mask)hi;
  });
  return seen.flags();
}

// got is accepted when its rounding cell meets [exact - lo, exact + hi]. Half an ulp on the side
// of smaller spacing, shrunk by 2^-20, leaves ties and doubts to the slow path.
MatchTotals match(int n, In x, const double* got, const MatchFormat& format, uint8_t* ok) {
  Mask bad{};
  Mask weak{};
  Vec share{};
  const Vec zero{};
  each_four(n, x, [&](const VecIn& a, int i, int count) {
    const Vec g = load_four({got, got, got, got}, i, count).v;
    const Vec d = g - a.v;
    const Vec size = vabs(d);
    const Vec gm = vabs(g);
    const Vec half =
        vlarger(vpower_below(gm * (1 - 0x1p-53)), splat(format.min_normal)) * format.half_scale;
    const Vec dev = d > 0 ? a.hi : a.lo;
    const Vec wide = vlarger(a.lo, a.hi);
    const Vec room = half * (1 - 0x1p-20) + dev * (1 - 0x1p-40);
    const Mask near =
        (size * (1 + 0x1p-50) + a.e <= room) & (gm <= format.largest) & (a.e < 1 / 0.0);
    const Mask both_nan = (a.v != a.v) & (g != g) & (wide == 0);
    const Mask same_infinity = (a.v == g) & ~vfinite(a.v) & (wide == 0);
    const Mask good = near | both_nan | same_infinity;
    // What has a limit is judged by it, and near the exact value by the last tier.
    const Mask has_limit = (a.e == 1 / 0.0) & (a.lo != a.hi);
    const Mask is_weak = (wide > 0.25 * vlarger(vabs(a.v), splat(format.weak_floor))) & ~has_limit;
    const Mask counts = near & ~is_weak & (dev > 0);
    // Beyond a power of two, away from 0, the spacing is twice that before it.
    const Vec beyond = vlarger(vpower_below(gm), splat(format.min_normal)) * format.half_scale;
    const Vec over = vlarger(size - (vabs(a.v) > gm ? beyond : half), zero);
    const Vec used = counts ? over / dev : zero;
    share = vlarger(used, share);
    bad |= ~good;
    for (int k = 0; k < count; ++k) ok[i + k] = good[k] != 0 ? 1 : 0;
    if (count == 4)
      weak -= is_weak;
    else
      for (int k = 0; k < count; ++k) weak[0] -= is_weak[k];
  });
  MatchTotals out;
  out.all = !any(bad);
  out.weak = weak[0] + weak[1] + weak[2] + weak[3];
  for (int k = 0; k < 4; ++k) out.share = larger(share[k], out.share);
  return out;
}

#undef ASSAY_INLINE
