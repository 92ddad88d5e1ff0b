// Which inputs there are, and the cases that hold them.
#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "fuzz/exhaust.hpp"
#include "fuzz/text_table.hpp"
#include "generators/generate.hpp"
#include "oracles/elementwise.hpp"

namespace assay {

namespace {

constexpr int64_t kDefaultMantissas = 256;
constexpr int64_t kDefaultPairMantissas = 4;
/// Monotonicity needs all numbers of a sample of one operand at hand.
constexpr int64_t kMostOfOneOperand = int64_t{1} << 20;

OperandSpace operand_space(const Contract& contract, const Variant& variant, int position,
                           const WideInputs& wide) {
  const OperandSpec& spec = contract.args[static_cast<size_t>(position)];
  OperandSpace space;
  space.operand = position;
  space.name = spec.name;
  space.type = resolve_dtype(spec, variant);
  const std::string what = "'" + spec.name + "' of type " + std::string(name(space.type));
  if (spec.kind == OperandKind::index || spec.sorted || spec.distinct ||
      !spec.prefix_sum_of.empty()) {
    throw InputError(spec.where, what +
                                     " cannot take every value: it is an index operand, sorted "
                                     "or made from another");
  }
  const int bits = bit_width(space.type);
  if (space.type == DType::boolean) {
    space.size = 2;
  } else if (bits <= (wide.whole ? 32 : 16) && byte_size(space.type) > 0) {
    space.size = int64_t{1} << bits;
  } else if (is_floating(space.type)) {
    space.sampled = true;
    space.mantissas = wide.mantissas;
    const int stored = format_of(space.type).precision - 1;
    space.size = (int64_t{1} << (bits - stored)) * wide.mantissas;
    if (space.size > kMostOfOneOperand) {
      throw InputError({}, "--mantissas: at most " +
                               std::to_string(kMostOfOneOperand / (space.size / wide.mantissas)) +
                               " for " + what);
    }
  } else {
    throw InputError(spec.where, what +
                                     " has too many values and no exponents to sample them by; "
                                     "8- and 16-bit and floating types are exhausted, and with "
                                     "--whole one operand of 32 bits");
  }
  return space;
}

/// Sizes at `value` and `rest` in two places, the others at their least.
std::map<std::string, int64_t> sizes_of(const Contract& contract, size_t a, int64_t value, size_t b,
                                        int64_t rest) {
  std::map<std::string, int64_t> sizes;
  for (size_t i = 0; i < contract.sizes.size(); ++i) {
    const SizeSpec& size = contract.sizes[i];
    const int64_t most = size.in.empty() ? size.max : size.in.front();
    const int64_t least = size.in.empty() ? std::min(std::max<int64_t>(size.min, 1), most) : most;
    const int64_t wanted = i == a ? value : i == b ? rest : least;
    sizes[size.name] = std::clamp(wanted, least, most);
  }
  return sizes;
}

/// Makes the case's sizes those of the most elements, at most `count`. Throws InputError when none
/// fits: the contract's own reason against sizes, or that every case is larger.
void fit_sizes(const Contract& contract, const InputSpace& space, int64_t count, Case& c) {
  std::map<std::string, int64_t> best;
  int64_t most = 0, least = 0;
  std::optional<InputError> refusal;
  const size_t n = std::max<size_t>(contract.sizes.size(), 1);
  for (size_t a = 0; a < n && most < count; ++a) {
    for (size_t b = 0; b < n && most < count; ++b) {
      for (int64_t rest = 1; rest <= count && (rest == 1 || a != b) && most < count; rest *= 2) {
        c.sizes = sizes_of(contract, a, count / rest, b, a == b ? count : rest);
        try {
          const int64_t inputs = case_inputs(instantiate(contract, c), space);
          if (inputs > most && inputs <= count) {
            most = inputs;
            best = c.sizes;
          }
          if (inputs > count) least = least == 0 ? inputs : std::min(least, inputs);
        } catch (const InputError& error) {
          refusal = error;  // the contract's relations may not admit these sizes
        }
      }
    }
  }
  c.sizes = best;
  if (most > 0) return;
  if (refusal && least == 0) throw InputError(*refusal);
  const SourceLocation where =
      contract.sizes.empty() ? SourceLocation{contract.path} : contract.sizes.front().where;
  throw InputError(where, least > 0
                              ? "no case of at most " + counted(count, "element") +
                                    ": the smallest that was tried has " + std::to_string(least)
                              : "no case has an element: every size is 0");
}

/// The same, of half as many elements where the contract's relations admit none of so many.
void fit_halving(const Contract& contract, const InputSpace& space, int64_t count, Case& c) {
  std::optional<InputError> first;
  for (; count > 0; count /= 2) {
    try {
      return fit_sizes(contract, space, count, c);
    } catch (const InputError& error) {
      if (!first) first = error;
    }
  }
  throw InputError(*first);
}

ValueRecipe recipe_for(const OperandSpace& space, int64_t first, int64_t each) {
  ValueRecipe recipe;
  recipe.name = space.sampled ? "exponents" : "patterns";
  recipe.parameters = {{"first", static_cast<double>(first)}};
  if (each > 1) recipe.parameters.emplace_back("each", static_cast<double>(each));
  if (space.sampled) {
    recipe.parameters.emplace_back("mantissas", static_cast<double>(space.mantissas));
  }
  return recipe;
}

/// The largest term of the continued fraction of step / units, without its whole part.
int64_t largest_term(int64_t step, int64_t units) {
  int64_t largest = 0;
  for (int64_t a = units, b = step; b != 0; std::tie(a, b) = std::pair(b, a % b))
    largest = std::max(largest, a / b);
  return largest;
}

}  // namespace

int64_t count_units(const InputSpace& space) {
  return (space.size + kUnitInputs - 1) / kUnitInputs;
}

int64_t scatter_step(int64_t units) {
  constexpr double kGolden = 0.61803398874989485;
  // How far from the golden ratio's own step one with smaller terms is looked for.
  constexpr int64_t kAround = 32;
  const auto near = static_cast<int64_t>(kGolden * static_cast<double>(units));
  int64_t best = 1;
  for (int64_t away = 0; away <= kAround; ++away) {
    for (const int64_t step : {near + away, near - away}) {
      if (step < 1 || step >= units || std::gcd(step, units) != 1) continue;
      if (best == 1 || largest_term(step, units) < largest_term(best, units)) best = step;
    }
  }
  return best;
}

bool InputSpace::sampled() const {
  return std::any_of(operands.begin(), operands.end(),
                     [](const OperandSpace& space) { return space.sampled; });
}

std::string InputSpace::text() const {
  std::string text = std::to_string(size);
  if (operands.size() > 1) text += " pairs";
  for (const OperandSpace& space : operands) {
    if (!space.sampled) continue;
    return text + " sampled: " + std::to_string(space.mantissas) + " of each exponent and sign";
  }
  return text;
}

InputSpace input_space(const Contract& contract, const Variant& variant, const WideInputs& wide) {
  InputSpace space;
  space.variant = variant;
  const std::vector<int> operands = elementwise_operands(contract, variant);
  WideInputs each = wide;
  each.whole = wide.whole && operands.size() == 1;
  if (each.mantissas == 0) {
    each.mantissas = operands.size() == 1 ? kDefaultMantissas : kDefaultPairMantissas;
  }
  space.size = 1;
  for (const int operand : operands) {
    space.operands.push_back(operand_space(contract, variant, operand, each));
    space.size *= space.operands.back().size;
  }
  return space;
}

Case space_case(const Contract& contract, const InputSpace& space, int64_t first, int64_t count) {
  Case c;
  c.kernel = contract.name;
  c.types = space.variant.types;
  c.knobs = space.variant.knobs;
  c.flags = space.variant.flags;
  c.value_seed = 1;
  const int64_t inner = space.operands.size() == 2 ? space.operands[1].size : 1;
  c.values[space.operands[0].name] = recipe_for(space.operands[0], first / inner, inner);
  if (inner > 1) {
    // A row of pairs that starts in its middle ends with it.
    if (first % inner != 0) count = std::min(count, inner - first % inner);
    c.values[space.operands[1].name] = recipe_for(space.operands[1], first % inner, 1);
  }
  fit_halving(contract, space, std::min(count, space.size - first), c);
  return c;
}

int64_t case_inputs(const Instance& instance, const InputSpace& space) {
  return instance.tensors[static_cast<size_t>(space.operands[0].operand)].elements();
}

}  // namespace assay
