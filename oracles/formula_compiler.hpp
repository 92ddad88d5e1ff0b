// Private to the formula's compiler: expressions become nodes of the graph, equal nodes shared.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "oracles/graph.hpp"

namespace assay {

struct DocumentedImplementation;

/// Compiles one variant of a contract's formula; used once. Functions that give an int give a node.
class FormulaCompiler {
 public:
  FormulaCompiler(const Contract& contract, const Variant& variant);
  Graph compile();

 private:
  using Bindings = std::map<std::string, std::vector<ExprPtr>>;

  // graph.cpp: nodes
  ArithmeticTypes types() const;
  [[noreturn]] static void fail(const Expr& at, const std::string& message);
  int dim_id(const std::string& name);
  bool is_dim(const std::string& name) const;
  bool is_size(const std::string& name) const;
  int operand_position(const OperandSpec& operand) const;
  static std::string key_of(const Node& node);
  int put(Node node, const SourceLocation& where);
  const Node& node(int id) const { return graph_.nodes[static_cast<size_t>(id)]; }
  /// Dimensions of an elementwise node: those of the argument with most, then the others'.
  std::vector<int> union_dims(const std::vector<int>& args) const;
  /// 24 when the value is a float, otherwise 53.
  static int significand_bits(double value);
  int literal(double value, const SourceLocation& where);
  int integer_literal(int64_t value, const SourceLocation& where);
  int real(int id, const Expr& at);

  // graph_expressions.cpp: roundings
  bool correctly_rounded(std::string_view operation) const;
  /// The kernel rounds this node's value to the type it computes in, and its enclosure does not
  /// hold that rounding yet.
  bool rounding_pending(int id) const;
  /// `once`: straight from the exact value, without a rounding to the type of arithmetic before.
  int settle(int id, DType type, int weight, const SourceLocation& where, bool once = false);
  /// An operand, or an integer: what a conversion instruction takes as it is.
  bool converts_at_once(int id) const;
  /// An argument as a kernel's next operation receives it.
  int arithmetic(int id, const Expr& at);

  // graph_operands.cpp and graph_expressions.cpp
  int compile(const Expr& e);
  int compile_name(const Expr& e);
  /// A library definition's parameter stands for the caller's expression, in the caller's scope.
  int compile_bound(const Expr& e, const std::vector<ExprPtr>& bound);
  bool is_integer_name(const std::string& name) const;
  std::string did_you_mean(const std::string& name) const;
  int dim_index(const Expr& e);
  int load(const Expr& e, const OperandSpec& operand, bool from_output = false);
  int compile_member(const Expr& e);
  int compile_gather(const Expr& e);
  static int axis_of(const Expr& e, const OperandSpec& operand, size_t position);
  int integer_node(const Expr& e);
  int compile_unary(const Expr& e);
  int integer_only(int id, const Expr& e);
  /// A condition as an integer 0 or 1. Comparisons of reals are integral nodes already.
  int truth(int id, const Expr& e);
  int elementwise(Op op, std::vector<int> args, bool integral, const Expr& e);
  int result_bits(Op op, const std::vector<int>& args) const;
  int compile_binary(const Expr& e);
  int arithmetic_pair(Op op, int a, int b, const Expr& e);
  int compare(const Expr& e, int a, int b);
  std::optional<DType> type_named(const std::string& name) const;
  /// A condition over flags, knobs and types alone is decided here: the operand behind it may be
  /// absent.
  std::optional<bool> decided(const Expr& condition) const;
  int compile_choice(const Expr& e);

  // graph_calls.cpp
  int compile_call(const Expr& e);
  int expand(const Expr& e, const FormulaDefinition& definition);
  /// A caller's argument with the caller's own parameters put in (definitions may nest).
  ExprPtr resolved(const ExprPtr& e) const;
  std::vector<ExprPtr> dimension_arguments(const Expr& e) const;
  bool names_dimensions(const Expr& e) const;
  int reduction(const Expr& e);
  /// cumsum, argmax, argmin: along one dimension.
  int along(const Expr& e, Op op);
  /// x, where `id` is (x - mean(x))^2 over the same dimensions; -1 for anything else. The variance
  /// is a primitive: composing it from its parts would lose that sum(x - mean) is 0.
  int variance_argument(int id, const std::vector<int>& reduced) const;
  /// A product that tensor cores add, if they may.
  struct TensorProduct {
    int node = 0;  ///< the multiplication
    DType type{};  ///< of both factors
  };
  std::optional<TensorProduct> tensor_product(int id) const;
  /// The narrow type that holds every value of this node; f64 for values that any type holds (0).
  std::optional<DType> narrow_type(int id) const;
  void add_in_tensor_cores(Node& sum, int product) const;
  int pair_choice(const Expr& e);
  DType type_argument(const Expr& e) const;
  int typed(const Expr& e);
  /// A conversion to an integer type: `cast` truncates, `quant` and `round` take the nearest.
  int to_integer_type(const Expr& e, DType type);
  /// A kernel may hold this value in a type of at most 16 bits.
  bool may_be_half(int id) const;
  /// The narrowest integer that a compiled conversion of this real to `type` saturates to first.
  int conversion_width(int id, DType type) const;
  int largest_code(const Expr& e);
  int given(const Expr& e);
  int extent(const Expr& e);
  int elementwise_call(const Expr& e);
  /// A function that is documented by its implementation: as accurate as that is.
  int by_implementation(int function, const DocumentedImplementation& how, const Expr& e);
  /// The rounding of an exponent that is a difference: 2u|x - m|, or with exp2(x log2e - m log2e)
  /// also u (|x| + |m|). With exp2(x log2e) of any other: 1.25 u |x|.
  int exponent(int id, const Expr& e);

  // graph_weights.cpp
  /// x - m, where m is max(s, D), or a maximum of that and others.
  struct Shift {
    int scores = -1;  ///< s
    std::vector<int> reduced;
    std::vector<int> others;
    size_t own = 0;  ///< x is s; from 1 on, that one of the others
  };
  std::optional<Shift> shift_of(int difference) const;
  void add_operands(int maximum, std::vector<int>& out) const;
  int rescaled(int weight, const Shift& shift, const Expr& e);
  /// The largest of these weights is e^0.
  bool reaches_one(int weight) const;
  int unrounded(int id, double& roundings) const;
  bool is_weight(int id) const;
  void add_running(Node& sum) const;
  int weighted_mean(int id, const Expr& e);

  // graph_totals.cpp
  struct Part {
    int id;
    bool negative;
  };
  bool joins(int id, size_t dims, const std::vector<Part>& parts) const;
  void add_parts(int id, bool negative, size_t dims, std::vector<Part>& parts) const;
  /// A sum with a starting value, or several sums in one accumulator: sum(a b, K) + bias.
  int total(int id, const Expr& e);

  // graph.cpp: outputs
  void add_root(const FormulaLine& line, const OperandSpec& operand, int id);
  void add_scatter(const FormulaLine& line, const OperandSpec& operand, int id, FormulaRoot& root);
  void add_relation(int oracle);
  /// Compiles the lines again, by the definitions' limits, for outputs that these may change.
  void add_limits();
  /// quant() saturates; so does a conversion to an 8-bit type whose contract says so.
  bool saturates(const Expr& e, DType type) const;
  static int axis_named(const FormulaLine& line, const OperandSpec& operand,
                        const std::string& label);
  /// Throws where the node is an operation that no accuracy is published of in the type in which
  /// the kernel computes it (rule R10).
  void need_accuracy(const Node& n) const;
  /// Where a dimension comes in by its bare name: what to write for the extent; else "".
  std::string index_hint(int id, int dim) const;
  void check_dims(const FormulaLine& line, const OperandSpec& operand, int id) const;
  /// The last rounding belongs to the output; one that the formula declares is the same rounding.
  int output_value(int id, DType type, const Expr& e);

  const Contract& contract_;
  const Variant& variant_;
  const DType sums_;        ///< of partial sums
  const DType arithmetic_;  ///< of all other operations
  Graph graph_;
  std::map<std::string, int> lines_;
  std::map<std::string, int> known_;
  Bindings bindings_;
  bool in_limits_ = false;                 ///< definitions expand to what they give in their limits
  bool has_limits_ = false;                ///< some definition has limits
  const Expr* root_expression_ = nullptr;  ///< of the line that is being compiled
};

}  // namespace assay
