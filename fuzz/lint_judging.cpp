// How a contract's outputs are judged: the table of accuracies that the kernel's own instructions
// call for, and inputs that are finite and of which the formula makes NaN.
#include <algorithm>
#include <cmath>
#include <set>

#include "compilers/program.hpp"
#include "devices/ptx/module.hpp"
#include "fuzz/check_case.hpp"
#include "fuzz/lint.hpp"
#include "fuzz/text_table.hpp"
#include "kernels_under_test/variants.hpp"
#include "oracles/graph.hpp"

namespace assay {

namespace {

/// Elements of a case that is looked at for NaN.
constexpr int64_t kMostElements = 1 << 16;

/// The first approximate instruction of a program: "ex2.approx.ftz.f32 at ew.cu:7"; "" where there
/// is none.
std::string approximate_instruction(const Program& program) {
  const ptx::Module module = ptx::decode(program.ptx, program.source);
  const ptx::Function* entry = module.find(program.entry);
  if (entry == nullptr) return "";
  for (const ptx::Instruction& one : entry->code) {
    if (!one.approx && !one.full) continue;
    if (one.line < 0) return one.spelling;
    const ptx::SourceLine& line = entry->lines[static_cast<size_t>(one.line)];
    const auto file = module.files.find(line.file);
    if (file == module.files.end()) return one.spelling;
    return one.spelling + " at " + file->second.substr(file->second.rfind('/') + 1) + ":" +
           std::to_string(line.line);
  }
  return "";
}

/// Whether every case passes that failed.
bool all_pass(const Contract& contract, const std::vector<Case>& cases) {
  const std::unique_ptr<Device> device = make_ptx_device();
  Checker checker(contract, *device);
  return std::all_of(cases.begin(), cases.end(),
                     [&](const Case& c) { return checker.check(c).findings.empty(); });
}

/// The case with every input that has no domain at one value; nullopt where nothing is changed.
std::optional<Case> all_at(const Contract& contract, const Case& from, double value) {
  Case c = from;
  c.overrides.clear();
  c.property = {};
  c.aliases.clear();
  c.blocks.clear();
  bool changed = false;
  const Variant variant = c.variant();
  for (const OperandSpec& operand : contract.args) {
    const bool is_read = operand.kind == OperandKind::input || operand.kind == OperandKind::inout;
    if (!is_read || !is_floating(resolve_dtype(operand, variant)) || !operand.domain.empty())
      continue;
    c.values[operand.name] = {"equal", {{"value", value}}};
    changed = true;
  }
  return changed ? std::optional(c) : std::nullopt;
}

/// The first judged element of a case that its formula makes NaN, "q[0, 3]"; "" where there is
/// none.
std::pair<std::string, std::string> nan_in(Checker& checker, const Case& c) {
  std::string output;
  int64_t logical = -1;
  JudgeOptions judging;
  judging.observer = [&](const Observation& o) {
    if (!output.empty() || !std::isnan(o.exact)) return;
    output = o.output.spec->name;
    logical = o.logical;
  };
  const CheckResult result = checker.check(c, case_options(), judging);
  if (output.empty()) return {};
  return {output, element_name(*result.instance, output, logical)};
}

/// An elementwise 0 / 0 is the reader's own; a row's sum or a scale that is 0 is easily forgotten.
bool may_surprise(const Contract& contract, const Variant& variant, const std::string& output) {
  const Graph graph = compile_formula(contract, variant);
  return std::any_of(graph.roots.begin(), graph.roots.end(), [&](const FormulaRoot& root) {
    if (root.output != output) return false;
    if (graph.reduces(root.node)) return true;
    for (int k = 0; k < root.node; ++k)
      if (graph.nodes[static_cast<size_t>(k)].from_output && graph.feeds(k, root.node)) return true;
    return false;
  });
}

int64_t elements_of(const Instance& instance) {
  int64_t elements = 0;
  for (const Tensor& tensor : instance.tensors)
    if (tensor.present && tensor.is_judged()) elements += tensor.elements();
  return elements;
}

}  // namespace

std::vector<Lint> fast_math_meant(const Contract& contract, const std::vector<Case>& failing) {
  if (contract.accuracy.math != MathMode::precise || failing.empty()) return {};
  const std::string instruction =
      approximate_instruction(compile(contract, failing.front().variant(), 0));
  if (instruction.empty()) return {};
  Contract fast = contract;
  fast.accuracy.math = MathMode::fast;
  if (!all_pass(fast, failing)) return {};
  return {{{contract.path},
           "accuracy",
           "the compiled kernel holds " + instruction + ", and " +
               (failing.size() == 1
                    ? "the case that fails passes"
                    : "all " + std::to_string(failing.size()) + " cases that fail pass") +
               " with math = \"fast\" under [accuracy]: state it if the approximations are meant"}};
}

std::vector<Lint> nan_of_finite_inputs(const Contract& contract, const std::vector<Case>& cases) {
  if (contract.policy.empty) return {};  // what a row of nothing gives is stated
  const std::set<std::string> on_purpose = marked_operands(contract, "# nan: ");
  const std::unique_ptr<Device> device = make_ptx_device();
  Checker checker(contract, *device);
  std::vector<Lint> out;
  std::set<std::string> said;
  std::set<std::pair<std::string, double>> looked_at;  // variants
  for (const Case& one : cases) {
    for (const double value : {0.0, 1.0}) {
      const std::optional<Case> c = all_at(contract, one, value);
      if (!c) return out;
      if (looked_at.contains({c->variant().text(), value})) continue;
      try {
        const int64_t elements = elements_of(instantiate(contract, *c, contract.path));
        if (elements == 0 || elements > kMostElements) continue;
        looked_at.insert({c->variant().text(), value});
        const auto [output, element] = nan_in(checker, *c);
        if (output.empty() || on_purpose.contains(output) || !said.insert(output).second) continue;
        const auto line = std::find_if(contract.formula.begin(), contract.formula.end(),
                                       [&](const FormulaLine& l) { return l.name == output; });
        if (line == contract.formula.end() || !may_surprise(contract, c->variant(), output))
          continue;
        out.push_back({line->where, "formula",
                       "NaN for finite inputs: with every input " +
                           std::string(value == 0 ? "0" : "1") + " the formula makes " + element +
                           " NaN; is that meant? If it is, a line `# nan: " + output +
                           ", because ...` says so"});
      } catch (const InputError&) {
        continue;  // this case cannot hold such values
      }
    }
  }
  return out;
}

}  // namespace assay
