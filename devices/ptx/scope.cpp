#include "devices/ptx/scope.hpp"

#include <algorithm>
#include <charconv>

namespace assay::ptx {

Scopes::Scopes(Lexer& lexer, const SymbolMap& module_names, Function& function)
    : lexer_(lexer), module_names_(module_names), function_(function) {
  scopes_.emplace_back();
}

void Scopes::open(const Token& at) {
  if (scopes_.size() >= kMaxDepth) lexer_.fail(at, "expected at most 200 nested '{'");
  scopes_.emplace_back();
}

void Scopes::resolve_indexed(Scope& scope, Scope* parent) {
  for (const Branch& indexed : scope.indexed) {
    const auto table = scope.tables.find(indexed.label.text);
    if (table == scope.tables.end()) {
      if (!parent) {
        lexer_.fail(indexed.label,
                    "expected the name of a .branchtargets list, found " + shown(indexed.label));
      }
      parent->indexed.push_back(indexed);
      continue;
    }
    auto& targets = function_.code[indexed.instruction].targets;
    targets.assign(table->second.size(), -1);
    for (size_t slot = 0; slot < targets.size(); ++slot) {
      scope.branches.push_back(
          {indexed.instruction, static_cast<int32_t>(slot), table->second[slot]});
    }
  }
}

void Scopes::close() {
  Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  Scope* parent = scopes_.empty() ? nullptr : &scopes_.back();
  resolve_indexed(scope, parent);
  for (const Branch& branch : scope.branches) {
    const auto label = scope.labels.find(branch.label.text);
    if (label == scope.labels.end()) {
      if (!parent) lexer_.fail(branch.label, "unknown label " + shown(branch.label));
      parent->branches.push_back(branch);
      continue;
    }
    Instruction& instruction = function_.code[branch.instruction];
    int32_t& target = branch.slot < 0 ? instruction.target : instruction.targets[branch.slot];
    target = label->second;
  }
}

void Scopes::count_declared(const Token& at, int64_t count) {
  declared_ += count;
  if (declared_ > kMaxDeclared) {
    lexer_.fail(at,
                "expected at most " + std::to_string(kMaxDeclared) + " registers in a function");
  }
}

void Scopes::declare(const Token& name, Symbol symbol) {
  if (symbol.kind == Symbol::Kind::reg) count_declared(name, 1);
  if (!scopes_.back().names.emplace(name.text, symbol).second) {
    lexer_.fail(name, shown(name) + " is declared twice in one scope");
  }
}

void Scopes::declare_range(const Token& prefix, int64_t count, Type type) {
  count_declared(prefix, count);
  Range range{type, std::vector<int32_t>(static_cast<size_t>(count), -1)};
  if (!scopes_.back().ranges.emplace(prefix.text, std::move(range)).second) {
    lexer_.fail(prefix, shown(prefix) + " is declared twice in one scope");
  }
}

void Scopes::label(const Token& name, int32_t instruction) {
  if (!scopes_.back().labels.emplace(name.text, instruction).second) {
    lexer_.fail(name, "label " + shown(name) + " is defined twice in one scope");
  }
}

void Scopes::branch_table(const Token& name, std::vector<Token> labels) {
  if (!scopes_.back().tables.emplace(name.text, std::move(labels)).second) {
    lexer_.fail(name, shown(name) + " is defined twice in one scope");
  }
}

int32_t Scopes::new_register(std::string_view name, Type type) {
  function_.registers.push_back({std::string(name), type});
  return static_cast<int32_t>(function_.registers.size()) - 1;
}

/// "%r12" of "%r<20>". A number with a leading zero names no register.
std::optional<Symbol> Scopes::find_in_range(Scope& scope, std::string_view name) {
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  // The prefix may itself end in digits: try each way to split (kMaxRange has 7 digits).
  for (size_t split = std::max(digits, name.size() - std::min<size_t>(name.size(), 7));
       split < name.size(); ++split) {
    if (name[split] == '0' && split + 1 < name.size()) continue;
    const auto range = scope.ranges.find(name.substr(0, split));
    if (range == scope.ranges.end()) continue;
    size_t number = 0;
    const auto [end, error] =
        std::from_chars(name.data() + split, name.data() + name.size(), number);
    if (error != std::errc{} || number >= range->second.index.size()) continue;
    int32_t& index = range->second.index[number];
    if (index < 0) index = new_register(name, range->second.type);
    return Symbol{Symbol::Kind::reg, index, range->second.type};
  }
  return std::nullopt;
}

std::optional<Symbol> Scopes::find(std::string_view name) {
  for (size_t i = scopes_.size(); i-- > 0;) {
    Scope& scope = scopes_[i];
    if (const auto found = scope.names.find(name); found != scope.names.end()) {
      Symbol& symbol = found->second;
      if (symbol.kind == Symbol::Kind::reg && symbol.index < 0) {
        symbol.index = new_register(name, symbol.type);
      }
      return symbol;
    }
    if (!scope.ranges.empty()) {
      if (const auto found = find_in_range(scope, name)) return found;
    }
  }
  const auto found = module_names_.find(name);
  if (found == module_names_.end()) return std::nullopt;
  return found->second;
}

}  // namespace assay::ptx
