// Estimates what a case costs: output elements, terms of the largest reduction, threads.
#include <algorithm>
#include <string_view>

#include "generators/generate.hpp"
#include "generators/values.hpp"

namespace assay {
namespace {

/// Counts the terms of a formula's reductions by the dimensions that each value has, as sets of
/// bits.
class TermCounter {
 public:
  TermCounter(const Instance& instance, const std::vector<std::string>& reduced)
      : instance_(instance), reduced_(reduced) {}

  double most_terms() {
    for (const FormulaLine& line : instance_.contract->formula) {
      if (!line.expr) continue;
      uint32_t dims = walk(*line.expr);
      for (const auto& [dimension, index] : line.scatter) dims |= walk(*index);
      if (!line.scatter.empty()) most_ = std::max(most_, volume(dims));
      lines_.emplace_back(line.name, dims);
    }
    for (const OracleSpec& oracle : instance_.contract->oracles) {
      for (const OracleRole& role : oracle.roles) {
        if (role.expr) most_ = std::max(most_, volume(walk(*role.expr)));
      }
    }
    return most_;
  }

 private:
  double volume(uint32_t dims) const {
    double elements = 1;
    for (size_t i = 0; i < dims_.size(); ++i) {
      if ((dims >> i & 1) != 0) elements *= static_cast<double>(dims_[i].second);
    }
    return elements;
  }

  uint32_t bit_of(std::string_view dimension, int64_t extent) {
    if (const uint32_t known = known_bit(dimension); known != 0) return known;
    if (dims_.size() == 32) return 0;
    dims_.emplace_back(dimension, extent);
    return uint32_t{1} << (dims_.size() - 1);
  }

  /// The bit of a dimension that was met; 0: it was not.
  uint32_t known_bit(std::string_view dimension) const {
    for (size_t i = 0; i < dims_.size(); ++i) {
      if (dims_[i].first == dimension) return uint32_t{1} << i;
    }
    return 0;
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
    // The index of a dimension: of an operand, or of a reduction. Any other size is a plain number.
    for (const Tensor& other : instance_.tensors) {
      for (size_t d = 0; d < other.shape.size(); ++d) {
        if (other.dims[d] == name) return bit_of(other.dims[d], other.shape[d]);
      }
    }
    const auto size = instance_.names.find(name);
    const bool is_reduced = std::find(reduced_.begin(), reduced_.end(), name) != reduced_.end();
    return size != instance_.names.end() && is_reduced ? bit_of(size->first, size->second) : 0;
  }

  /// A gather has the dimensions of its operand that no index subscripts, and those of the indices.
  uint32_t gathered(const Expr& node) {
    uint32_t all = walk(*node.operands[0]);
    for (const std::string& label : node.labels) all &= ~known_bit(label);
    for (size_t i = 1; i < node.operands.size(); ++i) all |= walk(*node.operands[i]);
    return all;
  }

  uint32_t walk(const Expr& node) {
    if (node.kind == Expr::Kind::index) return gathered(node);
    if (node.kind == Expr::Kind::name) return named(node.text);
    if (node.kind == Expr::Kind::member) return named(node.operands[0]->text);
    uint32_t all = 0, reduced = 0;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const Expr& operand = *node.operands[i];
      const bool is_dimension = node.kind == Expr::Kind::call && i > 0 &&
                                operand.kind == Expr::Kind::name && !is_operand(operand.text);
      (is_dimension ? reduced : all) |= walk(operand);
    }
    if (reduced == 0) return all;
    most_ = std::max(most_, volume(all | reduced));
    return all & ~reduced;
  }

  const Instance& instance_;
  const std::vector<std::string>& reduced_;
  std::vector<std::pair<std::string_view, int64_t>> dims_;
  std::vector<std::pair<std::string_view, uint32_t>> lines_;
  double most_ = 0;
};

/// An inout operand that is written by index: what no index names costs nothing.
bool keeps_most(const Contract& contract, const Tensor& tensor) {
  if (tensor.spec->kind != OperandKind::inout) return false;
  return std::any_of(contract.formula.begin(), contract.formula.end(), [&](const auto& line) {
    return line.name == tensor.spec->name && !line.scatter.empty();
  });
}

}  // namespace

int64_t work_estimate(const Instance& instance) {
  return work_estimate(instance, reduced_dimensions(*instance.contract));
}

int64_t work_estimate(const Instance& instance, const std::vector<std::string>& reduced) {
  const std::vector<int64_t>& blocks = instance.the_case.blocks;
  double owned = 0, whole = 0;
  for (const Tensor& tensor : instance.tensors) {
    if (tensor.is_scalar() || !tensor.present || !tensor.is_judged()) continue;
    if (keeps_most(*instance.contract, tensor)) continue;
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
  const double terms = TermCounter(instance, reduced).most_terms() * share;
  return static_cast<int64_t>(std::min(owned + terms + threads, 9e18));
}

}  // namespace assay
