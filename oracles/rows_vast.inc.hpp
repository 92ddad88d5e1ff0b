// Vast numbers in the first tier's rows (docs/judging/overflow.md, "Numbers beyond double"): what an
// operation leaves of the limit that is known of them. Included by rows_impl.inc.hpp.

inline double limit_of(In x, int i) { return vast_limit(x.v[i], x.e[i], x.lo[i], x.hi[i]); }

inline double known(In x, int i) { return known_error(x.v[i], x.e[i], x.lo[i], x.hi[i]); }

/// A vast number of that sign: neither it nor a correct kernel's is nearer to 0 than `limit`.
inline void put_vast(Out o, int i, bool negative, double limit) {
  const double size = limit < kVastExponential ? limit : kVastExponential;
  o.v[i] = negative ? -size : size;
  o.e[i] = 1 / 0.0;
  o.lo[i] = negative ? 1 / 0.0 : size * kVastDeviation;
  o.hi[i] = negative ? size * kVastDeviation : 1 / 0.0;
}

/// The least and the largest |x| of the exact value and a correct kernel's, where these agree to
/// 2^-16 and have a sign; {0, infinity} otherwise. What a finite kernel's product then loses, at
/// most 2^-16 of 2^1024, is within kVastDeviation.
struct Sizes {
  double least = 0;
  double most = 1 / 0.0;
};
inline Sizes sizes_of(In x, int i) {
  const double size = absolute(x.v[i]);
  const double spread = x.e[i] + larger(x.lo[i], x.hi[i]);
  if (!(spread <= size * 0x1p-16) || !finite(size) || size == 0) return {};
  return {(size - spread) * (1 - 0x1p-50), (size + spread) * (1 + 0x1p-50)};
}

/// Products with a vast number stay vast, unless the other factor is small, or may be 0.
inline void repair_vast_product(int n, In a, In b, Out o) {
  for (int i = 0; i < n; ++i) {
    const double limit_a = limit_of(a, i);
    const double limit_b = limit_of(b, i);
    if (limit_a == 0 && limit_b == 0) continue;
    const double size_a = limit_a > 0 ? limit_a : sizes_of(a, i).least;
    const double size_b = limit_b > 0 ? limit_b : sizes_of(b, i).least;
    const double limit = size_a * size_b * (1 - 0x1p-50);
    if (limit >= kLeastVast) put_vast(o, i, (a.v[i] < 0) != (b.v[i] < 0), limit);
  }
}

/// Of the same size, with that sign, and as sharp.
inline void keep_limit(In a, int i, bool negative, Out o) {
  const bool was_negative = a.v[i] < 0;
  const double inner = was_negative ? a.hi[i] : a.lo[i];
  o.v[i] = negative ? -absolute(a.v[i]) : absolute(a.v[i]);
  o.e[i] = 1 / 0.0;
  o.lo[i] = negative ? 1 / 0.0 : inner;
  o.hi[i] = negative ? inner : 1 / 0.0;
}

/// a + sign b: of one sign, or with a number that is known within its error.
inline void repair_vast_sum(int n, In a, In b, double sign, Out o) {
  for (int i = 0; i < n; ++i) {
    const double limit_a = limit_of(a, i);
    const double limit_b = limit_of(b, i);
    if (limit_a == 0 && limit_b == 0) continue;
    const bool negative = limit_a > 0 ? a.v[i] < 0 : (sign * b.v[i] < 0);
    if (limit_a > 0 && limit_b > 0) {
      const bool one_sign = negative == (sign * b.v[i] < 0);
      if (one_sign && !finite(o.v[i])) put_vast(o, i, negative, kVastExponential);
      continue;
    }
    const double other = limit_a > 0 ? b.e[i] : a.e[i];
    if (!finite(o.v[i]) || !finite(other)) continue;
    double& inner = negative ? o.hi[i] : o.lo[i];
    inner = (inner + other) * kOutward;
  }
}

/// A vast operand is the maximum, or takes no part, where the other one is surely on its inner
/// side.
inline void repair_vast_maximum(int n, In a, In b, Out o) {
  const auto one = [&](In x, In y, int i) {
    const double limit = limit_of(x, i);
    if (limit == 0) return;
    const double other = limit_of(y, i);
    if (other > 0 && (x.v[i] > 0) == (y.v[i] > 0)) {
      const bool takes = x.v[i] > 0 ? limit >= other : limit <= other;
      if (takes) keep_limit(x, i, x.v[i] < 0, o);
      return;
    }
    if (x.v[i] > 0 && y.v[i] + (known(y, i) + y.hi[i]) < limit) keep_limit(x, i, false, o);
    if (x.v[i] > 0 || !(y.v[i] - (known(y, i) + y.lo[i]) > -limit)) return;
    o.v[i] = y.v[i];
    o.e[i] = y.e[i];
    o.lo[i] = y.lo[i];
    o.hi[i] = y.hi[i];
  };
  for (int i = 0; i < n; ++i) {
    one(a, b, i);
    one(b, a, i);
  }
}

/// The root is as far from its limit, relatively, as half of what the argument was.
inline void repair_vast_root(int n, In a, Out o) {
  for (int i = 0; i < n; ++i) {
    const double limit = a.v[i] > 0 ? limit_of(a, i) : 0;
    if (limit == 0) continue;
    const double v = __builtin_sqrt(limit) * (1 - 0x1p-50);
    if (v >= kLeastVast) put_vast(o, i, false, v);
  }
}

/// Both the exact value and a correct kernel's lie between 0 and the limit's.
inline void repair_vast_reciprocal_root(int n, In a, Out o) {
  for (int i = 0; i < n; ++i) {
    const double limit = a.v[i] > 0 ? limit_of(a, i) : 0;
    if (limit == 0) continue;
    const double most = 1 / __builtin_sqrt(limit) * (1 + 0x1p-50);
    o.v[i] = 0;
    o.e[i] = most;
    o.lo[i] = o.hi[i] = 2 * most;
  }
}

/// e^a: vast too, or next to 0.
inline void repair_vast_exponential(int n, In a, double eta, Out o) {
  for (int i = 0; i < n; ++i) {
    const double limit = limit_of(a, i);
    if (limit <= 709) continue;
    if (a.v[i] > 0) {
      put_vast(o, i, false, kVastExponential);
      continue;
    }
    o.v[i] = 0;
    o.e[i] = 0x1p-1000;
    o.lo[i] = 0x1p-1000;
    o.hi[i] = 0x1p-1000 + eta;
  }
}

/// Quotients of a vast number by one that is not stay vast, unless that is large.
inline void repair_vast_quotient(int n, In a, In b, Out o) {
  for (int i = 0; i < n; ++i) {
    const double limit = limit_of(a, i) / sizes_of(b, i).most * (1 - 0x1p-50);
    if (limit >= kLeastVast) put_vast(o, i, (a.v[i] < 0) != (b.v[i] < 0), limit);
  }
}
