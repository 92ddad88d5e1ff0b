// A contract's dtypes against the kernel's parameters: the mangled name tells the types of a
// compiled entry, its PTX those of scalars.
#include <set>

#include "compilers/compiled_signature.hpp"
#include "compilers/program.hpp"
#include "compilers/signature.hpp"
#include "devices/ptx/module.hpp"
#include "fuzz/findings.hpp"
#include "fuzz/lint.hpp"
#include "generators/pairwise.hpp"

namespace assay {

namespace {

/// Of an extern "C" kernel: what the source says.
std::vector<KernelParameter> written_parameters(const Contract& contract,
                                                const std::string& entry) {
  if (contract.source.language != Language::cuda) return {};
  for (KernelSignature& kernel : kernel_signatures(read_text(contract.source.path))) {
    if (kernel.name == entry && kernel.templates.empty()) return kernel.parameters;
  }
  return {};
}

/// Operands that a launch passes; those that may be left out make the count unsure: none then.
std::vector<const OperandSpec*> passed_operands(const Contract& contract,
                                                const LaunchSpec& launch) {
  std::vector<const OperandSpec*> out;
  if (!launch.args.empty()) {
    for (const std::string& name : launch.args) out.push_back(contract.find_operand(name));
    return out;
  }
  for (const OperandSpec& operand : contract.args) {
    if (operand.when && operand.absent == Absent::none) return {};
    out.push_back(&operand);
  }
  return out;
}

/// What is wrong between a pointer's type and a dtype; "" when nothing is sure. Kernels
/// reinterpret: bytes hold anything, unsigned words hold pairs of halves, so integers are only too
/// narrow.
std::string pointer_conflict(const KernelParameter& p, DType dtype) {
  const auto type = dtype_of_cxx(p.type);
  if (!type || byte_size(dtype) == 0) return "";
  const bool conflict = is_floating(*type) ? *type != dtype
                                           : lanes_of_cxx(p.type) == 1 && byte_size(*type) > 1 &&
                                                 byte_size(dtype) > byte_size(*type);
  if (!conflict) return "";
  return "is " + std::string(name(dtype)) + " here and " + p.type + "* in the kernel: expected " +
         std::string(name(*type));
}

std::string scalar_conflict(const ptx::Parameter& compiled, const KernelParameter* p, DType dtype) {
  const auto type = p != nullptr ? dtype_of_cxx(p->type) : std::nullopt;
  const bool known = type || compiled.type == ptx::Type::f32 || compiled.type == ptx::Type::f64 ||
                     compiled.type == ptx::Type::u32 || compiled.type == ptx::Type::u64;
  if (!known) return "";
  const bool floating = type ? is_floating(*type)
                             : compiled.type == ptx::Type::f32 || compiled.type == ptx::Type::f64;
  const bool conflict = floating != is_floating(dtype) || (type && floating && *type != dtype);
  if (!conflict) return "";
  const std::string wanted = type ? p->type : floating ? "a floating-point number" : "an integer";
  return "is " + std::string(name(dtype)) + " here and " + wanted + " in the kernel" +
         (type ? ": expected " + std::string(name(*type)) : "");
}

std::string alignment_conflict(const KernelParameter& p, const OperandSpec& operand) {
  const int lanes = lanes_of_cxx(p.type);
  const int bytes = alignment_of_cxx(p.type);
  if (lanes <= 1 || operand.align || bytes <= byte_size(*dtype_of_cxx(p.type))) return "";
  return "is " + p.type + "* in the kernel, which reads " + std::to_string(bytes) +
         " bytes at once: expected align = " + std::to_string(bytes);
}

}  // namespace

std::vector<Lint> signature_conflicts(const Contract& contract) {
  std::vector<Lint> out;
  std::set<std::string> looked_at, said;
  for (const Variant& variant : pairwise_variants(contract)) {
    for (size_t launch = 0; launch < contract.launches.size(); ++launch) {
      const auto operands = passed_operands(contract, contract.launches[launch]);
      const Program program = compile(contract, variant, static_cast<int>(launch));
      if (!looked_at.insert(program.key + program.entry + variant.text()).second) continue;
      const ptx::Module module = ptx::decode(program.ptx, program.source);
      const ptx::Function* entry = module.find(program.entry);
      if (entry == nullptr || entry->params.size() != operands.size()) continue;
      auto parameters = mangled_parameters(program.entry);
      if (parameters.empty()) parameters = written_parameters(contract, program.entry);
      const bool known = parameters.size() == operands.size();
      for (size_t i = 0; i < operands.size(); ++i) {
        const OperandSpec& operand = *operands[i];
        const DType dtype = resolve_dtype(operand, variant);
        const KernelParameter* p = known ? &parameters[i] : nullptr;
        std::string conflict;
        if (operand.kind == OperandKind::scalar) {
          if (p == nullptr || !p->pointer) conflict = scalar_conflict(entry->params[i], p, dtype);
        } else if (p != nullptr && p->pointer) {
          conflict = pointer_conflict(*p, dtype);
          if (conflict.empty()) conflict = alignment_conflict(*p, operand);
        }
        if (conflict.empty() || !said.insert(operand.name + conflict).second) continue;
        out.push_back({operand.where, "signature", "operand '" + operand.name + "' " + conflict});
      }
    }
  }
  return out;
}

}  // namespace assay
