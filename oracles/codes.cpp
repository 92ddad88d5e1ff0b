#include "oracles/codes.hpp"

#include <algorithm>
#include <cmath>

#include "oracles/accept.hpp"
#include "oracles/evaluate.hpp"

namespace assay {
namespace {

struct Score {
  double v;
  double up;    ///< how far a correct kernel's score may lie above
  double down;  ///< and below
};

Score score_at(const Scores& s, int64_t j) {
  const int64_t k = s.base + j * s.step;
  const double lo = element(s.lo, k);
  const double hi = element(s.hi, k);
  // Of what is beyond double the limit holds for the exact score, too.
  const double e = rows::known_error(s.v[k], element(s.e, k), lo, hi);
  const double above = hi + e;
  const double below = lo + e;
  return s.sign > 0 ? Score{s.v[k], above, below} : Score{-s.v[k], below, above};
}

/// The kernel may hold any number there, or NaN, whatever v is (rule R13).
bool is_unbounded(const Score& x) { return accepts_anything(x.down, x.up); }

/// Covers the rounding of v + reach; an exact score stays itself.
double outward(double v, double reach) {
  if (reach == 0 || !std::isfinite(v)) return v;
  // Scaled before they are added: next to double's largest number their sum leaves double.
  const double rounded = std::fabs(v) * 0x1p-51 + std::fabs(reach) * 0x1p-51;
  return v + reach + (reach > 0 ? rounded : -rounded);
}

__int128 whole_at(const Scores& s, int64_t j) {
  const __int128 whole = s.whole[s.base + j * s.step];
  return s.sign > 0 ? whole : -whole;
}

bool reaches(const Scores& s, int64_t j, const IndexExpectation& expected) {
  if (s.whole != nullptr) return whole_at(s, j) == expected.greatest;
  const Score x = score_at(s, j);
  if (is_unbounded(x)) return true;
  if (std::isnan(x.v)) return expected.nan;
  if (expected.nan) return false;
  return outward(x.v, x.up) >= expected.least;
}

void count_candidates(const Scores& s, IndexExpectation& out) {
  for (int64_t j = 0; j < s.n; ++j) {
    if (!reaches(s, j, out)) continue;
    if (out.candidates == 0) out.first = j;
    out.last = j;
    ++out.candidates;
  }
}

IndexExpectation expected_index_of_integers(const Scores& s) {
  IndexExpectation out;
  out.bounded = s.n > 0;
  for (int64_t j = 0; j < s.n; ++j) {
    if (s.status != nullptr && s.status[s.base + j * s.step] != kKnown) out.bounded = false;
    if (j == 0 || whole_at(s, j) > out.greatest) out.greatest = whole_at(s, j);
  }
  if (out.bounded) count_candidates(s, out);
  return out;
}

}  // namespace

IndexExpectation expected_index(const Scores& s, rows::NanMode mode) {
  if (s.whole != nullptr) return expected_index_of_integers(s);
  IndexExpectation out;
  int64_t numbers = 0, unbounded = 0;
  out.least = -HUGE_VAL;
  for (int64_t j = 0; j < s.n; ++j) {
    const Score x = score_at(s, j);
    if (x.up != 0 || x.down != 0) out.exact = false;
    if (is_unbounded(x)) {
      ++unbounded;
      continue;
    }
    if (std::isnan(x.v)) {
      out.nan = true;
      continue;
    }
    ++numbers;
    out.least = std::max(out.least, outward(x.v, -x.down));
  }
  if (out.nan && mode == rows::NanMode::ask) out.asks_nan = true;
  const bool propagates = mode == rows::NanMode::propagate;
  const bool open = mode == rows::NanMode::ask && unbounded > 0;  // NaN by no policy, perhaps
  if (s.n == 0 || out.asks_nan || open || (numbers == 0 && !propagates)) {
    out.bounded = false;
    return out;
  }
  if (mode == rows::NanMode::ignore) out.nan = false;
  count_candidates(s, out);
  return out;
}

bool accepts_index(const Scores& s, const IndexExpectation& expected, std::optional<TiePolicy> tie,
                   __int128 got) {
  if (got < 0 || got >= s.n) return false;
  const auto j = static_cast<int64_t>(got);
  const bool binds = expected.exact && tie && *tie != TiePolicy::free;
  if (binds) return j == (*tie == TiePolicy::first ? expected.first : expected.last);
  return reaches(s, j, expected);
}

namespace {

struct IntegerRange {
  __int128 low;
  __int128 high;
};

IntegerRange range_of(DType type) {
  if (type == DType::boolean) return {0, 1};
  const __int128 one = 1;
  const int width = bit_width(type);
  if (is_signed(type)) return {-(one << (width - 1)), (one << (width - 1)) - 1};
  return {0, (one << width) - 1};
}

/// To the integer that the conversion takes; far beyond every type at the ends.
__int128 converted(bool truncates, double x) {
  const double whole = truncates ? std::trunc(x) : std::rint(x);
  return static_cast<__int128>(std::clamp(whole, -0x1p100, 0x1p100));
}

}  // namespace

__int128 wrapped(DType type, __int128 value) {
  if (type == DType::boolean) return value != 0 ? 1 : 0;
  const auto mask = (static_cast<unsigned __int128>(1) << bit_width(type)) - 1;
  const auto bits = static_cast<unsigned __int128>(value) & mask;
  const IntegerRange range = range_of(type);
  const auto out = static_cast<__int128>(bits);
  return out > range.high ? out - static_cast<__int128>(mask) - 1 : out;
}

std::vector<__int128> wrapped_codes(DType type, int narrowest, __int128 whole) {
  std::vector<__int128> out{wrapped(type, whole)};
  const auto by_way_of = [&](DType wide) {
    const int more = bit_width(wide) - bit_width(type);
    if (more < 0 || bit_width(wide) < narrowest ||
        (more == 0 && is_signed(wide) != is_signed(type)))
      return;
    const __int128 code = wrapped(type, saturated(wide, whole));
    if (std::find(out.begin(), out.end(), code) == out.end()) out.push_back(code);
  };
  for (const DType wide : {DType::i8, DType::i16, DType::i32, DType::i64}) by_way_of(wide);
  if (is_signed(type)) return out;
  for (const DType wide : {DType::u8, DType::u16, DType::u32, DType::u64}) by_way_of(wide);
  return out;
}

__int128 saturated(DType type, __int128 value) {
  const IntegerRange range = range_of(type);
  return std::clamp(value, range.low, range.high);
}

bool CodeRange::holds(__int128 code) const {
  return (code >= low && code <= high) ||
         std::find(others.begin(), others.end(), code) != others.end();
}

CodeRange accepted_codes(const Node& conversion, std::optional<CastOverflowPolicy> overflow,
                         double v, double e, double lo, double hi) {
  CodeRange out;
  const double least = outward(v, -(e + lo));
  const double most = outward(v, e + hi);
  if (std::isnan(least) || std::isnan(most)) {
    out.bounded = false;
    return out;
  }
  const bool truncates = conversion.text == "cast";
  out.low = converted(truncates, least);
  out.high = converted(truncates, most);
  if (conversion.type == DType::boolean) {
    const bool only_zero = least == 0 && most == 0;
    out.low = least <= 0 && most >= 0 ? 0 : 1;
    out.high = only_zero ? 0 : 1;
    return out;
  }
  const IntegerRange range = range_of(conversion.type);
  if (out.low >= range.low && out.high <= range.high) return out;
  if (conversion.text == "quant" || overflow == CastOverflowPolicy::saturate) {
    out.low = std::clamp(out.low, range.low, range.high);
    out.high = std::clamp(out.high, range.low, range.high);
  } else if (overflow == CastOverflowPolicy::wrap && out.low == out.high &&
             std::fabs(v) < 0x1p100) {
    out.others = wrapped_codes(conversion.type, conversion.saturates_at, out.low);
    out.low = out.high = out.others.front();
    out.others.erase(out.others.begin());
  } else {
    out.bounded = false;
    out.missing_policy = !overflow;
  }
  return out;
}

bool holds_code(const OverflowSet& set, const Node& conversion,
                std::optional<CastOverflowPolicy> overflow, __int128 code) {
  const auto from = [&](double v, double hi) {
    const CodeRange range = accepted_codes(conversion, overflow, v, 0, 0, hi);
    return !range.bounded || range.holds(code);
  };
  const double infinity = HUGE_VAL;
  if (set.reals() && std::isfinite(set.low) && from(set.low, set.high - set.low)) return true;
  if (set.reals() && !std::isfinite(set.low)) return true;  // without a limit below
  return (set.up && from(infinity, 0)) || (set.down && from(-infinity, 0)) ||
         (set.nan && from(std::nan(""), 0));
}

Cell saturated_cell(DType type, Cell cell) {
  const double largest = format_of(type).largest;
  if (cell.value == largest) cell.above = HUGE_VAL;
  if (cell.value == -largest) cell.below = HUGE_VAL;
  return cell;
}

Decision decide_saturated(DType type, const Cell& cell, const Margins& m, double lo, double hi) {
  if (accepts_anything(lo, hi)) return Decision::accepted;
  if (!m.nan && !std::isfinite(cell.value)) return Decision::rejected;
  if (!m.nan && m.infinite != 0)
    return cell.value == m.infinite * format_of(type).largest ? Decision::accepted
                                                              : Decision::rejected;
  return decide(type, cell, m, lo, hi);
}

}  // namespace assay
