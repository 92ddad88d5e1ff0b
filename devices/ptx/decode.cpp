#include "devices/ptx/cfg.hpp"
#include "devices/ptx/counters.hpp"
#include "devices/ptx/digest.hpp"
#include "devices/ptx/module.hpp"
#include "devices/ptx/parser.hpp"
#include "devices/ptx/table.hpp"

namespace assay::ptx {

const Function* Module::find(const std::string& name) const {
  for (const Function& function : functions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

Module decode(const std::string& text, const std::string& file) {
  Module module = parse_module(text, file);
  for (Function& function : module.functions) build_blocks(function);
  number_counters(module);
  module.digest = module_digest(module);
  return module;
}

SpellingCheck check_spelling(const std::string& spelling) {
  const SpellingMatch match = match_spelling(spelling);
  return {match.prototype.row >= 0, match.reason};
}

}  // namespace assay::ptx
