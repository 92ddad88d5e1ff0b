#include "fuzz/starting_cases.hpp"

#include <algorithm>
#include <map>

#include "compilers/program.hpp"
#include "devices/ptx/code.hpp"
#include "generators/generate.hpp"
#include "generators/pairwise.hpp"

namespace assay {

namespace {

constexpr int64_t kLeastConstant = 258;  // smaller batches are common (docs/properties.md)
constexpr int64_t kMostConstant = 1 << 20;

/// The size that is an argument's whole value; "" for any other.
std::string size_of_argument(const Contract& contract, const OperandSpec& operand) {
  if (operand.kind != OperandKind::scalar || !operand.value) return "";
  if (operand.value->kind != Expr::Kind::name) return "";
  const bool is_size = std::any_of(
      contract.sizes.begin(), contract.sizes.end(),
      [&](const SizeSpec& size) { return size.name == operand.value->text; });
  return is_size ? operand.value->text : "";
}

/// Sizes by the parameters that carry them; "" for others.
std::vector<std::string> parameter_sizes(const Contract& contract, const LaunchSpec& launch) {
  std::vector<std::string> out;
  for (const OperandSpec& operand : contract.args) {
    if (launch.args.empty()) out.push_back(size_of_argument(contract, operand));
    // One that is left out moves those behind it.
    if (operand.when && operand.absent == Absent::none) return {};
  }
  for (const std::string& name : launch.args) {
    out.push_back(size_of_argument(contract, *contract.find_operand(name)));
  }
  return out;
}

/// What a function compares its parameters with.
void collect_constants(const ptx::Function& entry, const std::vector<std::string>& sizes,
                       SizeValues& out) {
  using Kind = ptx::Value::Kind;
  std::map<int32_t, std::string> holds;  // by register
  const auto held = [&](const ptx::Value& value) {
    const auto at = value.kind == Kind::reg ? holds.find(value.index) : holds.end();
    return at == holds.end() ? std::string() : at->second;
  };
  for (const ptx::Instruction& one : entry.code) {
    if (one.src.empty() || one.dst.size() != 1) continue;
    const ptx::Value& first = one.src[0];
    std::string size;
    if (one.op == ptx::Op::ld && first.kind == Kind::param && first.offset == 0) {
      const auto at = static_cast<size_t>(first.index);
      if (at < sizes.size()) size = sizes[at];
    } else if (one.op == ptx::Op::mov || one.op == ptx::Op::cvt) {
      size = held(first);
    } else if (one.op == ptx::Op::setp && one.src.size() == 2) {
      const ptx::Value& second = one.src[1];
      const bool swapped = first.kind == Kind::immediate;
      const std::string name = held(swapped ? second : first);
      const ptx::Value& constant = swapped ? first : second;
      if (name.empty() || constant.kind != Kind::immediate) continue;
      const auto value = static_cast<int64_t>(constant.bits);
      if (value < kLeastConstant || value > kMostConstant) continue;
      std::vector<int64_t>& values = out[name];
      if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
      continue;
    }
    if (!size.empty()) holds[one.dst[0].index] = size;
  }
}

}  // namespace

SizeValues compared_sizes(const Contract& contract) {
  SizeValues out;
  const std::vector<Variant> variants = pairwise_variants(contract);
  if (variants.empty()) return out;
  try {
    for (size_t launch = 0; launch < contract.launches.size(); ++launch) {
      const Program program = compile(contract, variants.front(), static_cast<int>(launch));
      const ptx::Module module = ptx::decode(program.ptx, program.source);
      const std::vector<std::string> sizes = parameter_sizes(contract, contract.launches[launch]);
      for (const ptx::Function& function : module.functions) {
        if (function.is_entry && function.name == program.entry)
          collect_constants(function, sizes, out);
      }
    }
  } catch (const InputError&) {  // the run itself says what is wrong
  } catch (const MissingDependency&) {
  }
  for (auto& [size, values] : out) std::sort(values.begin(), values.end());
  return out;
}

std::vector<Case> starting_cases(const Contract& contract) {
  std::vector<Case> cases = covering_cases(contract);
  const bool compares = std::any_of(
      contract.properties.begin(), contract.properties.end(),
      [](const Property& one) { return one.kind == PropertyKind::rows_independent; });
  if (!compares) return cases;
  for (Case& c : batches_past(contract, compared_sizes(contract))) cases.push_back(std::move(c));
  return cases;
}

}  // namespace assay
