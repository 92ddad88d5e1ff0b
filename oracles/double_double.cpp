// The second tier: pairs of doubles (Dekker; Hida, Li & Bailey 2001), without fma.
#include <bit>
#include <cstdio>

#include "oracles/tier_evaluator.inc.hpp"

namespace assay {
namespace {

struct Pair {
  double hi = 0;
  double lo = 0;
};

struct DoubleDouble {
  using Num = Pair;

  static Pair two_sum(double a, double b) {
    const double s = a + b;
    if (!std::isfinite(s)) return {s, 0};
    const double t = s - a;
    return {s, (a - (s - t)) + (b - t)};
  }

  static Pair two_product(double a, double b) {
    const double p = a * b;
    if (!std::isfinite(p)) return {p, 0};
    // Splitting overflows from 2^996 on.
    if (std::fabs(a) > 0x1p960) return scaled(two_product(a * 0x1p-100, b), 0x1p100);
    if (std::fabs(b) > 0x1p960) return scaled(two_product(a, b * 0x1p-100), 0x1p100);
    constexpr double splitter = 0x1p27 + 1;
    const double ca = splitter * a;
    const double ah = ca - (ca - a);
    const double al = a - ah;
    const double cb = splitter * b;
    const double bh = cb - (cb - b);
    const double bl = b - bh;
    return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
  }

  static Pair scaled(const Pair& a, double by) { return {a.hi * by, a.lo * by}; }

  static Pair from(double x) { return {x, 0}; }
  static Pair from_integer(__int128 x) {
    const double hi = static_cast<double>(x);
    return {hi, static_cast<double>(x - static_cast<__int128>(hi))};
  }
  static Pair negate(const Pair& a) { return {-a.hi, -a.lo}; }

  static Pair add(const Pair& a, const Pair& b) {
    Pair s = two_sum(a.hi, b.hi);
    if (!std::isfinite(s.hi)) return s;
    const Pair t = two_sum(a.lo, b.lo);
    s = two_sum(s.hi, s.lo + t.hi);
    return two_sum(s.hi, s.lo + t.lo);
  }
  static Pair sub(const Pair& a, const Pair& b) { return add(a, negate(b)); }

  static Pair mul(const Pair& a, const Pair& b) {
    const Pair p = two_product(a.hi, b.hi);
    if (!std::isfinite(p.hi)) return p;
    return two_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
  }

  static Pair div(const Pair& a, const Pair& b) {
    const double q = a.hi / b.hi;
    if (!std::isfinite(q) || !std::isfinite(b.hi)) return {q, 0};
    // The remainders of a small dividend would be subnormal, and lose what they are for.
    if (a.hi != 0 && std::fabs(a.hi) < 0x1p-700)
      return std::fabs(b.hi) < 1 ? div(scaled(a, 0x1p300), scaled(b, 0x1p300))
                                 : scaled(div(scaled(a, 0x1p700), b), 0x1p-700);
    // Those of a large one may overflow.
    if (std::fabs(a.hi) > 0x1p960)
      return std::fabs(b.hi) > 1 ? div(scaled(a, 0x1p-300), scaled(b, 0x1p-300))
                                 : scaled(div(scaled(a, 0x1p-300), b), 0x1p300);
    Pair r = sub(a, mul({q, 0}, b));
    const double q2 = r.hi / b.hi;
    r = sub(r, mul({q2, 0}, b));
    return add(two_sum(q, q2), {r.hi / b.hi, 0});
  }

  static Pair sqrt(const Pair& a) {
    const double r = std::sqrt(a.hi);
    if (!(r > 0) || !std::isfinite(r)) return {r, 0};
    if (a.hi < 0x1p-700) return scaled(sqrt(scaled(a, 0x1p600)), 0x1p-300);
    if (a.hi > 0x1p960) return scaled(sqrt(scaled(a, 0x1p-600)), 0x1p300);
    const Pair rest = sub(a, two_product(r, r));
    return two_sum(r, rest.hi / (2 * r));
  }

  static bool less(const Pair& a, const Pair& b) {
    return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo);
  }
  static bool is_nan(const Pair& a) { return std::isnan(a.hi); }
  static bool is_zero(const Pair& a) { return a.hi == 0 && a.lo == 0; }
  static int infinity(const Pair& a) { return std::isinf(a.hi) ? (a.hi > 0 ? 1 : -1) : 0; }
  static double to_double(const Pair& a) { return a.hi; }
  using Bound = long double;
  static Bound to_bound(const Pair& a) {
    return static_cast<long double>(a.hi) + static_cast<long double>(a.lo);
  }
  static Pair from_bound(Bound e) {
    return from(static_cast<double>(e) * (1 + 0x1p-50) + 0x1p-1074);
  }

  // Sums err by at most 3 u^2, products by 5 u^2, quotients by 10 u^2 of the result, u = 2^-53
  // (Joldes, Muller & Popescu 2017): below 2^-98 also when a sum cancels. Parts that are subnormal
  // err by half of the smallest subnormal each, a product and its residue in at most eight places.
  static Bound scaled_unit(const Pair& a) { return std::fabs(a.hi) * 0x1p-98 + 0x1p-1070; }

  // Sums of plain doubles are pairs.
  static bool exact_sum(const Pair& a, const Pair& b, const Pair&) {
    return (a.lo == 0 && b.lo == 0) || is_zero(a) || is_zero(b);
  }
  // Products of doubles are pairs while nothing underflows.
  static bool exact_product(const Pair& a, const Pair& b) {
    if (is_zero(a) || is_zero(b)) return true;
    return a.lo == 0 && b.lo == 0 && std::fabs(a.hi * b.hi) > 0x1p-900;
  }
  static bool exact_quotient(const Pair& a, const Pair& b, const Pair& q) {
    const Pair p = mul(q, b);
    return q.lo == 0 && b.lo == 0 && p.hi == a.hi && p.lo == a.lo && exact_product(q, b);
  }
  static bool exact_root(const Pair& a, const Pair& r) {
    const Pair p = mul(r, r);
    return r.lo == 0 && p.hi == a.hi && p.lo == a.lo && exact_product(r, r);
  }

  static constexpr double function_units = 16;
  static Pair function(const std::string& name, const Pair& x, const Pair&, bool& known,
                       bool& exact) {
    if (name == "exp") return exponential(x, known, exact);
    known = false;
    return {};
  }

  // e^x = 2^k (1 + s), s = e^r - 1 from e^(r/512) - 1 by nine steps s <- 2s + s^2; Taylor to degree
  // 9 truncates below 2^-110. k ln 2 errs by 2^-97 at most, the steps by less than 2^-97 in all:
  // well below the 2^-94 that the evaluator states for a function.
  static Pair exponential(const Pair& x, bool& known, bool& exact) {
    if (is_zero(x)) {
      exact = true;
      return {1, 0};
    }
    if (std::isinf(x.hi)) return {x.hi > 0 ? x.hi : 0, 0};
    if (!(std::fabs(x.hi) < 690)) {
      known = std::isnan(x.hi);
      return x;
    }
    const Pair ln2{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
    const double k = std::nearbyint(x.hi / ln2.hi);
    Pair r = sub(x, mul({k, 0}, ln2));
    r = {r.hi / 512, r.lo / 512};
    Pair sum = r;
    Pair term = r;
    for (int i = 2; i <= 9; ++i) {
      term = div(mul(term, r), {static_cast<double>(i), 0});
      sum = add(sum, term);
    }
    for (int i = 0; i < 9; ++i) sum = add(add(sum, sum), mul(sum, sum));
    sum = add(sum, {1, 0});
    const double scale =
        std::bit_cast<double>(static_cast<uint64_t>(static_cast<int64_t>(k) + 1023) << 52);
    return {sum.hi * scale, sum.lo * scale};
  }

  static std::string text(const Pair& a, int digits) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%.*g", digits, a.hi);
    return buffer;
  }
};

}  // namespace

std::unique_ptr<ExactTier> make_double_double_tier(const Graph& graph) {
  return std::make_unique<TierEvaluator<DoubleDouble>>(graph);
}

}  // namespace assay
