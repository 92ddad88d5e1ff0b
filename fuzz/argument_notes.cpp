// The hint for a contract whose operands stand in another order than the kernel's parameters: then
// nearly every case touches memory wrongly, whatever the sizes.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "compilers/signature.hpp"
#include "fuzz/report.hpp"

namespace assay {

namespace {

constexpr int64_t kFewestCases = 8;
constexpr double kNearlyAll = 0.7;  // empty and tiny cases pass

std::string operands_text(const Contract& contract) {
  std::string text;
  for (const OperandSpec& operand : contract.args)
    text += (text.empty() ? "" : ", ") + operand.dtype +
            (operand.kind == OperandKind::scalar ? " " : "* ") + operand.name;
  return "(" + text + ")";
}

/// "(T* y, const T* x, int n)" as the source has it, spaces joined; "" when it is not found.
std::string signature_text(const Contract& contract) {
  const int line = find_entry_line(contract.source.path, contract.source.entry);
  std::ifstream in(contract.source.path);
  std::string text;
  for (int i = 1; i < line; ++i) std::getline(in, text);
  std::ostringstream rest;
  rest << in.rdbuf();
  text = rest.str();
  const std::string entry = contract.source.entry.substr(0, contract.source.entry.find('<'));
  const size_t named = text.find(entry.substr(entry.rfind(':') + 1) + "(");
  size_t at = line > 0 && named != std::string::npos ? text.find('(', named) : std::string::npos;
  std::string out;
  for (int depth = 0; at < text.size() && out.size() < 600; ++at) {
    const bool space = text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r';
    if (!space) out += text[at];
    if (space && !out.empty() && out.back() != ' ') out += ' ';
    depth += (text[at] == '(') - (text[at] == ')');
    if (depth == 0) return out;
  }
  return "";
}

bool same_kind(DType a, DType b) {
  return is_floating(a) == is_floating(b) && byte_size(a) == byte_size(b);
}

/// Whether each operand has the name, and as far as it is known the type, of the parameter in its
/// place: then nothing speaks for another order.
bool matches_source(const Contract& contract) {
  std::ifstream in(contract.source.path);
  std::ostringstream text;
  text << in.rdbuf();
  const std::string& entry = contract.source.entry;
  for (const KernelSignature& kernel : kernel_signatures(text.str())) {
    if (kernel.scope + kernel.name != entry.substr(0, entry.find('<'))) continue;
    return std::equal(
        contract.args.begin(), contract.args.end(), kernel.parameters.begin(),
        kernel.parameters.end(), [](const OperandSpec& operand, const KernelParameter& p) {
          const auto here = parse_dtype(operand.dtype), there = dtype_of_cxx(p.type);
          return operand.name == p.name && p.pointer == (operand.kind != OperandKind::scalar) &&
                 (!here || !there || same_kind(*here, *there));
        });
  }
  return false;
}

}  // namespace

void note_arguments(const Contract& contract, KernelReport& kernel) {
  const auto cases = static_cast<double>(kernel.cases);
  if (kernel.cases < kFewestCases ||
      static_cast<double>(kernel.wrong_memory) < kNearlyAll * cases ||
      contract.source.language != Language::cuda || contract.launches.size() != 1 ||
      matches_source(contract))
    return;
  const std::string signature = signature_text(contract);
  kernel.notes.insert(
      "nearly every case touches memory wrongly: check the order and the types of "
      "`args` against the kernel's parameters: args " +
      operands_text(contract) + (signature.empty() ? "" : ", kernel " + signature));
}

}  // namespace assay
