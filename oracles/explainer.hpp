// Private to the judge: explains one element (Judge::explain). Exact value in the last tier, the
// accepted set, each term of the allowance with its source, and the inputs that feed it.
// Deterministic to the bit: basic IEEE operations and integer arithmetic only, and numbers printed
// from their bits.
#pragma once

#include <string>
#include <vector>

#include "oracles/case_judge.hpp"
#include "oracles/formula_text.hpp"

namespace assay {

class Explainer {
 public:
  Explainer(const Contract& contract, CompiledFormula& formula, const Instance& instance,
            const OutputReader& outputs, const Tensor& output, int64_t logical);
  ElementReport run();

 private:
  enum class Side { wider, above, below };
  /// An input, and how much it matters.
  struct Feeding {
    double weight = 0;  ///< larger: listed first
    std::string text;
  };

  std::string dim_name(int dim) const { return formula_.graph.dims[static_cast<size_t>(dim)]; }
  const Node& node(int id) const { return formula_.graph.nodes[static_cast<size_t>(id)]; }
  double half_ulp(double x) const { return ulp(output_.dtype, x) / 2; }
  std::string node_text(const Node& n) const { return formula_text(contract_, formula_.graph, n); }

  // explain.cpp
  /// What no formula over the output's own dimensions says: judges again and takes a note.
  ElementReport explain_noted();
  int64_t position(const Value& value) const;
  void set_rule(const char* rule);
  /// Nothing is documented: which term is the first without a bound, and why.
  void explain_no_bound();
  std::string no_bound_reason(const Node& n) const;
  void set_error(double exact);
  void explain_real();
  /// The allowance on the side of the exact value where the element lies.
  double of_side(double lo, double hi) const;
  void describe_error(const Margins& exact, const Excess& excess);
  std::string accepted_text(const Margins& exact, double lo, double hi) const;
  std::string interval_text(double low, double high) const;
  /// What follows where an operation of the declared form overflows (rule R7).
  std::string overflow_text(int64_t k);
  /// An exact 0 whose sign is known, where the policy orders zeros. True: the element is the other
  /// one (rule R9).
  bool explain_zero(int64_t k);
  /// What the definition gives where the formula is NaN (rule R5).
  std::string limit_text();

  // explain_integers.cpp
  void explain_bits();
  void explain_integer();
  /// The candidates, and their scores (rule R14).
  void explain_index(const Node& n);
  std::string score_of(const Node& n) const;
  /// The codes that some point of the enclosure converts to (rule R15).
  void explain_code(const Node& n);

  // explain_terms.cpp
  /// Each node's own share: what it adds to the allowance when it errs beside those before it.
  void list_terms(int top);
  int64_t reduced_count(const Node& n) const;
  std::string term_name(const Node& n) const;
  std::string published_text(const Node& n) const;
  /// ", across a step of floor(x)" where a term goes through one.
  std::string step_beyond(int id, int top);
  std::string term_source(const Node& n) const;
  void add_output_rounding(double exact);

  // explain_inputs.cpp
  void list_inputs();
  /// Elements at the output's own coordinates first, then the largest of the reduced rows; NaN and
  /// infinities before all.
  void list_operand(int id, const Node& n, std::vector<Feeding>& found);
  int64_t position_if_inside(const Value& value) const;
  std::string input_text(const Node& n, const Tensor& tensor, const Value& value, int64_t k);
  /// Where a gathered element lies along one axis: its index's value, or its own coordinate.
  std::string gathered_at(const Node& n, const Tensor& tensor, const Value& value,
                          const std::vector<int64_t>& place, int axis);

  const Contract& contract_;
  CompiledFormula& formula_;
  RowEvaluator& rows_;
  const Instance& instance_;
  const OutputReader& outputs_;
  const Tensor& output_;
  const std::vector<int64_t> at_;
  const EvaluationSettings settings_;
  const FormulaRoot* root_ = nullptr;
  Side side_ = Side::wider;
  Chunk single_;
  Chunk whole_;
  ElementReport report_;
};

}  // namespace assay
