#include "oracles/elementwise.hpp"

#include <algorithm>

#include "oracles/graph.hpp"

namespace assay {
namespace {

class ElementwiseCheck {
 public:
  ElementwiseCheck(const Contract& contract, const Variant& variant)
      : contract_(contract), graph_(compile_formula(contract, variant)) {}

  std::vector<int> run() {
    if (!graph_.relations.empty()) {
      fail(contract_.oracles.front().where, "a relation judges some of its outputs");
    }
    for (const FormulaRoot& root : graph_.roots) check_root(root);
    const FormulaLine& line = contract_.formula.front();
    if (operands_.empty()) fail(line.where, "no operand feeds it");
    if (operands_.size() > 2) {
      std::string names;
      for (const int operand : operands_) {
        names +=
            (names.empty() ? "'" : ", '") + contract_.args[static_cast<size_t>(operand)].name + "'";
      }
      fail(line.where, "it is a function of more than two operands: " + names);
    }
    std::sort(operands_.begin(), operands_.end());
    return operands_;
  }

 private:
  [[noreturn]] void fail(const SourceLocation& where, const std::string& why) const {
    const SourceLocation& place = where.line > 0 ? where : line_;
    throw InputError(place, "'" + contract_.name + "' is not elementwise: " + why);
  }

  void check_root(const FormulaRoot& root) {
    for (const FormulaLine& line : contract_.formula)
      if (line.name == root.output) line_ = line.where;
    output_ = &contract_.args[static_cast<size_t>(root.operand)];
    if (root.scatters) fail(line_, "'" + root.output + "' is written where indices say");
    std::vector<bool> reached(graph_.nodes.size(), false);
    const int top = root.raw_node >= 0 ? root.raw_node : root.node;
    reached[static_cast<size_t>(top)] = true;
    for (int id = top; id >= 0; --id) {
      if (!reached[static_cast<size_t>(id)]) continue;
      const Node& node = graph_.nodes[static_cast<size_t>(id)];
      check_node(node);
      for (const int arg : node.args) reached[static_cast<size_t>(arg)] = true;
    }
  }

  void check_node(const Node& node) {
    const auto dimension = [&](int dim) {
      return "'" + graph_.dims[static_cast<size_t>(dim)] + "'";
    };
    if (!node.reduced.empty()) fail(node.where_, "it reduces over " + dimension(node.reduced[0]));
    if (node.op == Op::dim_index) {
      fail(node.where_, "it depends on the index along " + dimension(node.dims[0]));
    }
    if (node.op == Op::extent) fail(node.where_, "it depends on an extent");
    if (node.op != Op::load && node.op != Op::gather) return;
    const OperandSpec& operand = contract_.args[static_cast<size_t>(node.operand)];
    if (node.op == Op::gather) {
      fail(node.where_, "'" + operand.name + "' is read at another place than '" + output_->name +
                            "' is written");
    }
    if (node.from_output) fail(node.where_, "it is judged by what the kernel wrote to an output");
    check_same_shape(node, operand);
    if (std::find(operands_.begin(), operands_.end(), node.operand) == operands_.end()) {
      operands_.push_back(node.operand);
    }
  }

  void check_same_shape(const Node& node, const OperandSpec& operand) const {
    bool same = operand.shape.size() == output_->shape.size();
    for (size_t d = 0; same && d < operand.shape.size(); ++d) {
      same = !operand.shape[d].name.empty() && operand.shape[d].name == output_->shape[d].name;
    }
    if (!same) {
      fail(node.where_, "'" + operand.name + "' has not the dimensions of '" + output_->name +
                            "', in their order");
    }
  }

  const Contract& contract_;
  const Graph graph_;
  SourceLocation line_;
  const OperandSpec* output_ = nullptr;
  std::vector<int> operands_;
};

}  // namespace

std::vector<int> elementwise_operands(const Contract& contract, const Variant& variant) {
  if (contract.formula.empty()) {
    throw InputError({contract.path}, "'" + contract.name + "' has no formula");
  }
  return ElementwiseCheck(contract, variant).run();
}

}  // namespace assay
