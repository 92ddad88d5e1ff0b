// `assay list`: what there is to test.
#include <map>
#include <optional>
#include <ostream>
#include <set>

#include "devices/ptx/code.hpp"
#include "devices/ptx/machine.hpp"
#include "fuzz/find_kernels.hpp"
#include "fuzz/program.hpp"
#include "generators/pairwise.hpp"

namespace assay {

namespace {

std::string joined(const std::vector<std::string>& words, const char* separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

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

/// What the emulator does not know in the kernels of some variants, each reason with how many of
/// them have it. The variants show every pair of choices, not their product.
struct Support {
  size_t variants = 0;
  std::map<std::string, int> reasons;
};

Support emulator_support(const Contract& contract) {
  Support support;
  std::map<std::string, std::vector<std::string>> known;  // by Program::key and entry
  for (const Variant& variant : pairwise_variants(contract)) {
    ++support.variants;
    std::set<std::string> here;
    for (size_t launch = 0; launch < contract.launches.size(); ++launch) {
      const Program program = compile(contract, variant, static_cast<int>(launch));
      const auto [at, fresh] = known.try_emplace(program.key + program.entry);
      if (fresh) {
        const ptx::Module module = ptx::decode(program.ptx, program.source);
        at->second = ptx::lower(module, program.entry, ptx::use_avx2(), 0)->unsupported;
      }
      here.insert(at->second.begin(), at->second.end());
    }
    for (const std::string& reason : here) ++support.reasons[reason];
  }
  return support;
}

void print_support(const Support& support, std::ostream& out) {
  if (support.reasons.empty()) {
    out << "  emulator: every instruction of the " << support.variants
        << " variants looked at is supported\n";
  }
  for (const auto& [reason, count] : support.reasons) {
    out << "  emulator: unsupported in " << count << " of " << support.variants
        << " variants looked at: " << reason << "\n";
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
    std::optional<Support> support;
    if (!options.kernels.empty() && compiled) support = emulator_support(*contract);
    if (support) {
      for (const auto& [reason, count] : support->reasons) {
        kernel.notes.insert("the emulator does not support: " + reason);
      }
    }
    report.kernels.push_back(kernel);
    if (options.json) continue;
    streams.out << contract->name << ": " << contract->about << "\n  " << types_text(*contract)
                << (contract->knobs.empty() ? "" : "  ") << knobs_text(*contract) << "  ("
                << kernel.variants_total << " variants)\n  " << contract->path << "\n";
    if (support) print_support(*support, streams.out);
    for (const std::string& key : contract->not_yet) streams.out << "  not yet: " << key << "\n";
  }
  if (options.json) streams.out << json_report(report);
  return Exit::clean;
}

}  // namespace assay
