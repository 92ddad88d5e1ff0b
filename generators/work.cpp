// Estimates what a case costs: output elements, terms of the largest reduction, threads.
#include <algorithm>
#include <string_view>

#include "generators/generate.hpp"

namespace assay {
namespace {

/// Counts the terms of a formula's reductions by the dimensions that each value has, as sets of
/// bits.
class TermCounter {
 public:
  explicit TermCounter(const Instance& instance) : instance_(instance) {}

  double most_terms() {
    for (const FormulaLine& line : instance_.contract->formula) {
      if (!line.expr) continue;
      const uint32_t dims = walk(*line.expr);
      lines_.emplace_back(line.name, dims);
    }
    return most_;
  }

 private:
  uint32_t bit_of(std::string_view dimension, int64_t extent) {
    for (size_t i = 0; i < dims_.size(); ++i) {
      if (dims_[i].first == dimension) return uint32_t{1} << i;
    }
    if (dims_.size() == 32) return 0;
    dims_.emplace_back(dimension, extent);
    return uint32_t{1} << (dims_.size() - 1);
  }

  /// A tensor or a line of the formula; a scalar may carry a dimension's name.
  bool is_operand(const std::string& name) const {
    const Tensor* const tensor = instance_.find(name);
    return (tensor != nullptr && !tensor->is_scalar()) ||
           std::any_of(lines_.begin(), lines_.end(),
                       [&](const auto& line) { return line.first == name; });
  }

  uint32_t named(const std::string& name) {
    for (const auto& [line, dims] : lines_) {
      if (line == name) return dims;
    }
    uint32_t out = 0;
    const Tensor* const tensor = instance_.find(name);
    if (tensor != nullptr && !tensor->is_scalar()) {
      for (size_t d = 0; d < tensor->shape.size(); ++d) {
        if (!tensor->dims[d].empty()) out |= bit_of(tensor->dims[d], tensor->shape[d]);
      }
      return out;
    }
    const auto size = instance_.names.find(name);
    return size == instance_.names.end() ? 0 : bit_of(name, size->second);
  }

  uint32_t walk(const Expr& node) {
    if (node.kind == Expr::Kind::name) return named(node.text);
    if (node.kind == Expr::Kind::member) return named(node.operands[0]->text);
    uint32_t all = 0, reduced = 0;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const Expr& operand = *node.operands[i];
      const bool is_dimension = node.kind == Expr::Kind::call && i > 0 &&
                                operand.kind == Expr::Kind::name && !is_operand(operand.text);
      (is_dimension ? reduced : all) |= walk(operand);
    }
    if (node.kind == Expr::Kind::index) {
      for (const std::string& label : node.labels) {
        if (!label.empty()) all &= ~named(label);
      }
    }
    if (reduced == 0) return all;
    double terms = 1;
    for (size_t i = 0; i < dims_.size(); ++i) {
      if (((all | reduced) >> i & 1) != 0) terms *= static_cast<double>(dims_[i].second);
    }
    most_ = std::max(most_, terms);
    return all & ~reduced;
  }

  const Instance& instance_;
  std::vector<std::pair<std::string_view, int64_t>> dims_;
  std::vector<std::pair<std::string, uint32_t>> lines_;
  double most_ = 0;
};

}  // namespace

int64_t work_estimate(const Instance& instance) {
  const std::vector<int64_t>& blocks = instance.the_case.blocks;
  double owned = 0, whole = 0;
  for (const Tensor& tensor : instance.tensors) {
    if (tensor.is_scalar() || !tensor.present || !tensor.is_judged()) continue;
    const auto elements = static_cast<double>(tensor.elements());
    whole += elements;
    if (blocks.empty()) {
      owned += elements;
    } else {
      for (const Box& box : owned_elements(instance, tensor)) {
        owned += static_cast<double>(box.elements());
      }
    }
  }
  double threads = 0;
  for (const ResolvedLaunch& launch : instance.launches) {
    const double grid = static_cast<double>(launch.grid[0]) * static_cast<double>(launch.grid[1]) *
                        static_cast<double>(launch.grid[2]);
    const double block = static_cast<double>(launch.block[0]) *
                         static_cast<double>(launch.block[1]) *
                         static_cast<double>(launch.block[2]);
    threads += (blocks.empty() ? grid : static_cast<double>(blocks.size())) * block;
  }
  const double share = whole > 0 ? owned / whole : 1;
  const double terms = TermCounter(instance).most_terms() * share;
  return static_cast<int64_t>(std::min(owned + terms + threads, 9e18));
}

}  // namespace assay
