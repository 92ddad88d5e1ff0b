// `assay list`: what there is to test.
#include <ostream>

#include "fuzz/find_kernels.hpp"
#include "fuzz/program.hpp"

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
    report.kernels.push_back(kernel);
    if (options.json) continue;
    streams.out << contract->name << ": " << contract->about << "\n  " << types_text(*contract)
                << (contract->knobs.empty() ? "" : "  ") << knobs_text(*contract) << "  ("
                << kernel.variants_total << " variants)\n  " << contract->path << "\n";
    for (const std::string& key : contract->not_yet) streams.out << "  not yet: " << key << "\n";
  }
  if (options.json) streams.out << json_report(report);
  return Exit::clean;
}

}  // namespace assay
