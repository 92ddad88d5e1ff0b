#include "kernels_under_test/delimited.hpp"

#include <algorithm>

namespace assay {
namespace {

bool has_dimension(const OperandSpec& operand, std::string_view dimension) {
  return std::any_of(operand.shape.begin(), operand.shape.end(),
                     [&](const Dimension& d) { return d.name == dimension; });
}

/// `n < sums[...]`, alone or under &&.
void collect(const Contract& contract, const OperandSpec& operand, const Expr& live,
             std::string_view sequences, std::vector<DelimitedDimension>& out) {
  if (live.kind != Expr::Kind::binary) return;
  const Expr& left = *live.operands[0];
  const Expr& right = *live.operands[1];
  if (live.text == "&&") {
    collect(contract, operand, left, sequences, out);
    collect(contract, operand, right, sequences, out);
    return;
  }
  if (live.text != "<" || left.kind != Expr::Kind::name || right.kind != Expr::Kind::index) return;
  const OperandSpec* const sums = contract.find_operand(right.operands[0]->text);
  if (sums == nullptr || !sums_along(contract, *sums, sequences)) return;
  const bool known = std::any_of(out.begin(), out.end(), [&](const DelimitedDimension& one) {
    return one.dimension == left.text;
  });
  if (!known && has_dimension(operand, left.text)) out.push_back({left.text, sums});
}

}  // namespace

bool sums_along(const Contract& contract, const OperandSpec& operand, std::string_view sequences) {
  if (operand.prefix_sum_of.empty()) return false;
  const OperandSpec* const lengths = contract.find_operand(operand.prefix_sum_of);
  return lengths != nullptr && has_dimension(*lengths, sequences);
}

std::vector<DelimitedDimension> delimited_dimensions(const Contract& contract,
                                                     std::string_view sequences) {
  std::vector<DelimitedDimension> out;
  for (const OperandSpec& operand : contract.args) {
    if (operand.live) collect(contract, operand, *operand.live, sequences, out);
  }
  return out;
}

}  // namespace assay
