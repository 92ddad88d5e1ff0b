// What a run says about sizes that it never reached.
#include <algorithm>
#include <array>

#include "fuzz/report.hpp"
#include "generators/reach.hpp"

namespace assay {

namespace {

int64_t value_of(const std::map<std::string, int64_t>& values, const std::string& name) {
  const auto at = values.find(name);
  return at == values.end() ? 0 : at->second;
}

/// Why a few blocks of a large case cannot run by themselves; "" when they can.
std::string why_all_blocks(const Contract& contract) {
  if (contract.launches.size() != 1) return "with several launches every block of a case runs";
  for (const OperandSpec& operand : contract.args) {
    if (operand.is_judged() && contract.find_ownership(operand.name) == nullptr)
      return "without `owns` of " + operand.name + " every block of a case runs";
  }
  return "";
}

/// A place where 32-bit arithmetic goes wrong that the contract admits and no case passed.
bool misses_a_limit(int64_t ran, int64_t admitted, int64_t element_bytes) {
  constexpr int64_t k2To31 = int64_t{1} << 31;
  const std::array<int64_t, 3> limits{k2To31 / std::max<int64_t>(element_bytes, 1), k2To31,
                                      2 * k2To31};
  return std::any_of(limits.begin(), limits.end(),
                     [&](int64_t limit) { return ran < limit && admitted >= limit; });
}

int64_t least_bytes(const Contract& contract, const OperandSpec& operand) {
  for (const TypeParameter& type : contract.types) {
    if (type.name != operand.dtype) continue;
    int64_t least = 8;
    for (const DType kind : type.kinds) least = std::min<int64_t>(least, byte_size(kind));
    return least;
  }
  return byte_size(*parse_dtype(operand.dtype));
}

std::string unreached_operand(const Contract& contract, const KernelReport& kernel) {
  for (const OperandSpec& operand : contract.args) {
    if (operand.kind == OperandKind::scalar) continue;
    const int64_t admitted = most_elements(contract, operand);
    const int64_t ran = value_of(kernel.largest_operands, operand.name);
    if (misses_a_limit(ran, admitted, least_bytes(contract, operand)))
      return operand.name + " of " + std::to_string(ran) + " elements, admitted are " +
             std::to_string(admitted);
  }
  return "";
}

}  // namespace

void note_reach(const Contract& contract, KernelReport& kernel) {
  for (const std::string& note : reach_notes(contract)) kernel.notes.insert(note);
  if (kernel.judged == 0) return;
  std::string unreached;
  for (const SizeReach& reach : size_reaches(contract)) {
    const int64_t ran = value_of(kernel.largest_sizes, reach.size);
    if (!reach.possible || ran >= *reach.possible) continue;
    unreached += (unreached.empty() ? "" : ", ") + reach.size + " " + std::to_string(ran) + " of " +
                 std::to_string(*reach.possible);
  }
  if (unreached.empty()) unreached = unreached_operand(contract, kernel);
  if (unreached.empty()) return;
  const std::string why = why_all_blocks(contract);
  kernel.notes.insert("largest run: " + unreached + (why.empty() ? "" : " (" + why + ")"));
}

}  // namespace assay
