// Outputs that are judged by what the kernel wrote to others: `given` must lead to something that
// is judged by itself.
#include <map>
#include <set>

#include "kernels_under_test/contract_parts.hpp"

namespace assay {
namespace {

/// `given(...)` of each output, in the formula of an output or line, and where.
using Given = std::map<std::string, const Expr*>;

class GivenOutputs {
 public:
  explicit GivenOutputs(const Contract& contract) {
    for (const FormulaLine& line : contract.formula) {
      Given found;
      for (const auto& [dimension, index] : line.scatter) collect(*index, found);
      collect(*line.expr, found);
      lines_[line.name] = std::move(found);
    }
    for (const OracleSpec& oracle : contract.oracles) add_relation(oracle);
  }

  void check() const {
    for (const auto& [output, given] : lines_)
      for (const auto& [other, where] : given) {
        if (other == output)
          throw InputError(where->where, "'" + output + "' is judged by itself: 'given(" + output +
                                             ")' stands in its own formula, which holds whatever "
                                             "the kernel wrote");
        std::set<std::string> seen;
        if (leads_to(other, output, seen))
          throw InputError(where->where, "'" + output + "' is judged by itself: 'given(" + other +
                                             ")' stands in its formula, and '" + other +
                                             "' is judged by 'given(" + output + ")' in turn");
      }
  }

 private:
  /// Lines that are named bring what they are made of.
  void collect(const Expr& node, Given& found) const {
    if (node.kind == Expr::Kind::call && node.text == "given" && node.operands.size() == 1) {
      found.emplace(node.operands[0]->text, node.operands[0].get());
      return;
    }
    if (node.kind == Expr::Kind::name)
      if (const auto line = lines_.find(node.text); line != lines_.end())
        found.insert(line->second.begin(), line->second.end());
    for (const ExprPtr& operand : node.operands) collect(*operand, found);
  }

  /// The outputs of a relation follow from its expressions; draws that must be independent of
  /// others do not.
  void add_relation(const OracleSpec& oracle) {
    Given found;
    for (const OracleRole& role : oracle.roles)
      if (role.expr != nullptr && role.name != "independent_of") collect(*role.expr, found);
    for (const OracleRole& role : oracle.roles)
      if (role.expr == nullptr && !role.text.empty()) lines_.emplace(role.text, found);
  }

  bool leads_to(const std::string& from, const std::string& output,
                std::set<std::string>& seen) const {
    const auto line = lines_.find(from);
    if (line == lines_.end() || !seen.insert(from).second) return false;
    for (const auto& [other, where] : line->second)
      if (other == output || leads_to(other, output, seen)) return true;
    return false;
  }

  std::map<std::string, Given> lines_;
};

}  // namespace

void check_given_outputs(const Contract& contract) { GivenOutputs(contract).check(); }

}  // namespace assay
