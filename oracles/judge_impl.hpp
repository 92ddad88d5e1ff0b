// Private to the judge: compiled formulas, and the state of judging one case.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "oracles/evaluate.hpp"
#include "oracles/overflow.hpp"
#include "oracles/tier.hpp"
#include "oracles/verdict.hpp"

namespace assay {

/// A formula compiled for one variant, with its evaluators' memory.
struct CompiledFormula {
  explicit CompiledFormula(Graph g)
      : graph(std::move(g)),
        rows(graph),
        overflows(graph),
        double_double(make_double_double_tier(graph)),
        short_multiprecision(make_short_multiprecision_tier(graph)),
        multiprecision(make_multiprecision_tier(graph)) {}
  Graph graph;
  RowEvaluator rows;
  Overflows overflows;
  std::unique_ptr<ExactTier> double_double;
  std::unique_ptr<ExactTier> short_multiprecision;
  std::unique_ptr<ExactTier> multiprecision;
};

struct Judge::Impl {
  Contract contract;
  std::map<Variant, std::unique_ptr<CompiledFormula>> compiled;
  CompiledFormula& formula(const Variant& variant);
};

/// Settings of evaluation, `widen` off, for a case of a contract.
EvaluationSettings settings_for(const Contract& contract, const Instance& instance);

/// Constants of matching an output of `type`.
rows::MatchFormat match_format(DType type, const EvaluationSettings& settings);

/// The chunk that holds a box of an output: dimensions that the box does not fix, and those that a
/// reduction runs over, in full.
Chunk chunk_for(const Graph& graph, const RowEvaluator& rows, const Tensor& output,
                const std::vector<int64_t>& low, const std::vector<int64_t>& extent);

/// One element of an output: every dimension that the output has is fixed.
Chunk element_chunk(const Graph& graph, const RowEvaluator& rows, const Tensor& output,
                    const std::vector<int64_t>& at);

/// Position in the array of `grid` of the output's element at these coordinates.
int64_t position_in(const Graph& graph, const Grid& grid, const Tensor& output,
                    const std::vector<int64_t>& at);

/// The reals that give these bits: those that round to them, what saturates to them, and where the
/// last operation flushes subnormals, for 0 all that it flushes.
Cell output_cell(const FormulaRoot& root, DType type, uint64_t bits,
                 const EvaluationSettings& settings);

/// What an integer output must hold.
struct IntegerExpectation {
  bool bounded = true;  ///< false: nothing is documented
  uint64_t bits = 0;
  bool missing_policy = false;  ///< bounded only by cast_overflow, which is not stated
};
IntegerExpectation expected_integer(const Contract& contract, const Graph& graph, int node,
                                    DType type, __int128 value, uint8_t status);

}  // namespace assay
