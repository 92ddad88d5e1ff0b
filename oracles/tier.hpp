// The higher tiers: one element at a time, evaluated in double-double or in multiprecision.
#pragma once

#include <memory>
#include <string>

#include "oracles/accept.hpp"
#include "oracles/evaluate.hpp"

namespace assay {

class ExactTier {
 public:
  virtual ~ExactTier() = default;
  /// The exact value of `node`, whose grid within `chunk` holds one element, against a kernel's
  /// output. Integers, conditions and inputs come from `leaves`.
  virtual Margins margins(RowEvaluator& leaves, int node, const Chunk& chunk, const Cell& cell,
                          double lo, double hi) = 0;
  /// The same value in `digits` decimal digits.
  virtual std::string text(RowEvaluator& leaves, int node, const Chunk& chunk, int digits) = 0;
};

/// About 100 bits: products and sums of doubles are exact.
std::unique_ptr<ExactTier> make_double_double_tier(const Graph& graph);

/// 640 bits: every dot product of finite float32 vectors of up to 2^60 elements is exact. Integer
/// arithmetic only, so its bits are the same on every machine.
std::unique_ptr<ExactTier> make_multiprecision_tier(const Graph& graph);

/// The same with 256 bits, several times faster: decides nearly all elements that double-double
/// does not (functions other than exp), and leaves the others, such as ties of long sums.
std::unique_ptr<ExactTier> make_short_multiprecision_tier(const Graph& graph);

}  // namespace assay
