#include "fuzz/emulator_support.hpp"

#include <map>
#include <set>
#include <tuple>

#include "compilers/program.hpp"
#include "devices/ptx/code.hpp"
#include "devices/ptx/machine.hpp"
#include "generators/pairwise.hpp"

namespace assay {

namespace {

using Lacking = std::vector<ptx::Unsupported>;

/// Of each launch of a variant; `known` keeps what was decoded, by program and entry.
std::vector<const Lacking*> lacking_in(const Contract& contract, const Variant& variant,
                                       std::map<std::string, Lacking>& known) {
  std::vector<const Lacking*> all;
  for (size_t launch = 0; launch < contract.launches.size(); ++launch) {
    const Program program = compile(contract, variant, static_cast<int>(launch));
    const auto [at, fresh] = known.try_emplace(program.key + program.entry);
    if (fresh) {
      const ptx::Module module = ptx::decode(program.ptx, program.source);
      at->second = ptx::lower(module, program.entry, ptx::use_avx2(), 0)->unsupported;
    }
    all.push_back(&at->second);
  }
  return all;
}

/// With a line table the source line says where; the PTX's own differs from variant to variant.
using Key = std::tuple<std::string, int, int, std::string>;
Key key_of(const ptx::Unsupported& one) {
  return {one.file, one.line, one.line > 0 ? 0 : one.ptx_line, one.what};
}

}  // namespace

std::string Unsupported::place() const {
  if (line > 0) return file + ":" + std::to_string(line) + ": ";
  return ptx_line > 0 ? "line " + std::to_string(ptx_line) + " of the PTX: " : "";
}

EmulatorSupport emulator_support(const Contract& contract) {
  EmulatorSupport support;
  std::map<std::string, Lacking> known;
  std::map<Key, Unsupported> lacking;
  for (const Variant& variant : pairwise_variants(contract)) {
    try {
      std::set<Key> here;
      for (const Lacking* all : lacking_in(contract, variant, known)) {
        for (const ptx::Unsupported& one : *all) {
          lacking.try_emplace(key_of(one), Unsupported{one.what, one.file, one.line, one.ptx_line});
          here.insert(key_of(one));
        }
      }
      for (const Key& key : here) ++lacking[key].variants;
      ++support.variants;
    } catch (const InputError& error) {
      const std::string message = error.what();
      support.not_looked_at.push_back(
          variant.text() + " does not compile: " + message.substr(0, message.find('\n')));
    } catch (const MissingDependency& error) {
      support.not_looked_at.emplace_back(error.what());
      break;
    }
  }
  for (auto& [key, one] : lacking) support.lacking.push_back(std::move(one));
  return support;
}

}  // namespace assay
