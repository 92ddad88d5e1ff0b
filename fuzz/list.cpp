// `assay list`: what there is to test.
#include <algorithm>
#include <optional>
#include <ostream>

#include "fuzz/emulator_support.hpp"
#include "fuzz/find_kernels.hpp"
#include "fuzz/lint.hpp"
#include "fuzz/program.hpp"
#include "fuzz/text_table.hpp"
#include "generators/reach.hpp"

namespace assay {

namespace {

std::string types_text(const Contract& contract) {
  std::vector<std::string> all;
  for (const TypeParameter& type : contract.types) {
    std::vector<std::string> kinds;
    for (DType kind : type.kinds) kinds.emplace_back(name(kind));
    all.push_back(type.name + "=" + joined(kinds, "|"));
  }
  return joined(all, " ");
}

std::string knobs_text(const Contract& contract) {
  std::vector<std::string> all;
  for (const Knob& knob : contract.knobs) {
    std::vector<std::string> values;
    for (int64_t value : knob.values) values.push_back(std::to_string(value));
    all.push_back(knob.name + "=" + joined(values, "|"));
  }
  return joined(all, " ");
}

std::string sizes_text(const Contract& contract) {
  std::vector<std::string> all;
  for (const SizeSpec& size : contract.sizes) {
    std::string text = size.name + "=";
    if (size.in.empty()) {
      text += std::to_string(size.min) + ".." + std::to_string(size.max);
    } else {
      for (size_t i = 0; i < size.in.size(); ++i)
        text += (i ? "|" : "") + std::to_string(size.in[i]);
    }
    all.push_back(text);
  }
  return joined(all, " ");
}

/// Names of the policies that the formula makes matter and the contract leaves out; a run asks for
/// one with the line to paste when a case needs it.
std::vector<std::string> open_policy_names(const Contract& contract) {
  std::vector<std::string> names;
  try {
    for (const std::string& line : open_policies(contract))
      names.push_back(line.substr(0, line.find(' ')));
  } catch (const InputError&) {
    return {};  // a formula that does not compile is told where it is used
  }
  return names;
}

/// The lists as data, for --json.
void add_choices(const Contract& contract, ListedKernel& out) {
  for (const TypeParameter& type : contract.types) {
    for (DType kind : type.kinds) out.types[type.name].emplace_back(name(kind));
  }
  for (const Knob& knob : contract.knobs) out.knobs[knob.name] = knob.values;
  for (const SizeSpec& size : contract.sizes) out.sizes[size.name] = {size.min, size.max, size.in};
  out.flags = contract.flags;
  for (const OperandSpec& operand : contract.args) {
    for (const AliasTarget& memory : operand.may_alias)
      out.may_alias[operand.name].push_back(memory.operand);
  }
  out.policies_open = open_policy_names(contract);
  out.not_yet = contract.not_yet;
  out.notes = reach_notes(contract);
}

void print_support(const EmulatorSupport& support, std::ostream& out) {
  for (const std::string& reason : support.not_looked_at) {
    out << "  emulator: not looked at: " << reason << "\n";
  }
  const std::string looked_at = counted(support.variants, "variant") + " looked at";
  if (support.lacking.empty() && support.variants > 0) {
    out << "  emulator: every instruction of the " << looked_at << " is supported\n";
  }
  for (const Unsupported& one : support.lacking) {
    out << "  emulator: unsupported in " << one.variants << " of the " << looked_at << ": "
        << one.place() << one.what << "\n";
  }
}

}  // namespace

Exit run_list(const Options& options, Streams streams) {
  make_device(options.device);
  Report report;
  report.command = Command::list;
  for (const ContractPtr& contract : load_kernels(options.kernels)) {
    KernelReport kernel;
    kernel.kernel = contract->name;
    kernel.contract = contract->path;
    kernel.variants_total = count_variants(*contract);
    // Compiling and decoding take time: for kernels that are asked for by name.
    const bool compiled =
        contract->source.language == Language::cuda || contract->source.language == Language::ptx;
    kernel.listed.emplace();
    std::optional<EmulatorSupport>& support = kernel.listed->emulator;
    if (!options.kernels.empty() && compiled) support = emulator_support(*contract);
    add_choices(*contract, *kernel.listed);
    report.kernels.push_back(kernel);
    if (options.json) continue;
    std::vector<std::string> choices;
    for (const std::string& text :
         {types_text(*contract), knobs_text(*contract), joined(contract->flags, " ")}) {
      if (!text.empty()) choices.push_back(text);
    }
    choices.push_back("(" + counted(kernel.variants_total, "variant") + ")");
    streams.out << contract->name << (contract->about.empty() ? "" : ": ") << contract->about
                << "\n  " << joined(choices, "  ") << "\n";
    if (!contract->sizes.empty()) streams.out << "  sizes " << sizes_text(*contract) << "\n";
    for (const auto& [operand, memories] : kernel.listed->may_alias)
      streams.out << "  " << operand << " may lie in the memory of " << joined(memories, " or ")
                  << "\n";
    streams.out << "  " << contract->path << "\n";
    if (!kernel.listed->policies_open.empty())
      streams.out << "  policies not stated: " << joined(kernel.listed->policies_open, ", ")
                  << "\n";
    for (const std::string& note : kernel.listed->notes) streams.out << "  " << note << "\n";
    if (support) print_support(*support, streams.out);
    for (const std::string& key : contract->not_yet) streams.out << "  not yet: " << key << "\n";
  }
  if (options.json) streams.out << json_report(report);
  return Exit::clean;
}

}  // namespace assay
