// Checks of the formula that need names only, so that the user sees them before anything runs.
#include <algorithm>
#include <map>
#include <set>

#include "kernels_under_test/contract_parts.hpp"
#include "kernels_under_test/formula_functions.hpp"
#include "kernels_under_test/relations.hpp"

namespace assay {
namespace {

using Names = std::vector<std::string>;

[[noreturn]] void fail(const Expr& node, const std::string& message) {
  throw InputError(node.where, message);
}

Names names_of_formula_functions() {
  Names names;
  for (const FormulaFunction& function : kFormulaFunctions) names.emplace_back(function.name);
  return names;
}

/// The functions nearest to a name: all of them are more than a line holds.
std::string nearest_functions(const std::string& name) {
  Names names = names_of_formula_functions();
  const std::string near = nearest_name(name, names);
  if (!near.empty() && edit_distance(name, near) < static_cast<int>(name.size()))
    return suggestion(name, names);
  constexpr size_t kShown = 3;
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return edit_distance(name, a) < edit_distance(name, b);
  });
  names.resize(std::min(names.size(), kShown));
  return "; the nearest are " + joined(names) + ", and docs/contract.md lists all";
}

/// The nearest name that shares something with it; "" where none does.
std::string sharing_name(const std::string& name, const Names& candidates) {
  const std::string near = nearest_name(name, candidates);
  return edit_distance(name, near) < static_cast<int>(std::max(name.size(), near.size())) ? near
                                                                                          : "";
}

class FormulaChecker {
 public:
  explicit FormulaChecker(const Contract& contract) : contract_(contract) {
    dimensions_ = names_of_dimensions(contract);
    for (const SizeSpec& size : contract.sizes) add_once(dimensions_, size.name);
    for (const NamedExpr& derived : contract.derive) add_once(dimensions_, derived.name);
    values_ = dimensions_;
    for (const Knob& knob : contract.knobs) values_.push_back(knob.name);
    values_.insert(values_.end(), contract.flags.begin(), contract.flags.end());
    for (const FormulaLine& line : contract.formula) lines_.push_back(line.name);
    types_ = names_of_types(contract);
  }

  void check() {
    check_left_sides();
    for (const FormulaLine& line : contract_.formula) {
      for (const auto& [dimension, index] : line.scatter) visit(*index);
      check_combination(line);
      visit(*line.expr);
      defined_.insert(line.name);
    }
    check_relations();
    check_all_used();
  }

 private:
  static void add_once(Names& names, const std::string& name) {
    if (!contains(names, name)) names.push_back(name);
  }

  void check_left_sides() const {
    std::set<std::string> seen;
    for (const FormulaLine& line : contract_.formula) {
      if (!seen.insert(line.name).second)
        throw InputError(line.where, "'" + line.name + "' has a formula already");
      const OperandSpec* operand = contract_.find_operand(line.name);
      if (operand != nullptr && operand->is_judged()) {
        check_scatter(line, *operand);
        continue;
      }
      if (operand != nullptr)
        throw InputError(line.where,
                         "'" + line.name + "' is no output: a formula cannot define it");
      if (!line.scatter.empty())
        throw InputError(line.where,
                         "only an output can be indexed on the left; '" + line.name + "' is none");
      if (contains(values_, line.name) || contains(types_, line.name) || parse_dtype(line.name))
        throw InputError(line.where, "'" + line.name + "' is taken: a formula cannot define it");
    }
    for (const OracleSpec& oracle : contract_.oracles)
      for (const OracleRole& role : oracle.roles) {
        if (find_role(*find_relation_form(oracle.op), role.name)->form != RoleForm::output)
          continue;
        if (!seen.insert(role.text).second)
          throw InputError(role.where, "'" + role.text + "' is judged already");
      }
    for (const OperandSpec& operand : contract_.args)
      if (operand.is_judged() && seen.count(operand.name) == 0)
        throw InputError(operand.where, "output '" + operand.name + "' has no line in [formula]" +
                                            misspelt_line(operand.name));
  }

  /// A line that names nothing else and is near to an output's name.
  std::string misspelt_line(const std::string& output) const {
    Names others;
    for (const FormulaLine& line : contract_.formula)
      if (contract_.find_operand(line.name) == nullptr) others.push_back(line.name);
    const std::string near = sharing_name(output, others);
    return near.empty() ? "" : " (is '" + near + "' meant to be it?)";
  }

  /// `"y[m = idx]" = "max(x)"`: of what combines the writers of an element there is `add` alone.
  static void check_combination(const FormulaLine& line) {
    const Expr& right = *line.expr;
    if (line.scatter.empty() || right.kind != Expr::Kind::call || right.operands.size() != 1)
      return;
    const FormulaFunction* function = find_formula_function(right.text);
    const bool combines = function != nullptr && (function->form == FormulaForm::reduction ||
                                                  function->form == FormulaForm::reduction_or_pair);
    if (!combines) return;
    fail(right, "only 'add(" + to_text(*right.operands[0]) +
                    ")' may combine what several indices write to one element, not '" + right.text +
                    "'");
  }

  void check_relations() {
    for (const OracleSpec& oracle : contract_.oracles)
      for (const OracleRole& role : oracle.roles)
        if (find_role(*find_relation_form(oracle.op), role.name)->form == RoleForm::value)
          visit(*role.expr);
  }

  void check_scatter(const FormulaLine& line, const OperandSpec& operand) const {
    Names own;
    for (const Dimension& dimension : operand.shape)
      if (!dimension.name.empty()) own.push_back(dimension.name);
    for (const auto& [dimension, index] : line.scatter)
      if (!contains(own, dimension))
        fail(*index, "'" + operand.name + "' has no dimension '" + dimension + "'" +
                         suggestion(dimension, own));
  }

  void check_all_used() const {
    for (const FormulaLine& line : contract_.formula) {
      const OperandSpec* operand = contract_.find_operand(line.name);
      const bool output = operand != nullptr && operand->is_judged();
      if (!output && used_.count(line.name) == 0)
        throw InputError(line.where, "formula line '" + line.name +
                                         "' is used by no output and no later line" +
                                         nearest_output(line.name));
    }
  }

  std::string nearest_output(const std::string& name) const {
    Names outputs;
    for (const OperandSpec& operand : contract_.args)
      if (operand.is_judged()) outputs.push_back(operand.name);
    const std::string near = sharing_name(name, outputs);
    return near.empty() ? "" : " (did you mean '" + near + "'?)";
  }

  void visit(const Expr& node) {
    switch (node.kind) {
      case Expr::Kind::name:
        return visit_name(node);
      case Expr::Kind::member:
        return visit_member(node);
      case Expr::Kind::index:
        return visit_gather(node);
      case Expr::Kind::call:
        return visit_call(node);
      default:
        if (compares_types(node)) return;
        for (const ExprPtr& operand : node.operands) visit(*operand);
    }
  }

  /// `S == f32`: decided when the formula is compiled.
  bool compares_types(const Expr& node) const {
    if (node.kind != Expr::Kind::binary || (node.text != "==" && node.text != "!=")) return false;
    if (!is_type(*node.operands[0]) && !is_type(*node.operands[1])) return false;
    for (const ExprPtr& operand : node.operands) check_type(*operand);
    return true;
  }

  bool is_type(const Expr& node) const {
    return node.kind == Expr::Kind::name &&
           (contains(types_, node.text) || parse_dtype(node.text).has_value());
  }

  void visit_name(const Expr& node) {
    const std::string& name = node.text;
    if (defined_.count(name) != 0) {
      used_.insert(name);
      return;
    }
    if (contains(values_, name)) return;
    const OperandSpec* operand = contract_.find_operand(name);
    if (operand != nullptr && operand->kind == OperandKind::inout)
      fail(node, "'" + name + "' is no value here: write '" + name +
                     ".before' for what the operand held, or define it in an earlier line");
    if (contains(lines_, name)) fail(node, "'" + name + "' is used before its own line");
    if (operand != nullptr && operand->kind == OperandKind::workspace)
      fail(node, "workspace '" + name + "' holds no value that a formula can use");
    if (operand != nullptr) return;
    if (contains(types_, name) || parse_dtype(name))
      fail(node,
           "'" + name +
               "' is a type, and stands only in round, quant, cast, qmax and comparisons of types");
    Names known = plus_operands(values_);
    known.insert(known.end(), defined_.begin(), defined_.end());
    fail(node, "unknown name '" + name + "' in a formula" + suggestion(name, known));
  }

  Names plus_operands(Names names) const {
    for (const OperandSpec& operand : contract_.args) names.push_back(operand.name);
    return names;
  }

  void visit_member(const Expr& node) const {
    const std::string text = to_text(node);
    Names known;
    for (const OperandSpec& operand : contract_.args)
      if (operand.kind == OperandKind::inout) known.push_back(operand.name + ".before");
    if (!contains(known, text))
      fail(*node.operands[0],
           "'" + text + "' is no value: '.before' is for inout operands" + suggestion(text, known));
  }

  // `table[V = idx]`; without labels, subscripts stand for the dimensions in order.
  void visit_gather(const Expr& node) {
    const Expr& base = *node.operands[0];
    visit(base);
    const Expr& named = base.kind == Expr::Kind::member ? *base.operands[0] : base;
    const OperandSpec* operand =
        named.kind == Expr::Kind::name ? contract_.find_operand(named.text) : nullptr;
    Names own = dimensions_;
    if (operand != nullptr) {
      own.clear();
      for (const Dimension& dimension : operand->shape) own.push_back(dimension.name);
      if (operand->kind == OperandKind::scalar)
        fail(base, "scalar '" + operand->name + "' has no elements");
    }
    std::set<std::string> labelled;
    size_t positional = 0;
    for (size_t i = 1; i < node.operands.size(); ++i) {
      const std::string& label = node.labels[i];
      visit(*node.operands[i]);
      if (label.empty()) {
        ++positional;
      } else if (!contains(own, label)) {
        fail(*node.operands[i],
             "'" + to_text(base) + "' has no dimension '" + label + "'" + suggestion(label, own));
      } else if (!labelled.insert(label).second) {
        fail(*node.operands[i], "dimension '" + label + "' is indexed twice");
      }
    }
    if (positional != 0 && !labelled.empty())
      fail(node, "name all dimensions of the subscripts or none");
    if (positional != 0 && operand == nullptr)
      fail(base, "name the dimensions: '" + to_text(base) + "[dimension = index]'");
    if (positional != 0 && positional != operand->shape.size())
      fail(base, "'" + operand->name + "' has " + counted(operand->shape.size(), "dimension") +
                     ", not " + std::to_string(positional));
  }

  void visit_call(const Expr& call) {
    const FormulaFunction* function = find_formula_function(call.text);
    if (function == nullptr)
      fail(call,
           "unknown function '" + call.text + "' in a formula" + nearest_functions(call.text));
    check_count(call, *function);
    switch (function->form) {
      case FormulaForm::elementwise:
        for (const ExprPtr& operand : call.operands) visit(*operand);
        return;
      case FormulaForm::reduction:
      case FormulaForm::scan:
        return visit_reduction(call);
      case FormulaForm::reduction_or_pair:
        if (call.operands.size() > 2 || is_dimension(*call.operands[1]))
          return visit_reduction(call);
        return visit_pair(call);
      case FormulaForm::typed:
        visit(*call.operands[0]);
        return check_type(*call.operands[1]);
      case FormulaForm::of_type:
        return check_type(*call.operands[0]);
      case FormulaForm::of_output:
        return check_given(*call.operands[0]);
      case FormulaForm::of_dimension:
        return check_dimension(*call.operands[0], "size");
    }
  }

  static void check_count(const Expr& call, const FormulaFunction& function) {
    const int count = static_cast<int>(call.operands.size());
    if (count >= function.min_arguments && count <= function.max_arguments) return;
    std::string expected = std::to_string(function.min_arguments);
    if (function.max_arguments > function.min_arguments)
      expected += " to " + std::to_string(function.max_arguments);
    const bool reduces = function.form == FormulaForm::reduction ||
                         function.form == FormulaForm::scan ||
                         function.form == FormulaForm::reduction_or_pair;
    std::string hint;
    if (reduces && count == 1)
      hint = ": name the dimension, '" + call.text + "(" + to_text(*call.operands[0]) +
             ", dimension)'";
    fail(call, "'" + call.text + "' takes " + expected + " argument" +
                   (expected == "1" ? "" : "s") + ", not " + std::to_string(count) + hint);
  }

  bool is_dimension(const Expr& node) const {
    return node.kind == Expr::Kind::name && contains(dimensions_, node.text) &&
           defined_.count(node.text) == 0;
  }

  void check_dimension(const Expr& node, const std::string& function) const {
    if (is_dimension(node)) return;
    const std::string text = to_text(node);
    fail(node,
         "unknown dimension '" + text + "' in '" + function + "'" + suggestion(text, dimensions_));
  }

  void visit_reduction(const Expr& call) {
    visit(*call.operands[0]);
    std::set<std::string> seen;
    for (size_t i = 1; i < call.operands.size(); ++i) {
      check_dimension(*call.operands[i], call.text);
      if (!seen.insert(call.operands[i]->text).second)
        fail(*call.operands[i], "dimension '" + call.operands[i]->text + "' stands twice");
    }
  }

  // max(a, b): a second name that is nothing known is more likely a misspelt dimension.
  void visit_pair(const Expr& call) {
    visit(*call.operands[0]);
    const Expr& second = *call.operands[1];
    const bool known = second.kind != Expr::Kind::name ||
                       contains(plus_operands(values_), second.text) ||
                       contains(lines_, second.text);
    if (!known) {
      Names candidates = plus_operands(dimensions_);
      candidates.insert(candidates.end(), defined_.begin(), defined_.end());
      fail(second, "unknown dimension or value '" + second.text + "' in '" + call.text + "'" +
                       suggestion(second.text, candidates));
    }
    visit(second);
  }

  void check_type(const Expr& node) const {
    if (is_type(node)) return;
    Names known = types_;
    for (int i = 0; i <= static_cast<int>(DType::i4); ++i)
      known.emplace_back(name(static_cast<DType>(i)));
    const std::string text = to_text(node);
    fail(node, "unknown type '" + text + "'" + suggestion(text, known));
  }

  void check_given(const Expr& node) const {
    Names outputs;
    for (const OperandSpec& operand : contract_.args)
      if (operand.is_judged()) outputs.push_back(operand.name);
    const std::string text = to_text(node);
    if (!contains(outputs, text))
      fail(node, "'given' needs an output, not '" + text + "'" + suggestion(text, outputs));
  }

  const Contract& contract_;
  Names dimensions_;  ///< of operands, and every size and derived value
  Names values_;      ///< dimensions, knobs and flags
  Names types_;
  Names lines_;
  std::set<std::string> defined_;
  std::set<std::string> used_;
};

}  // namespace

void check_formula(const Contract& contract) { FormulaChecker(contract).check(); }

}  // namespace assay
