// Which values a case uses: ordinary, special, known from field reports, exact, witness.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "generators/draft.hpp"
#include "generators/values.hpp"

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Weighted = std::pair<ValueClass, int>;

constexpr std::array<Weighted, 28> kFloating = {{
    {ValueClass::normal, 22},        {ValueClass::uniform, 5},    {ValueClass::bits, 4},
    {ValueClass::log_uniform, 4},    {ValueClass::subnormal, 3},  {ValueClass::zeros, 3},
    {ValueClass::infs, 3},           {ValueClass::nans, 4},       {ValueClass::largest, 3},
    {ValueClass::ties, 3},           {ValueClass::cancelling, 4}, {ValueClass::outlier, 4},
    {ValueClass::equal, 4},          {ValueClass::sorted, 2},     {ValueClass::tied, 2},
    {ValueClass::huge_mean, 5},      {ValueClass::masked, 4},     {ValueClass::near, 6},
    {ValueClass::prefix, 3},         {ValueClass::peak, 3},       {ValueClass::edges, 3},
    {ValueClass::ramp, 3},           {ValueClass::equal_rows, 2}, {ValueClass::exact, 4},
    {ValueClass::patterns, 2},       {ValueClass::lone, 4},       {ValueClass::peak_rows, 1},
    {ValueClass::rounding_edges, 1},
}};

constexpr std::array<Weighted, 15> kInteger = {{
    {ValueClass::bits, 24},
    {ValueClass::edges, 22},
    {ValueClass::uniform, 14},
    {ValueClass::normal, 10},
    {ValueClass::equal, 5},
    {ValueClass::log_uniform, 10},
    {ValueClass::zeros, 2},
    {ValueClass::ramp, 6},
    {ValueClass::sorted, 2},
    {ValueClass::tied, 2},
    {ValueClass::outlier, 2},
    {ValueClass::largest, 2},
    {ValueClass::patterns, 6},
    {ValueClass::lone, 2},
    {ValueClass::rounding_edges, 1},
}};

constexpr std::array<Weighted, 6> kIndex = {{
    {ValueClass::index_uniform, 10},
    {ValueClass::index_repeats, 4},
    {ValueClass::index_edges, 4},
    {ValueClass::index_last, 2},
    {ValueClass::index_first, 2},
    {ValueClass::index_ramp, 3},
}};

template <typename Table>
ValueClass draw_class(const Table& table, Random& random) {
  int64_t total = 0;
  for (const auto& [kind, weight] : table) total += weight;
  int64_t at = random.below(total);
  for (const auto& [kind, weight] : table) {
    if (at < weight) return kind;
    at -= weight;
  }
  return table[0].first;
}

const ValueClassInfo& info_of(ValueClass kind) {
  return value_classes()[static_cast<size_t>(kind)];
}

/// Constants known from field reports, within the range of the type: an f16 square overflows from
/// 256 on, an f32 square from 1.9e19; exp overflows past 88.7 and turns subnormal before -87.3.
double field_constant(DType type, Random& random) {
  if (is_integer(type)) return static_cast<double>(random.pick({1, -1, 2, 3, 7, -7, 100, 127, 0}));
  if (format_of(type).max_exponent < 100) {
    return random.pick({1.0, 0.1, 255.0, 256.0, 2000.0, 11.0, -17.0, 40000.0, 65504.0, 6e-8});
  }
  return random.pick({1.0, 0.1, 256.0, 1.9e19, 1e30, 88.5, 89.0, -88.8, 2000.0, 100000.1, 1e-23,
                      16777216.0, -104.0, 3e38});
}

std::vector<std::pair<std::string, double>> near_parameters(DType type, Random& random) {
  if (is_integer(type)) {
    return {{"value", random.pick({0.0, 64.0, 100.0, -100.0})}, {"spread", 28}};
  }
  const bool wide = format_of(type).max_exponent >= 100;
  const double centre = wide
                            ? random.pick({88.5, -88.8, 2000.0, -104.0, 1.9e19, 1e30, 256.0, -87.5})
                            : random.pick({11.0, 88.5, 256.0, 2000.0, -17.0, -10.0});
  const double spread = std::abs(centre) * random.pick({0.5, 0.0625, 0.0078125});
  return {{"value", centre}, {"spread", spread}};
}

/// Parameters of the classes that shape whole rows or aim at one place.
std::vector<std::pair<std::string, double>> shaped_parameters(ValueClass kind, DType type,
                                                              Random& random) {
  const bool wide = is_floating(type) && format_of(type).max_exponent >= 100;
  std::vector<std::pair<std::string, double>> p;
  switch (kind) {
    case ValueClass::huge_mean:
      if (wide) {
        p = {{"ratio", random.pick({1e4, 1e5, 1e6, -1e4})}, {"scale", random.pick({1.0, 0.01})}};
      } else {
        p = {{"ratio", random.pick({300.0, 2000.0, 10000.0})}, {"scale", random.pick({1.0, 0.05})}};
      }
      break;
    case ValueClass::masked:
      p = {{"scale", random.pick({1.0, 3.0, 30.0})},
           {"rate", random.pick({0.1, 0.5, 0.95})},
           {"rows", random.pick({0.0, 0.1, 0.5})}};
      break;
    case ValueClass::near:
      return near_parameters(type, random);
    case ValueClass::prefix:
      p = {{"ratio", wide ? random.pick({1e4, 1e7}) : 1000.0}};
      break;
    case ValueClass::peak:
      p = {{"low", random.pick({-7, -20, -100})}};
      if (random.chance(0.3)) p.emplace_back("from_end", random.pick({0, 0, 1}));
      break;
    case ValueClass::lone:
      if (!is_floating(type)) return {{"value", random.pick({2e19, -2e19})}, {"scale", 40}};
      if (random.chance(0.5)) break;  // NaN
      p = {{"value", random.pick({kInfinity, -kInfinity, format_of(type).largest,
                                  -format_of(type).largest})}};
      break;
    case ValueClass::peak_rows:
      p = {{"low", random.pick({-7, -20, -100})}, {"power", random.pick({0.5, 0.5, 1.0})}};
      if (random.chance(0.3)) p.emplace_back("from_end", random.pick({0, 1}));
      break;
    case ValueClass::exact:
      if (is_floating(type) && random.chance(0.5))
        p = {{"step", random.pick({0.125, 0.0009765625, 4.0})}};
      break;
    case ValueClass::patterns:
      // Wider types are walked from anywhere, narrow ones from the start.
      if (bit_width(type) > 8 && random.chance(0.7)) {
        p = {{"first", static_cast<double>(random.next() &
                                           ((uint64_t{1} << std::min(bit_width(type), 52)) - 1))}};
      }
      break;
    case ValueClass::exact_logits:
      p = {{"rate", random.pick({0.1, 0.5, 0.9})}};
      break;
    case ValueClass::witness:
      if (random.chance(0.5)) p = {{"gap", random.pick({1, 2, 16, 32, 128, 256})}};
      p.emplace_back("tail", random.pick({1, 3, 8}));
      break;
    case ValueClass::index_ramp:
      if (random.chance(0.5)) p = {{"step", random.pick({7, 64, 4097})}};
      break;
    default:
      break;
  }
  return p;
}

}  // namespace

ValueRecipe recipe_of(ValueClass kind, DType type, Random& random) {
  const bool floating = is_floating(type);
  const bool wide = floating && format_of(type).max_exponent >= 100;
  ValueRecipe recipe{info_of(kind).name, {}};
  auto& p = recipe.parameters;
  const double scale = floating ? random.pick({1.0, 1.0, 0.01, 3.0, 10.0, 100.0})
                                : random.pick({5.0, 40.0, 1000.0, 1e6});
  switch (kind) {
    case ValueClass::normal:
      if (scale != 1) p = {{"scale", scale}};
      if (random.chance(0.15)) p.emplace_back("mean", floating ? 4 : 50);
      break;
    case ValueClass::uniform:
      if (!floating) p = {{"low", is_signed(type) ? -10 : 0}, {"high", random.pick({3, 10, 100})}};
      if (floating && random.chance(0.5)) p = {{"low", 0}, {"high", scale}};
      break;
    case ValueClass::log_uniform:
      if (floating && random.chance(0.5)) p = {{"low", -8}, {"high", 8}};
      break;
    case ValueClass::infs:
    case ValueClass::nans:
    case ValueClass::largest:
      p = {{"rate", random.pick({0.01, 0.1, 0.5})}};
      if (kind == ValueClass::largest && random.chance(0.5)) p = {};
      break;
    case ValueClass::ties:
      p = {{"precision", type == DType::f32 ? random.pick({8, 11, 11}) : random.pick({8, 24})}};
      break;
    case ValueClass::beside_ties:
      p = {{"precision", random.pick({4, 8, 11, 24})}};
      break;
    case ValueClass::rounding_edges:
      return rounding_edges_recipe(type);
    case ValueClass::outlier:
      p = {{"factor", wide ? random.pick({1e3, 1e4, 1e8, 1e20}) : 1000.0}};
      break;
    case ValueClass::equal:
      p = {{"value", field_constant(type, random)}};
      break;
    case ValueClass::sorted:
      p = {{"scale", floating ? random.pick({4.0, -4.0, 30.0}) : 100.0}};
      break;
    default:
      p = shaped_parameters(kind, type, random);
      break;
  }
  return recipe;
}

ValueRecipe beside_ties_recipe(const Facts& facts, const Variant& variant, DType type,
                               Random& random) {
  const std::vector<int> narrower = narrower_precisions(facts.contract, variant, type);
  if (narrower.empty()) return recipe_of(ValueClass::beside_ties, type, random);
  const auto at = static_cast<size_t>(random.below(static_cast<int64_t>(narrower.size())));
  return {"beside_ties", {{"precision", narrower[at]}}};
}

ValueRecipe rounding_edges_recipe(DType to) {
  const bool floating = is_floating(to);
  const int precision = precision_of(to);
  const double largest = floating ? format_of(to).largest : std::ldexp(1.0, precision) - 1;
  const double least = floating ? format_of(to).smallest_subnormal() : 1;
  return {"rounding_edges", {{"precision", precision}, {"largest", largest}, {"least", least}}};
}

ValueRecipe rounding_recipe(const Facts& facts, const Variant& variant, DType type,
                            Random& random) {
  const std::vector<DType> rounded = rounded_types(facts.contract, variant, type);
  return rounding_edges_recipe(rounded.empty() ? type : random.pick(rounded));
}

ValueRecipe draw_recipe(const Facts& facts, const Variant& variant, const OperandSpec& operand,
                        DType type, Random& random) {
  if (operand.kind == OperandKind::index)
    return recipe_of(draw_class(kIndex, random), type, random);
  const bool narrows = !narrower_precisions(facts.contract, variant, type).empty();
  if (narrows && random.chance(0.1)) return beside_ties_recipe(facts, variant, type, random);
  const bool rounds = !rounded_types(facts.contract, variant, type).empty();
  if (rounds && random.chance(0.06)) return rounding_recipe(facts, variant, type, random);
  if (is_integer(type)) return recipe_of(draw_class(kInteger, random), type, random);
  if (facts.variance && random.chance(0.12)) return recipe_of(ValueClass::huge_mean, type, random);
  if (facts.exponential && random.chance(0.12)) {
    return recipe_of(random.pick({ValueClass::masked, ValueClass::near, ValueClass::peak}), type,
                     random);
  }
  if (facts.selecting && random.chance(0.06)) return recipe_of(ValueClass::lone, type, random);
  if (facts.ranking && random.chance(0.1)) return recipe_of(ValueClass::peak, type, random);
  return recipe_of(draw_class(kFloating, random), type, random);
}

namespace {

/// Exponents that are sums of products: equal ones (a factor of zeros, or of ones beside rows of
/// one value each) or integers, and integers to be averaged.
ValueRecipe exact_factor_recipe(const Facts& facts, const std::string& operand, DType type,
                                Random& random) {
  const auto& factors = facts.exponent_factors;
  const auto place = std::find(factors.begin(), factors.end(), operand);
  if (place == factors.end()) return {"exact", {}};
  if (place == factors.begin()) {
    if (random.chance(0.5)) return {"equal", {{"value", 1}}};
    return {"equal", {{"value", 0}}};
  }
  if (random.chance(0.5)) return recipe_of(ValueClass::equal_rows, type, random);
  return {"exact", {{"limit", random.pick({1, 8})}}};
}

}  // namespace

ValueRecipe exact_recipe(const Facts& facts, const std::string& operand, DType type, bool first,
                         Random& random) {
  if (is_integer(type)) return recipe_of(ValueClass::exact, type, random);
  if (!facts.exponent_factors.empty()) return exact_factor_recipe(facts, operand, type, random);
  if (facts.exponential) {
    return recipe_of(random.chance(0.6) ? ValueClass::exact_logits : ValueClass::equal_rows, type,
                     random);
  }
  return first || facts.value_inputs < 3 ? ValueRecipe{"exact", {}}
                                         : ValueRecipe{"exact", {{"limit", 1}}};
}

void peak_exponents(const Facts& facts, Random& random, Case& c) {
  for (const std::string& factor : facts.exponent_factors) {
    const DType type = resolve_dtype(*facts.contract.find_operand(factor), c.variant());
    if (!is_floating(type)) continue;
    c.values[factor] = factor == facts.exponent_factors.front()
                           ? ValueRecipe{"equal", {{"value", 1}}}
                           : recipe_of(ValueClass::peak_rows, type, random);
  }
}

void draw_values(const Facts& facts, Random& random, Case& c) {
  c.values.clear();
  const Variant variant = c.variant();
  const double style = unit_real(random.next());
  const bool witness = facts.reducing && !facts.exponential && style < 0.10;
  const bool exact = !witness && style < (facts.reducing ? 0.36 : 0.12);
  // A floating operand: codes of integers beside it carry none.
  int64_t carriers = 0;
  for (const OperandSpec& operand : facts.contract.args) {
    const bool is_value = operand.kind == OperandKind::input || operand.kind == OperandKind::inout;
    carriers += is_value && is_floating(resolve_dtype(operand, variant));
  }
  int64_t carrier = random.below(std::max<int64_t>(1, carriers));
  bool first = true;
  for (const OperandSpec& operand : facts.contract.args) {
    const bool is_value = operand.kind == OperandKind::input || operand.kind == OperandKind::inout;
    if (!is_value && operand.kind != OperandKind::index) continue;
    const DType type = resolve_dtype(operand, variant);
    ValueRecipe recipe;
    if (is_value && witness && is_floating(type)) {
      // One operand carries the witness; ones beside it keep every term's size.
      recipe = carrier == 0 ? recipe_of(ValueClass::witness, type, random)
                            : ValueRecipe{"equal", {{"value", 1}}};
    } else if (is_value && exact) {
      recipe = exact_recipe(facts, operand.name, type, first, random);
    } else {
      recipe = draw_recipe(facts, variant, operand, type, random);
    }
    if (is_value) {
      first = false;
      if (is_floating(type)) --carrier;
    }
    c.values[operand.name] = std::move(recipe);
  }
  if (style > 0.95) peak_exponents(facts, random, c);
}

void draw_overrides(const Instance& instance, Random& random, Case& c) {
  std::vector<const Tensor*> eligible;
  for (const Tensor& tensor : instance.tensors) {
    const OperandSpec& spec = *tensor.spec;
    const bool is_value = spec.kind == OperandKind::input || spec.kind == OperandKind::inout;
    if (tensor.present && is_value && !spec.sorted && tensor.elements() > 0)
      eligible.push_back(&tensor);
  }
  if (eligible.empty()) return;
  const Tensor& tensor = *random.pick(eligible);
  PointOverride point;
  point.operand = tensor.spec->name;
  for (const int64_t extent : tensor.shape) {
    point.at.push_back(random.chance(0.3) ? extent - 1 : random.below(extent));
  }
  if (is_floating(tensor.dtype)) {
    point.text = random.pick({"nan", "inf", "-inf", "-0", "0", "1", "-1000", "88.8"});
    if (random.chance(0.2)) {
      point.text.clear();
      point.bits = random.next() & ((uint64_t{1} << (bit_width(tensor.dtype) - 1)) - 1);
    }
  } else {
    point.text = random.pick({"0", "1", "2", "100"});
    if (is_signed(tensor.dtype)) point.text = random.pick({"0", "-1", "1", "-7", "100"});
  }
  const auto same = [&](const PointOverride& other) {
    return other.operand == point.operand && other.at == point.at;
  };
  if (std::none_of(c.overrides.begin(), c.overrides.end(), same)) {
    c.overrides.push_back(std::move(point));
  }
}

}  // namespace assay
