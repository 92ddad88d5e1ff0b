// Vast numbers in the first tier's rows (docs/judging/overflow.md, "Numbers beyond double"): what
// an operation leaves of the limit that is known of them. Included by rows_impl.inc.hpp.

inline double limit_of(In x, int i) { return vast_limit(x.v[i], x.e[i], x.lo[i], x.hi[i]); }

inline bool limited_at(In x, int i) { return limited(x.v[i], x.e[i], x.lo[i], x.hi[i]); }

inline double known(In x, int i) { return known_error(x.v[i], x.e[i], x.lo[i], x.hi[i]); }

/// A vast number of that sign: neither it nor a correct kernel's is nearer to 0 than `limit`.
inline void put_vast(Out o, int i, bool negative, double limit, double deviation = kVastDeviation) {
  const double size = limit < kVastExponential ? limit : kVastExponential;
  const double inner = size * (deviation < kMostVastDeviation ? deviation : kMostVastDeviation);
  o.v[i] = negative ? -size : size;
  o.e[i] = 1 / 0.0;
  o.lo[i] = negative ? 1 / 0.0 : inner;
  o.hi[i] = negative ? inner : 1 / 0.0;
}

/// The least and the largest |x| of the exact value and a correct kernel's, where these agree to
/// 2^-16 and have a sign, and the inner deviation of what is beyond double by this factor; of a
/// vast number its limit. {0, infinity} otherwise.
struct Sizes {
  double least = 0;
  double most = 1 / 0.0;
  double deviation = kMostVastDeviation;
};
inline Sizes sizes_of(In x, int i) {
  const double size = absolute(x.v[i]);
  const double inward = x.v[i] > 0 ? x.lo[i] : x.hi[i];
  const double outward = x.v[i] > 0 ? x.hi[i] : x.lo[i];
  const double limit = limit_of(x, i);
  if (limit > 0) return {limit, 1 / 0.0, inward / size};
  // That it may overflow (range = "naive") takes nothing from the inner end.
  const bool open = outward == 1 / 0.0;
  const double spread = x.e[i] + inward + (open ? 0 : outward);
  if (!(spread <= size * 0x1p-16) || !finite(size) || size == 0) return {};
  return {(size - spread) * (1 - 0x1p-50), open ? 1 / 0.0 : (size + spread) * (1 + 0x1p-50),
          vast_deviation(spread / size)};
}

/// Of a result that is beyond double nothing is known: some operand may be 0, or of either sign.
inline void put_no_bound(Out o, int i) { o.lo[i] = o.hi[i] = 0 / 0.0; }

/// Operands that are numbers gave an infinity: the exact value is a number.
inline bool left_range(In a, In b, Out o, int i) {
  return !finite(o.v[i]) && finite(a.v[i]) && finite(b.v[i]);
}

/// Some lane has a vast operand, or leaves double's range.
inline bool any_beyond(int n, In a, In b, Out o) {
  uint64_t any = 0;
  for (int i = 0; i < n; ++i) {
    const bool numbers = finite(a.v[i]) & finite(b.v[i]);
    any |= (finite(a.e[i] + b.e[i]) & (finite(o.v[i]) | !numbers)) ? 0 : 1;
  }
  return any != 0;
}

/// Products with a vast number stay vast, unless the other factor is small, or may be 0; those of
/// numbers become vast where no double holds them. Flags of what is written, here and below.
inline int repair_vast_product(int n, In a, In b, Out o) {
  int seen = kNoFlags;
  for (int i = 0; i < n; ++i) {
    const bool beyond = left_range(a, b, o, i);
    if (!beyond && limit_of(a, i) == 0 && limit_of(b, i) == 0) continue;
    seen = kAnyError | kAnyAllowance;
    const Sizes of_a = sizes_of(a, i);
    const Sizes of_b = sizes_of(b, i);
    const double limit = of_a.least * of_b.least * (1 - 0x1p-50);
    if (limit >= kLeastVast)
      put_vast(o, i, (a.v[i] < 0) != (b.v[i] < 0), limit, of_a.deviation + of_b.deviation);
    else if (beyond)
      put_no_bound(o, i);
  }
  return seen;
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

/// a + b, a - b: what leaves double's range is of two numbers whose sizes add.
inline int repair_vast_sum(int n, In a, In b, Out o) {
  if (!any_beyond(n, a, b, o)) return kNoFlags;
  for (int i = 0; i < n; ++i) {
    if (left_range(a, b, o, i)) {
      const Sizes of_a = sizes_of(a, i);
      const Sizes of_b = sizes_of(b, i);
      const double limit = (of_a.least + of_b.least) * (1 - 0x1p-50);
      if (limit >= kVastExponential)
        put_vast(o, i, a.v[i] < 0, limit, larger(of_a.deviation, of_b.deviation));
      else
        put_no_bound(o, i);
      continue;
    }
    // A limit less a number is as far off as that number's error too.
    const bool a_limited = limited_at(a, i);
    const double other = a_limited ? b.e[i] : a.e[i];
    if (a_limited == limited_at(b, i) || !finite(o.v[i]) || !finite(other)) continue;
    double& inner = o.hi[i] == 1 / 0.0 ? o.lo[i] : o.hi[i];
    inner = (inner + other) * kOutward;
  }
  return kAnyError | kAnyAllowance;
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
    if (v >= kLeastVast) put_vast(o, i, false, v, larger(a.lo[i] / a.v[i], kLeastVastDeviation));
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

/// Quotients of a vast number by one that is not stay vast, unless that is large; those of numbers
/// become vast where no double holds them. By 0 the exact quotient is infinite.
inline int repair_vast_quotient(int n, In a, In b, Out o) {
  int seen = kNoFlags;
  for (int i = 0; i < n; ++i) {
    const bool beyond = left_range(a, b, o, i) && b.v[i] != 0;
    if (!beyond && limit_of(a, i) == 0) continue;
    seen = kAnyError | kAnyAllowance;
    const Sizes of_a = sizes_of(a, i);
    const Sizes of_b = sizes_of(b, i);
    const double limit = of_a.least / of_b.most * (1 - 0x1p-50);
    if (limit >= kLeastVast)
      put_vast(o, i, (a.v[i] < 0) != (b.v[i] < 0), limit, of_a.deviation + of_b.deviation);
    else if (beyond)
      put_no_bound(o, i);
  }
  return seen;
}
