#include "fuzz/lint.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "compilers/program.hpp"
#include "compilers/request.hpp"
#include "fuzz/contract_names.hpp"
#include "fuzz/emulator_support.hpp"
#include "fuzz/findings.hpp"
#include "fuzz/log.hpp"
#include "fuzz/stop_signals.hpp"
#include "fuzz/text_table.hpp"
#include "generators/pairwise.hpp"
#include "generators/reach.hpp"

namespace assay {

namespace {

/// How far from its ends a size is looked at for a value that the relations admit.
constexpr int64_t kNearEnd = 1024;

/// Every name that some part of a contract uses, by what the part is.
struct UsedNames {
  std::set<std::string> in_formula;  ///< values: formula, live, domain, valid, scalars' elements
  std::set<std::string> in_numbers;  ///< sizes and choices: shapes, launches, relations, ...
  std::set<std::string> in_entries;  ///< {T}, {BLOCK}
  bool has(const std::string& name) const {
    return in_formula.contains(name) || in_numbers.contains(name) || in_entries.contains(name);
  }
};

void add_braced(const std::string& entry, std::set<std::string>& out) {
  for (size_t open = entry.find('{'); open != std::string::npos; open = entry.find('{', open + 1)) {
    out.insert(entry.substr(open + 1, entry.find('}', open) - open - 1));
  }
}

UsedNames names_used(const Contract& contract) {
  UsedNames used;
  add_formula_names(contract, used.in_formula);
  for (const OperandSpec& operand : contract.args)
    add_operand_names(operand, used.in_formula, used.in_numbers);
  for (const NamedExpr& derived : contract.derive) add_names(derived.expr, used.in_numbers);
  for (const NamedExpr& relation : contract.require) add_names(relation.expr, used.in_numbers);
  for (const Ownership& owner : contract.owns) add_names(owner.relation, used.in_numbers);
  add_accuracy_names(contract, used.in_numbers);
  add_braced(contract.source.entry, used.in_entries);
  for (const LaunchSpec& launch : contract.launches) {
    add_shape_names(launch, used.in_numbers);
    add_names(launch.when, used.in_numbers);
    add_braced(launch.entry, used.in_entries);
  }
  return used;
}

/// Value of a relation when only one size is known: nullopt when it needs more.
std::optional<bool> holds_alone(const NamedExpr& relation, const std::string& size, int64_t value) {
  IntegerScope scope;
  scope.value = [&](std::string_view name) -> std::optional<int64_t> {
    if (name == size) return value;
    return std::nullopt;
  };
  try {
    return evaluate_integer(*relation.expr, scope) != 0;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// The relation that forbids a value whatever else is chosen; nullptr when none does.
const NamedExpr* forbids(const Contract& contract, const std::string& size, int64_t value) {
  for (const NamedExpr& relation : contract.require) {
    if (holds_alone(relation, size, value) == false) return &relation;
  }
  return nullptr;
}

/// Looks from `from` towards the inside for a value that is not forbidden.
const NamedExpr* forbids_end(const Contract& contract, const SizeSpec& size, int64_t from,
                             int64_t step) {
  const NamedExpr* first = forbids(contract, size.name, from);
  for (int64_t i = 0; i < kNearEnd && first != nullptr; ++i) {
    const int64_t value = from + step * i;
    if (value < size.min || value > size.max) return first;
    if (forbids(contract, size.name, value) == nullptr) return nullptr;
  }
  return first;
}

std::string unreachable_text(const SizeSpec& size, const std::string& what,
                             const NamedExpr& relation) {
  return "size '" + size.name + "' is never " + what + ": `" + relation.name + "` forbids it";
}

}  // namespace

std::vector<Lint> questions_in(const std::string& text, const std::string& path) {
  std::vector<Lint> out;
  std::istringstream in(text);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const size_t at = line.find_first_not_of(" \t");
    if (at == std::string::npos || line.compare(at, 4, "# ? ") != 0) continue;
    out.push_back({{path, number, static_cast<int>(at) + 1}, "question", line.substr(at + 4)});
  }
  return out;
}

std::set<std::string> marked_operands(const Contract& contract, const std::string& mark) {
  std::set<std::string> names;
  std::istringstream in(read_text(contract.path));
  for (std::string line; std::getline(in, line);) {
    const size_t at = line.find(mark);
    if (at == std::string::npos) continue;
    const size_t name = at + mark.size();
    names.insert(line.substr(name, line.find(',', name) - name));
  }
  return names;
}

std::set<std::string> source_words(const Contract& contract) {
  std::error_code ignored;
  if (contract.source.language == Language::torch ||
      !std::filesystem::is_regular_file(contract.source.path, ignored)) {
    return {};
  }
  std::string text = assay::read_text(contract.source.path, contract.source.where);
  for (const IncludedFile& file :
       included_files(contract.source.path, text, contract.source.include)) {
    text += "\n" + file.text;
  }
  return words_of(text);
}

std::vector<Lint> unused_parts(const Contract& contract) {
  std::vector<Lint> out;
  const UsedNames used = names_used(contract);
  const std::set<std::string> words = source_words(contract);
  const std::set<std::string> on_purpose = marked_operands(contract, "# unread: ");
  const auto remark = [&](const SourceLocation& where, const std::string& message) {
    out.push_back({where, "unused", message});
  };
  for (const OperandSpec& operand : contract.args) {
    const bool is_read = operand.kind == OperandKind::input || operand.kind == OperandKind::index;
    // A list of one value is a constant: there is nothing to depend on.
    const bool real_scalar = operand.kind == OperandKind::scalar && operand.values.size() > 1;
    const bool unread = (is_read || real_scalar) && !used.in_formula.contains(operand.name) &&
                        (is_read || !used.in_numbers.contains(operand.name));
    if (unread && !on_purpose.contains(operand.name)) {
      remark(operand.where, "operand '" + operand.name +
                                "' is in no formula: no output depends on its values (if that is "
                                "right, a line `# unread: " +
                                operand.name + ", because ...` says so)");
    }
  }
  for (const SizeSpec& size : contract.sizes) {
    if (!used.has(size.name)) remark(size.where, "size '" + size.name + "' is used nowhere");
  }
  for (const NamedExpr& derived : contract.derive) {
    if (!used.has(derived.name)) {
      remark(derived.where, "derived value '" + derived.name + "' is used nowhere");
    }
  }
  const auto choice = [&](const SourceLocation& where, const char* what, const std::string& name) {
    // One-letter names are no macros (compilers/request.hpp).
    if (used.has(name) || (name.size() > 1 && words.contains(name))) return;
    remark(where, std::string(what) + " '" + name +
                      "' is used nowhere: not in the contract, the "
                      "entry or the source");
  };
  for (const TypeParameter& type : contract.types) choice(type.where, "type", type.name);
  for (const Knob& knob : contract.knobs) choice(knob.where, "knob", knob.name);
  for (const std::string& flag : contract.flags) choice(contract.flags_where, "flag", flag);
  const std::string idle = idle_ownership(contract);
  if (!idle.empty()) remark(contract.owns.front().where, idle);
  return out;
}

std::vector<Lint> unreachable_sizes(const Contract& contract) {
  std::vector<Lint> out;
  for (const SizeSpec& size : contract.sizes) {
    for (const int64_t value : size.in) {
      if (const NamedExpr* relation = forbids(contract, size.name, value)) {
        out.push_back(
            {size.where, "unreachable", unreachable_text(size, std::to_string(value), *relation)});
      }
    }
    if (!size.in.empty()) continue;
    if (const NamedExpr* relation = forbids_end(contract, size, size.max, -1)) {
      out.push_back(
          {size.where, "unreachable",
           unreachable_text(size, "near its largest, " + std::to_string(size.max), *relation)});
    }
    const NamedExpr* relation = forbids_end(contract, size, size.min, 1);
    if (relation != nullptr && size.max - size.min >= kNearEnd) {
      out.push_back(
          {size.where, "unreachable",
           unreachable_text(size, "near its least, " + std::to_string(size.min), *relation)});
    }
  }
  return out;
}

std::vector<Lint> variants_that_fail(const Contract& contract) {
  struct Failure {
    std::string variant, message;
    int64_t variants = 0;
  };
  std::vector<Failure> failures;           // in the order in which they are met
  std::map<std::string, size_t> by_place;  // an error names types and values, which differ
  for (const Variant& variant : pairwise_variants(contract)) {
    if (StopSignals::asked()) break;
    const SlowStep slow(contract.name + ": still compiling");
    try {
      for (size_t launch = 0; launch < contract.launches.size(); ++launch) {
        compile(contract, variant, static_cast<int>(launch));
      }
    } catch (const InputError& error) {
      std::string message = error.what();
      message = message.substr(0, message.find('\n'));
      const SourceLocation& where = error.where();
      const std::string place = where.line > 0 ? where.text() : message;
      const auto [at, fresh] = by_place.try_emplace(place, failures.size());
      if (fresh) failures.push_back({variant.text(), message});
      ++failures[at->second].variants;
    }
  }
  std::vector<Lint> out;
  for (const Failure& one : failures) {
    const int64_t others = one.variants - 1;
    const std::string who = one.variant.empty() ? "the kernel" : one.variant;
    const std::string which = others > 0
                                  ? " and " + counted(others, "other variant") + " do not compile: "
                                  : " does not compile: ";
    out.push_back({contract.source.where, "compile", who + which + one.message});
  }
  return out;
}

std::vector<Lint> unsupported_instructions(const Contract& contract) {
  std::vector<Lint> out;
  const EmulatorSupport support = emulator_support(contract);
  for (const Unsupported& one : support.lacking) {
    SourceLocation where{one.file, one.line};
    if (one.line == 0) where = contract.source.where;
    out.push_back({where, "unsupported",
                   "the emulator lacks an instruction of " + std::to_string(one.variants) +
                       " of the " + counted(support.variants, "variant") +
                       " looked at: " + one.what});
  }
  return out;
}

}  // namespace assay
