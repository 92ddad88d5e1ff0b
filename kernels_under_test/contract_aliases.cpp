// `when`, `absent` and `may_alias`: whether an operand has memory, and whose.
#include <algorithm>

#include "kernels_under_test/contract_parts.hpp"

namespace assay {
namespace {

AliasTarget read_target(const std::string& name, const SourceLocation& where,
                        const std::vector<std::string>& operands, const OperandSpec& operand) {
  if (name == operand.name)
    throw InputError(where, "'" + name + "' lies in its own memory: an input's name is expected");
  if (!contains(operands, name))
    throw InputError(where, "unknown operand '" + name + "'" + suggestion(name, operands));
  return {name, where};
}

bool share_a_type(const OperandSpec& a, const OperandSpec& b, const Contract& contract) {
  const std::vector<DType> others = kinds_of(b.dtype, contract);
  for (const DType kind : kinds_of(a.dtype, contract))
    if (std::find(others.begin(), others.end(), kind) != others.end()) return true;
  return false;
}

/// "[rows, page: pages]"
std::string shape_text(const OperandSpec& operand) {
  std::string text;
  for (const Dimension& dimension : operand.shape) {
    const std::string extent = to_text(*dimension.extent);
    if (!text.empty()) text += ", ";
    if (!dimension.name.empty() && dimension.name != extent) text += dimension.name + ": ";
    text += extent;
  }
  return "[" + text + "]";
}

/// Strides that no case makes alike: literals that differ. Others are compared in each case.
bool strides_differ(const OperandSpec& a, const OperandSpec& b) {
  if (a.strides.size() != b.strides.size()) return false;
  for (size_t d = 0; d < a.strides.size(); ++d) {
    const Expr* mine = a.strides[d].value.get();
    const Expr* theirs = b.strides[d].value.get();
    if (mine == nullptr || theirs == nullptr) continue;
    if (mine->kind == Expr::Kind::integer && theirs->kind == Expr::Kind::integer &&
        mine->integer != theirs->integer)
      return true;
  }
  return false;
}

std::string overread_text(const OperandSpec& operand) {
  return operand.overread ? to_text(*operand.overread) : "0";
}

void check_shared(const OperandSpec& operand, const AliasTarget& target,
                  const Contract& contract) {
  const OperandSpec& other = *contract.find_operand(target.operand);
  const auto refuse = [&](const std::string& what) { throw InputError(target.where, what); };
  const std::string pair = "'" + operand.name + "' and '" + other.name + "'";
  if (other.kind != OperandKind::input && other.kind != OperandKind::index)
    refuse("'" + operand.name + "' may be written in an input's memory; '" + other.name +
           "' is no input");
  if (!share_a_type(operand, other, contract))
    refuse("operands that share memory have one type: " + pair + " never have");
  if (shape_text(operand) != shape_text(other))
    refuse("operands that share memory have one shape: '" + operand.name + "' has " +
           shape_text(operand) + ", '" + other.name + "' has " + shape_text(other));
  if (strides_differ(operand, other))
    refuse("operands that share memory have the same strides: those of " + pair + " differ");
  if (operand.overread && overread_text(operand) != overread_text(other))
    refuse("operands that share memory have the same 'overread': that of " + pair + " differs");
}

}  // namespace

void read_presence(const TableReader& table, const std::vector<std::string>& operands,
                   OperandSpec& operand) {
  operand.when = table.expression("when");
  const TomlValue* absent = table.find("absent");
  if (absent == nullptr) return;
  const std::string& text = expect_string(*absent, "'absent' of '" + operand.name + "'");
  if (operand.when == nullptr)
    throw InputError(absent->where, "'absent' of '" + operand.name + "' needs 'when'");
  if (text.rfind("alias:", 0) == 0) {
    operand.absent = Absent::alias;
    operand.alias =
        read_target(text.substr(6), advanced(absent->text_where, text, 6), operands, operand);
    return;
  }
  operand.absent = expect_choice<Absent>(
      *absent, "'absent'",
      {{"null", Absent::null}, {"none", Absent::none}, {"alias:OPERAND", Absent::alias}});
}

void read_aliases(const TableReader& table, const std::vector<std::string>& operands,
                  OperandSpec& operand) {
  const TomlValue* list = table.find("may_alias");
  std::vector<std::string> seen;
  for (const std::string& name : table.strings("may_alias")) {
    const SourceLocation& where = list->items[seen.size()].text_where;
    if (contains(seen, name)) throw InputError(where, "'" + name + "' stands twice in 'may_alias'");
    operand.may_alias.push_back(read_target(name, where, operands, operand));
    seen.push_back(name);
  }
}

void check_aliases(const Contract& contract) {
  for (const OperandSpec& operand : contract.args) {
    for (const AliasTarget& target : operand.may_alias) check_shared(operand, target, contract);
    if (operand.absent != Absent::alias) continue;
    const OperandSpec* const other = contract.find_operand(operand.alias.operand);
    for (const OperandSpec* one : {&operand, other}) {
      if (one->kind == OperandKind::scalar)
        throw InputError(operand.alias.where,
                         "an absent operand is passed as another's pointer: '" + one->name +
                             "' is a scalar");
    }
  }
}

}  // namespace assay
