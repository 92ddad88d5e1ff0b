#include "kernels_under_test/live.hpp"

#include <algorithm>

namespace assay {
namespace {

constexpr const char* kForm =
    "; expected any(dimension == index && ..., D, ...), e.g. \"any(page == table[B, t / 16] && t < "
    "lens[B], B, t)\"";

void split_conjunction(const Expr& node, std::vector<const Expr*>& out) {
  if (node.kind == Expr::Kind::binary && node.text == "&&") {
    split_conjunction(*node.operands[0], out);
    split_conjunction(*node.operands[1], out);
  } else {
    out.push_back(&node);
  }
}

std::optional<size_t> axis_named(const OperandSpec& operand, const Expr& node) {
  for (size_t d = 0; d < operand.shape.size(); ++d)
    if (node.kind == Expr::Kind::name && node.text == operand.shape[d].name) return d;
  return std::nullopt;
}

bool mentions_axis(const OperandSpec& operand, const Expr& node) {
  const std::vector<std::string> names = names_in(node);
  return std::any_of(operand.shape.begin(), operand.shape.end(), [&](const Dimension& dimension) {
    return !dimension.name.empty() &&
           std::find(names.begin(), names.end(), dimension.name) != names.end();
  });
}

std::optional<LiveSomewhere::Address> address_of(const OperandSpec& operand, const Expr& part) {
  if (part.kind != Expr::Kind::binary || part.text != "==") return std::nullopt;
  for (const bool swapped : {false, true}) {
    const Expr& left = *part.operands[swapped ? 1 : 0];
    const Expr& right = *part.operands[swapped ? 0 : 1];
    const auto axis = axis_named(operand, left);
    if (axis && !mentions_axis(operand, right)) return LiveSomewhere::Address{*axis, &right};
  }
  return std::nullopt;
}

}  // namespace

std::optional<LiveSomewhere> live_somewhere(const OperandSpec& operand) {
  if (!operand.live) return std::nullopt;
  const Expr& any = *operand.live;
  if (any.kind != Expr::Kind::call || any.text != "any") return std::nullopt;
  if (any.operands.size() < 2)
    throw InputError(any.where, "'any' names no dimension" + std::string(kForm));
  LiveSomewhere out;
  for (size_t i = 1; i < any.operands.size(); ++i) {
    const Expr& dimension = *any.operands[i];
    if (dimension.kind != Expr::Kind::name || axis_named(operand, dimension) ||
        std::find(out.over.begin(), out.over.end(), dimension.text) != out.over.end())
      throw InputError(dimension.where, "'" + to_text(dimension) +
                                            "' is no dimension that 'any' can run over beside '" +
                                            operand.name + "'" + kForm);
    out.over.push_back(dimension.text);
  }
  std::vector<const Expr*> parts;
  split_conjunction(*any.operands[0], parts);
  for (const Expr* part : parts) {
    if (const auto address = address_of(operand, *part)) {
      const auto same = [&](const auto& other) { return other.axis == address->axis; };
      if (std::any_of(out.addresses.begin(), out.addresses.end(), same))
        throw InputError(part->where, "a second index for '" +
                                          operand.shape[address->axis].name + "'" + kForm);
      out.addresses.push_back(*address);
    } else if (mentions_axis(operand, *part)) {
      throw InputError(part->where, "'" + to_text(*part) + "' names an element of '" +
                                        operand.name + "' by more than an equality" + kForm);
    } else {
      out.conditions.push_back(part);
    }
  }
  if (out.addresses.empty())
    throw InputError(any.where, "'any' names no element of '" + operand.name + "'" + kForm);
  return out;
}

}  // namespace assay
