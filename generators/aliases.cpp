#include "generators/aliases.hpp"

#include <algorithm>

#include "generators/draft.hpp"

namespace assay {
namespace {

/// A stride of this many elements is there for its far offsets: an alias does not undo it.
constexpr int64_t kFarStride = int64_t{1} << 20;

bool has_far_stride(const Case& c, const std::string& operand) {
  const auto found = c.layouts.find(operand);
  if (found == c.layouts.end()) return false;
  const std::vector<int64_t>& strides = found->second.strides;
  return std::any_of(strides.begin(), strides.end(),
                     [](int64_t stride) { return stride >= kFarStride; });
}

}  // namespace

std::string alias_problem(const Instance& instance, const std::string& operand,
                          const std::string& memory) {
  const Tensor* const tensor = instance.find(operand);
  const Tensor* const owner = instance.find(memory);
  const std::vector<AliasTarget>& admitted = tensor->spec->may_alias;
  if (std::none_of(admitted.begin(), admitted.end(),
                   [&](const AliasTarget& target) { return target.operand == memory; }))
    return "the contract does not say that '" + operand + "' may lie in the memory of '" + memory +
           "': its 'may_alias' " + (admitted.empty() ? "is not there" : "names others");
  for (const Tensor* one : {tensor, owner}) {
    if (!one->present) return "'" + one->spec->name + "' is absent in this case: it has no memory";
  }
  if (tensor->dtype != owner->dtype)
    return "operands that share memory have one type: '" + operand + "' is " +
           std::string(name(tensor->dtype)) + ", '" + memory + "' is " +
           std::string(name(owner->dtype));
  const Tensor& writer = instance.writer_of(*owner);
  if (&writer != owner)
    return "'" + writer.spec->name + "' lies in the memory of '" + memory + "' already";
  return "";
}

std::pair<std::string, std::string> shared_statement(const Case& c) {
  for (const auto& [operand, memory] : c.aliases) {
    const std::string why =
        "'" + operand + "' lies in the memory of '" + memory + "': only '" + memory + "' takes ";
    if (c.layouts.contains(operand)) return {why + "a layout", "layout." + operand};
    if (c.values.contains(operand)) return {why + "values", "values." + operand};
    for (size_t i = 0; i < c.overrides.size(); ++i) {
      if (c.overrides[i].operand == operand) return {why + "values", "set." + std::to_string(i)};
    }
  }
  return {};
}

std::string layout_key(const Tensor& tensor) {
  return (tensor.is_shared() ? "alias." : "layout.") + tensor.spec->name;
}

void fit_aliases(Case& c) {
  for (const auto& [operand, memory] : c.aliases) {
    c.layouts.erase(operand);
    c.values.erase(operand);
    std::erase_if(c.overrides, [&name = operand](const PointOverride& point) {
      return point.operand == name;
    });
  }
}

bool put_in_place(const Contract& contract, const std::string& operand, const std::string& memory,
                  Case& c) {
  Case shared = c;
  shared.aliases[operand] = memory;
  fit_aliases(shared);
  if (!if_valid(contract, shared)) {
    if (has_far_stride(c, memory)) return false;
    shared.layouts.erase(memory);
    if (!if_valid(contract, shared)) return false;
  }
  c = std::move(shared);
  return true;
}

void draw_aliases(const Contract& contract, double share, Random& random, Case& c) {
  for (const OperandSpec& operand : contract.args) {
    if (operand.may_alias.empty() || !random.chance(share)) continue;
    if (c.aliases.erase(operand.name) > 0) continue;
    put_in_place(contract, operand.name, random.pick(operand.may_alias).operand, c);
  }
}

void add_in_place(const Contract& contract, std::vector<Case>& out) {
  constexpr int kEach = 8;
  const size_t ordinary = out.size();
  for (const OperandSpec& operand : contract.args) {
    for (size_t t = 0; t < operand.may_alias.size(); ++t) {
      int made = 0;
      // Neighbours differ in their variant.
      for (size_t i = t; i < ordinary && made < kEach; ++i) {
        Case c = out[i];
        const std::optional<Instance> apart = if_valid(contract, c);
        if (!apart || apart->find(operand.name)->elements() == 0) continue;
        if (!put_in_place(contract, operand.name, operand.may_alias[t].operand, c)) continue;
        out.push_back(std::move(c));
        ++made;
      }
    }
  }
}

}  // namespace assay
