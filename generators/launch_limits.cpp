// What a launch's numbers are, which limit they break, and how that is said.
#include "generators/launch_limits.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "kernels_under_test/limits.hpp"

namespace assay {
namespace {

/// The expressions of the contract that give a number of a launch; null ones left out.
std::vector<const Expr*> expressions_of(const LaunchSpec& launch, LaunchNumber number) {
  std::vector<const Expr*> out;
  const auto add = [&](const ExprPtr& expr) {
    if (expr) out.push_back(expr.get());
  };
  switch (number) {
    case LaunchNumber::grid_x:
    case LaunchNumber::grid_y:
    case LaunchNumber::grid_z:
      add(launch.grid[static_cast<size_t>(number)]);
      break;
    case LaunchNumber::block_x:
    case LaunchNumber::block_y:
    case LaunchNumber::block_z:
      add(launch.block[static_cast<size_t>(number) - 3]);
      break;
    case LaunchNumber::threads:
      for (const ExprPtr& axis : launch.block) add(axis);
      break;
    case LaunchNumber::shared:
      add(launch.shared);
      break;
  }
  return out;
}

/// The names of sizes, types, knobs and flags that `expr` comes from, through derived values and
/// scalars, in the order in which they are met.
class Sources {
 public:
  explicit Sources(const Contract& contract) : contract_(contract) {}

  void add(const Expr& expr) {
    for (const std::string& part : names_in(expr)) {
      if (!seen_.insert(part).second) continue;
      names_.push_back(part);
      for (const NamedExpr& derived : contract_.derive) {
        if (derived.name == part) add(*derived.expr);
      }
      if (const OperandSpec* const operand = contract_.find_operand(part)) add_operand(*operand);
    }
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  void add_operand(const OperandSpec& operand) {
    if (operand.value) add(*operand.value);
    for (const ExprPtr& value : operand.values) add(*value);
    for (const Dimension& dimension : operand.shape) add(*dimension.extent);
    for (const StrideRule& rule : operand.strides) {
      if (rule.value) add(*rule.value);
    }
  }

  const Contract& contract_;
  std::set<std::string> seen_;
  std::vector<std::string> names_;
};

}  // namespace

bool has_outputs(const Instance& instance) {
  return std::any_of(instance.tensors.begin(), instance.tensors.end(), [](const Tensor& tensor) {
    return tensor.spec->kind == OperandKind::output && tensor.present && tensor.elements() > 0;
  });
}

SourceLocation place_of(const LaunchSpec& launch, std::string_view number) {
  for (const LaunchNumber one : kLaunchNumbers) {
    if (name(one) != number) continue;
    const auto expressions = expressions_of(launch, one);
    if (!expressions.empty() && expressions.front()->where.line > 0)
      return expressions.front()->where;
  }
  return launch.where;
}

std::string_view name(LaunchNumber number) {
  static constexpr std::array<std::string_view, kLaunchNumbers.size()> kNames{
      "grid.x", "grid.y", "grid.z", "block.x", "block.y", "block.z", "threads", "shared"};
  return kNames[static_cast<size_t>(number)];
}

int64_t value_of(const ResolvedLaunch& launch, LaunchNumber number) {
  switch (number) {
    case LaunchNumber::grid_x:
    case LaunchNumber::grid_y:
    case LaunchNumber::grid_z:
      return launch.grid[static_cast<size_t>(number)];
    case LaunchNumber::block_x:
    case LaunchNumber::block_y:
    case LaunchNumber::block_z:
      return launch.block[static_cast<size_t>(number) - 3];
    case LaunchNumber::threads: {
      int64_t product = 1;
      for (const int64_t axis : launch.block) {
        if (__builtin_mul_overflow(product, axis, &product)) {
          return std::numeric_limits<int64_t>::max();
        }
      }
      return product;
    }
    case LaunchNumber::shared:
      return launch.shared_bytes;
  }
  return 0;
}

int64_t most_of(LaunchNumber number, const Contract& contract) {
  switch (number) {
    case LaunchNumber::grid_x:
      return kMostGridX;
    case LaunchNumber::grid_y:
    case LaunchNumber::grid_z:
      return kMostGridYz;
    case LaunchNumber::block_z:
      return kMostBlockZ;
    case LaunchNumber::block_x:
    case LaunchNumber::block_y:
    case LaunchNumber::threads:
      return kMostBlockThreads;
    case LaunchNumber::shared:
      return most_block_shared(contract.source.target);
  }
  return 0;
}

std::vector<std::string> launch_sources(const Contract& contract, int launch, LaunchNumber number) {
  Sources sources(contract);
  const LaunchSpec& spec = contract.launches[static_cast<size_t>(launch)];
  for (const Expr* expr : expressions_of(spec, number)) sources.add(*expr);
  return sources.names();
}

std::vector<std::string> shape_sources(const Contract& contract, const OperandSpec& operand) {
  Sources sources(contract);
  for (const Dimension& dimension : operand.shape) sources.add(*dimension.extent);
  return sources.names();
}

std::vector<std::string> condition_sources(const Contract& contract, int launch) {
  Sources sources(contract);
  for (const NamedExpr& relation : contract.require) sources.add(*relation.expr);
  const LaunchSpec& spec = contract.launches[static_cast<size_t>(launch)];
  if (spec.when) sources.add(*spec.when);
  return sources.names();
}

std::string admitted_launch(const Instance& instance, const ResolvedLaunch& launch,
                            LaunchNumber number) {
  const Case& c = instance.the_case;
  std::string text;
  int named = 0;
  const auto add = [&](const std::string& word, const std::string& value) {
    text += (text.empty() ? "" : ", ") + word + " = " + value;
    ++named;
  };
  for (const std::string& part : launch_sources(*instance.contract, launch.position, number)) {
    for (const auto* values : {&c.sizes, &c.knobs, &c.flags}) {
      if (const auto at = values->find(part); at != values->end()) {
        add(part, std::to_string(at->second));
      }
    }
    const auto type = c.types.find(part);
    if (type != c.types.end()) add(part, std::string(name(type->second)));
  }
  if (named == 0) text = "the contract";
  text += named == 0   ? " launches "
          : named == 1 ? " is admitted and launches "
                       : " are admitted and launch ";
  return text + std::string(name(number)) + " = " + std::to_string(value_of(launch, number));
}

bool is_empty(const ResolvedLaunch& launch) {
  return std::count(launch.grid.begin(), launch.grid.end(), 0) != 0;
}

std::optional<LaunchBreach> launch_breach(const Instance& instance, const ResolvedLaunch& launch,
                                          int64_t static_shared) {
  const auto said = [&](LaunchNumber number, const std::string& why) {
    return LaunchBreach{number, admitted_launch(instance, launch, number) + why};
  };
  if (is_empty(launch) && !has_outputs(instance)) return std::nullopt;
  for (const LaunchNumber number : kLaunchNumbers) {
    const int64_t value = value_of(launch, number);
    if (value < 1 && number < LaunchNumber::block_x) {
      return said(number, ", which no device launches, while an output has elements (a launch that "
                          "is left out then says so in 'when')");
    }
    if (value < 1 && number < LaunchNumber::threads) {
      return said(number, ", which no device launches");
    }
    const int64_t most = most_of(number, *instance.contract);
    const int64_t more = number == LaunchNumber::shared ? static_shared : 0;
    if (value <= most - more) continue;
    return said(number, (number == LaunchNumber::shared ? " bytes" : "") +
                            (more > 0 ? " beside " + std::to_string(more) + " static ones"
                                      : std::string()) +
                            ", more than the limit of " + std::to_string(most));
  }
  return std::nullopt;
}

}  // namespace assay
