// The judge of a contract: what it refuses, its compiled formulas, and its entry points.
#include <algorithm>

#include "kernels_under_test/variants.hpp"
#include "oracles/case_judge.hpp"

namespace assay {

std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::pass:
      return "pass";
    case Outcome::mismatch:
      return "mismatch";
    case Outcome::fault:
      return "fault";
    case Outcome::undecided:
      return "undecided";
    case Outcome::skipped:
      return "skipped";
  }
  return "unknown";
}

namespace {

/// What a contract may say and the judge cannot apply yet is refused here: reading past it would
/// accuse a correct kernel, or pass a wrong one.
void refuse_unjudged(const Contract& contract) {
  const auto refuse = [&contract](const SourceLocation& where, const std::string& what) {
    throw InputError(where.file.empty() ? SourceLocation{contract.path, 0, 0} : where,
                     what + " not judged yet");
  };
  for (const OperandSpec& operand : contract.args) {
    const auto line = std::find_if(contract.formula.begin(), contract.formula.end(),
                                   [&](const FormulaLine& l) { return l.name == operand.name; });
    const bool plain = line != contract.formula.end() && line->scatter.empty();
    if (!operand.valid.empty() && !plain)
      refuse(operand.where,
             "'" + operand.name + "': 'valid' of an output without a plain formula is");
    if (const Ownership* owner = contract.find_ownership(operand.name); owner != nullptr && !plain)
      refuse(owner->where,
             "'" + operand.name + "': 'owns' of an output without a plain formula is");
  }
  const Policy& policy = contract.policy;
  const bool scatters = std::any_of(contract.formula.begin(), contract.formula.end(),
                                    [](const FormulaLine& line) { return !line.scatter.empty(); });
  if (policy.zero_order == ZeroOrderPolicy::signed_zero && (scatters || !contract.oracles.empty()))
    refuse({}, "policy zero_order = \"signed\" of relations and scattered outputs is");
}

}  // namespace

Judge::Judge(const Contract& contract) : impl_(new Impl{contract, {}}) {
  // Compile one variant of each choice, so that a bad formula is told before any case runs.
  try {
    refuse_unjudged(contract);
    Variant variant;
    for (const TypeParameter& type : contract.types) variant.types[type.name] = type.kinds.front();
    for (const Knob& knob : contract.knobs) variant.knobs[knob.name] = knob.values.front();
    for (const std::string& flag : contract.flags) variant.flags[flag] = 1;
    compile_formula(impl_->contract, variant);
    for (const TypeParameter& type : contract.types)
      for (const DType kind : type.kinds) {
        Variant other = variant;
        other.types[type.name] = kind;
        compile_formula(impl_->contract, other);
      }
    for (const Knob& knob : contract.knobs)
      for (const int64_t value : knob.values) {
        Variant other = variant;
        other.knobs[knob.name] = value;
        if (admits_choices(contract, other)) compile_formula(impl_->contract, other);
      }
  } catch (...) {
    delete impl_;
    throw;
  }
}

Judge::~Judge() { delete impl_; }

CompiledFormula& Judge::Impl::formula(const Variant& variant) {
  auto& slot = compiled[variant];
  if (!slot) slot = std::make_unique<CompiledFormula>(compile_formula(contract, variant));
  return *slot;
}

Verdict Judge::judge(const Instance& instance, const OutputReader& outputs,
                     const JudgeOptions& options) const {
  CompiledFormula& formula = impl_->formula(instance.the_case.variant());
  CaseState state{impl_->contract, formula, instance,
                  outputs,         options, settings_for(impl_->contract, instance)};
  return judge_case(state);
}

}  // namespace assay
