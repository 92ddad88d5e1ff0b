#include "fuzz/property_finding.hpp"

#include <algorithm>

#include "devices/ptx/code.hpp"
#include "fuzz/check_case.hpp"
#include "fuzz/text_table.hpp"

namespace assay {

namespace {

bool is_float(ptx::Type type) {
  return type == ptx::Type::f64 || type == ptx::Type::f32 || type == ptx::Type::f16 ||
         type == ptx::Type::bf16 || type == ptx::Type::f16x2 || type == ptx::Type::bf16x2;
}

}  // namespace

// Runs after every comparison, of which nearly all pass: text is made of what differs alone.
std::vector<std::string> differences(const Instance& own, const Instance& other) {
  std::vector<std::string> out;
  const auto note = [&](const std::string& what, const std::string& mine,
                        const std::string& theirs) {
    out.push_back(what + " " + mine + ", here " + theirs);
  };
  for (const NamedExpr& derived : own.contract->derive) {
    const auto mine = own.names.find(derived.name), theirs = other.names.find(derived.name);
    if (mine == own.names.end() || theirs == other.names.end()) continue;
    if (mine->second == theirs->second) continue;
    note(derived.name + " =", std::to_string(mine->second), std::to_string(theirs->second));
  }
  if (own.launches.size() != other.launches.size()) {
    note("launches", std::to_string(own.launches.size()), std::to_string(other.launches.size()));
    return out;
  }
  for (size_t i = 0; i < own.launches.size(); ++i) {
    const ResolvedLaunch& mine = own.launches[i];
    const ResolvedLaunch& theirs = other.launches[i];
    const auto which = [&] {
      return own.launches.size() > 1 ? " of launch " + std::to_string(i + 1) : std::string();
    };
    if (mine.grid != theirs.grid)
      note("grid" + which(), bracketed(mine.grid), bracketed(theirs.grid));
    if (mine.block != theirs.block)
      note("block" + which(), bracketed(mine.block), bracketed(theirs.block));
    if (mine.shared_bytes != theirs.shared_bytes)
      note("shared" + which(), std::to_string(mine.shared_bytes),
           std::to_string(theirs.shared_bytes));
  }
  return out;
}

std::string problem_of(const Instance& own, const ComparedRun& run) {
  if (!run.ended.empty()) return run.text + " fails: " + run.ended;
  if (!run.difference) return "";
  const PropertyDifference& d = *run.difference;
  return run.text + " gives " + element_name(own, d.output, d.element) + " = " + d.other_value +
         ", " + run.own + " gives " + d.value + "; " + std::to_string(d.differing) + " of " +
         std::to_string(d.compared) + " elements differ";
}

std::string float_atomics(const std::vector<Program>& programs) {
  for (const Program& program : programs) {
    const ptx::Module module = ptx::decode(program.ptx, program.source);
    for (const ptx::Function& function : module.functions) {
      for (const ptx::Instruction& ins : function.code) {
        const bool atomic = ins.op == ptx::Op::atom || ins.op == ptx::Op::red;
        if (!atomic || ins.atom != ptx::Atom::add || !is_float(ins.type)) continue;
        const Step step = ptx::step_of(module, function, ins, "");
        if (step.line == 0) return "line " + std::to_string(step.ptx_line) + " of the PTX";
        return base_name(step.file) + ":" + std::to_string(step.line);
      }
    }
  }
  return "";
}

}  // namespace assay
