#include "devices/ptx/cfg.hpp"
#include "devices/ptx/digest.hpp"
#include "devices/ptx/module.hpp"
#include "devices/ptx/parser.hpp"
#include "devices/ptx/table.hpp"

namespace assay::ptx {
namespace {

bool accesses_memory(const Instruction& instruction) {
  switch (instruction.op) {
    case Op::ld:
    case Op::ldu:
    case Op::st:
    case Op::atom:
    case Op::red:
      return true;
    default:
      return false;
  }
}

}  // namespace

const Function* Module::find(const std::string& name) const {
  for (const Function& function : functions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

Module decode(const std::string& text, const std::string& file) {
  Module module = parse_module(text, file);
  for (Function& function : module.functions) {
    build_blocks(function);
    function.first_block_id = module.block_count;
    function.first_access_id = module.access_count;
    module.block_count += static_cast<int32_t>(function.blocks.size());
    for (const Instruction& instruction : function.code) {
      module.access_count += accesses_memory(instruction);
    }
  }
  module.digest = module_digest(module);
  return module;
}

SpellingCheck check_spelling(const std::string& spelling) {
  const SpellingMatch match = match_spelling(spelling);
  return {match.prototype.row >= 0, match.reason};
}

}  // namespace assay::ptx
