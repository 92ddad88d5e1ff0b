// Codes and indices under error: which integers a correct kernel may write (rules R14, R15).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels_under_test/contract.hpp"
#include "oracles/graph.hpp"
#include "oracles/overflow_set.hpp"
#include "oracles/rows.hpp"

namespace assay {

/// A line of scores: elements base + step [0, n). Null e, lo, hi are zero. sign -1: the smallest is
/// sought. Integers are in `whole` and `status` (null: all known) alone, and compared as they are.
struct Scores {
  const double* v = nullptr;
  const double* e = nullptr;
  const double* lo = nullptr;
  const double* hi = nullptr;
  int64_t base = 0;
  int64_t step = 1;
  int64_t n = 0;
  double sign = 1;
  const __int128* whole = nullptr;
  const uint8_t* status = nullptr;
};

/// What an argmax of scores may be.
struct IndexExpectation {
  bool bounded = true;    ///< false: nothing is documented (no elements; NaN without a policy)
  bool nan = false;       ///< NaN decides: the candidates are the NaN elements
  bool asks_nan = false;  ///< bounded only by the policy `nan`, which is not stated
  bool exact = true;      ///< every score is exact: ties are ties, and the tie policy binds
  int64_t first = 0;      ///< the first and the last candidate
  int64_t last = 0;
  int64_t candidates = 0;
  double least = 0;  ///< the greatest lower limit: an element that reaches it may be the largest
  __int128 greatest = 0;  ///< of integers, times the sign
};
IndexExpectation expected_index(const Scores& scores, rows::NanMode nan);

/// Is this index one of the candidates that the tie policy leaves?
bool accepts_index(const Scores& scores, const IndexExpectation& expected,
                   std::optional<TiePolicy> tie, __int128 got);

/// The integers that some point of [v - e - lo, v + e + hi] converts to.
struct CodeRange {
  bool bounded = true;
  bool missing_policy = false;  ///< bounded only by cast_overflow, which is not stated
  __int128 low = 0;
  __int128 high = 0;
  std::vector<__int128> others;  ///< what a value beyond the type may wrap to besides

  bool single() const { return low == high && others.empty(); }
  bool holds(__int128 code) const;
};
CodeRange accepted_codes(const Node& conversion, std::optional<CastOverflowPolicy> overflow,
                         double v, double e, double lo, double hi);

/// Some member of the set converts to this code, or to what nothing is documented for.
bool holds_code(const OverflowSet& set, const Node& conversion,
                std::optional<CastOverflowPolicy> overflow, __int128 code);

/// What a number with this whole part, beyond the type, may wrap to: its low bits, or those of the
/// number nearest to it in an integer type that holds `type` and has `narrowest` bits or more, to
/// which a compiled conversion saturates first (PTX ISA 9.0, `cvt`). Each once, the plain low bits
/// first.
std::vector<__int128> wrapped_codes(DType type, int narrowest, __int128 whole);

/// A value of `type`: the integer's bits, wrapped.
__int128 wrapped(DType type, __int128 value);
/// The value of `type` nearest to an integer.
__int128 saturated(DType type, __int128 value);

/// For outputs that saturate: the largest finite number stands for everything beyond it, and is
/// what infinities give.
Cell saturated_cell(DType type, Cell cell);
Decision decide_saturated(DType type, const Cell& cell, const Margins& margins, double lo,
                          double hi);

}  // namespace assay
