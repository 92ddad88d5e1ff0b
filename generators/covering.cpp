// The first cases of any run: small, fixed, and together one of everything.
#include <algorithm>
#include <set>

#include "generators/draft.hpp"
#include "generators/pairwise.hpp"
#include "generators/values.hpp"

namespace assay {
namespace {

constexpr int kOrdinaryCases = 48;
constexpr int kMostOrdinaryCases = 96;  // until every operand has seen every class that suits it
constexpr int64_t kOrdinaryWork = 1 << 13;
constexpr int64_t kFarWork = 1 << 16;
/// A block of a grid-stride kernel owns a part of the whole: one such case may cost more.
constexpr int64_t kMostFarWork = int64_t{5} << 20;

/// The variants in turn, each round against other kinds of sizes, values and layouts.
class Variants {
 public:
  explicit Variants(const Contract& contract)
      : contract_(contract), all_(pairwise_variants(contract)) {}
  int count() const { return static_cast<int>(all_.size()); }
  void choose(int i, Case& c) const {
    // Relations that nothing satisfies: the case's own check says so.
    const Variant variant = all_.empty() ? first_choices() : all_[static_cast<size_t>(at(i))];
    c.types = variant.types;
    c.knobs = variant.knobs;
    c.flags = variant.flags;
    for (const OperandSpec& operand : contract_.args) {
      if (operand.values.empty()) continue;
      c.scalars[operand.name] = i % static_cast<int64_t>(operand.values.size());
    }
  }

 private:
  int at(int i) const { return (i + i / count()) % count(); }
  Variant first_choices() const {
    Variant first;
    for (const TypeParameter& type : contract_.types) first.types[type.name] = type.kinds[0];
    for (const Knob& knob : contract_.knobs) first.knobs[knob.name] = knob.values[0];
    for (const std::string& flag : contract_.flags) first.flags[flag] = 0;
    return first;
  }
  const Contract& contract_;
  const std::vector<Variant> all_;
};

/// Sizes that the contract lists come in pairs, as variants do; the others share what is left.
void choose_sizes(const Facts& facts, const std::map<std::string, int64_t>& listed, int i,
                  Random& random, Case& c) {
  int64_t left = kOrdinaryWork / 4;
  int open = 0;
  for (size_t j = 0; j < facts.contract.sizes.size(); ++j) {
    const auto given = listed.find(facts.contract.sizes[j].name);
    if (given != listed.end()) c.sizes[given->first] = given->second;
    if (!facts.costly[j]) continue;
    open += given == listed.end() ? 1 : 0;
    if (given != listed.end())
      left = std::max<int64_t>(1, left / std::max<int64_t>(1, given->second));
  }
  for (size_t j = 0; j < facts.contract.sizes.size(); ++j) {
    const SizeSpec& size = facts.contract.sizes[j];
    if (listed.contains(size.name)) continue;
    // The first rounds give size j its kinds in turn, each round against other kinds of the rest.
    const int kind = (i + static_cast<int>(j) * (5 + i / kSizeKinds)) % kSizeKinds;
    int64_t cap = facts.costly[j] ? left : std::min<int64_t>(size.max, 1 << 16);
    if (facts.costly[j] && facts.scarce) cap = even_share(left, open--);
    const int64_t value = draw_size(facts, size, static_cast<SizeKind>(kind), cap, random);
    c.sizes[size.name] = value;
    if (facts.costly[j]) left = std::max<int64_t>(1, left / std::max<int64_t>(1, value));
  }
  const auto& sizes = facts.contract.sizes;
  if (sizes.empty()) return;
  fit_ties(facts.contract, sizes[static_cast<size_t>(i) % sizes.size()].name, c);
}

bool suits(const ValueClassInfo& info, const OperandSpec& operand, DType type) {
  if (operand.kind == OperandKind::index) return info.for_index;
  return is_floating(type) ? info.for_floating : info.for_integer;
}

/// Which classes each operand still has to see. A class, or a variant, that only empty outputs show
/// is one that nobody has seen.
class ClassTurns {
 public:
  /// The next class that suits, those not seen yet first.
  ValueClass next(const OperandSpec& operand, DType type) {
    std::vector<int>& seen = seen_[operand.name];
    seen.resize(value_classes().size(), 0);
    int best = -1;
    for (size_t i = 0; i < seen.size(); ++i) {
      if (!suits(value_classes()[i], operand, type)) continue;
      if (best < 0 || seen[i] < seen[best]) best = static_cast<int>(i);
    }
    ++seen[best];
    return value_classes()[best].kind;
  }
  /// The turn of values is still to come where mending gave the operand others, where it has no
  /// element, and where the case is none (nullopt) or computes nothing.
  void take_back(const Case& drawn, const std::optional<Instance>& settled) {
    const bool computes = settled && settled->has_output();
    for (auto& [name, seen] : seen_) {
      const auto was = drawn.values.find(name);
      if (was == drawn.values.end()) continue;
      if (computes) {
        const Tensor& tensor = *settled->find(name);
        const auto is = settled->the_case.values.find(name);
        const bool kept = is != settled->the_case.values.end() && is->second == was->second;
        if (kept && tensor.present && tensor.elements() > 0) continue;
      }
      const ValueClassInfo* const info = find_value_class(was->second.name);
      int& count = seen[static_cast<size_t>(info->kind)];
      count = std::max(0, count - 1);
    }
  }
  /// True when another case would show some operand a class for the first time.
  bool pending(const Facts& facts) const {
    for (const auto& [name, seen] : seen_) {
      const OperandSpec& operand = *facts.contract.find_operand(name);
      for (const DType type : types_of(facts.contract, operand)) {
        for (size_t i = 0; i < seen.size(); ++i) {
          if (seen[i] == 0 && suits(value_classes()[i], operand, type)) return true;
        }
      }
    }
    return false;
  }

 private:
  static std::vector<DType> types_of(const Contract& contract, const OperandSpec& operand) {
    for (const TypeParameter& parameter : contract.types) {
      if (parameter.name == operand.dtype) return parameter.kinds;
    }
    return {*parse_dtype(operand.dtype)};
  }
  std::map<std::string, std::vector<int>> seen_;
};

void choose_values(const Facts& facts, int i, ClassTurns& turns, Random& random, Case& c) {
  const Variant variant = c.variant();
  bool first = true;
  for (const OperandSpec& operand : facts.contract.args) {
    const bool read = operand.kind == OperandKind::input || operand.kind == OperandKind::inout ||
                      operand.kind == OperandKind::index;
    if (!read) continue;
    const DType type = resolve_dtype(operand, variant);
    // One case in four is exact in all of its operands.
    const bool exact = i % 4 == 3 && operand.kind != OperandKind::index;
    const auto in_turn = [&] {
      const ValueClass kind = turns.next(operand, type);
      if (kind == ValueClass::beside_ties) return beside_ties_recipe(facts, variant, type, random);
      return kind == ValueClass::rounding_edges ? rounding_recipe(facts, variant, type, random)
                                                : recipe_of(kind, type, random);
    };
    c.values[operand.name] =
        exact ? exact_recipe(facts, operand.name, type, first, random) : in_turn();
    first = false;
  }
}

void choose_layouts(const Instance& instance, int i, Random& random, Case& c) {
  for (const Tensor& tensor : instance.tensors) {
    if (tensor.is_scalar() || !tensor.present) continue;
    Layout layout;
    const auto kind = static_cast<LayoutKind>((i + tensor.position) % kLayoutKinds);
    if (!make_layout(tensor, kind, random, layout)) {
      if (!make_layout(tensor, LayoutKind::padded, random, layout)) layout = {};
    }
    if (i % 3 == 1) draw_base(instance, tensor, random, layout);
    if (layout != Layout{}) c.layouts[tensor.spec->name] = std::move(layout);
  }
}

/// The choices of the contract, in turn.
struct Choices {
  explicit Choices(const Contract& contract)
      : variants(contract), listed(pairwise_listed_sizes(contract)) {}
  /// Listed sizes of a number; each round beside other variants than the round before.
  const std::map<std::string, int64_t>& listed_of(int i) const {
    const int count = static_cast<int>(listed.size());
    return listed[static_cast<size_t>((i + 3 * (i / count)) % count)];
  }
  const Variants variants;
  const std::vector<std::map<std::string, int64_t>> listed;
};

/// Variant i, and everything else in its turn i + later.
Case ordinary_case(const Facts& facts, const Choices& choices, int i, int later, ClassTurns& turns,
                   Random& random) {
  Case c;
  c.kernel = facts.contract.name;
  choices.variants.choose(i, c);
  choose_sizes(facts, choices.listed_of(i), i + later, random, c);
  choose_values(facts, i + later, turns, random, c);
  c.value_seed = static_cast<uint64_t>(i) + 1;
  c.block_seed = static_cast<uint64_t>(i % 2);
  c.warp_seed = static_cast<uint64_t>(i % 3);
  return c;
}

/// What the listed sizes cost beside the least of the others; 0 where relations forbid those.
int64_t listed_work(const Facts& facts, Case c) {
  const Case least = least_case(facts.contract);
  for (const SizeSpec& size : facts.contract.sizes) {
    if (size.in.empty()) c.sizes[size.name] = least.sizes.at(size.name);
  }
  c.values.clear();
  return work_if_valid(facts.contract, c).value_or(0);
}

/// Settles a case with the listed sizes that it has, where that can be.
std::optional<Instance> settle_listed(const Facts& facts, int64_t work_limit, Random& random,
                                      Case& c) {
  Case kept = c;
  const int64_t least = listed_work(facts, c);
  const int64_t limit = std::max({work_limit, 2 * least, std::min(8 * least, kFarWork)});
  if (auto instance = settle(facts, kept, limit, random, Listed::kept)) {
    c = std::move(kept);
    return instance;
  }
  return settle(facts, c, work_limit, random);
}

/// Variants for which the first sizes that were drawn fit nothing, or compute nothing.
void add_missed(const Facts& facts, const Choices& choices, std::set<Variant> reached,
                std::vector<Case>& out) {
  const Variants& variants = choices.variants;
  constexpr int kTries = 16;
  for (int i = 0; i < variants.count(); ++i) {
    Case c;
    variants.choose(i, c);
    for (int attempt = 0; attempt < kTries && !reached.contains(c.variant()); ++attempt) {
      Random random(static_cast<uint64_t>(5000 + kTries * i + attempt));
      ClassTurns turns;
      Case again = ordinary_case(facts, choices, i, attempt, turns, random);
      const auto instance = settle(facts, again, kOrdinaryWork << (attempt / 4), random);
      if (!instance || !instance->has_output()) continue;
      reached.insert(again.variant());
      out.push_back(std::move(again));
    }
  }
}

void add_ordinary(const Facts& facts, const Choices& choices, std::vector<Case>& out) {
  ClassTurns turns;
  std::set<Variant> reached;
  const int least =
      std::max({kOrdinaryCases, choices.variants.count(), static_cast<int>(choices.listed.size())});
  const int most = std::max(kMostOrdinaryCases, least);
  for (int i = 0; i < least || (i < most && turns.pending(facts)); ++i) {
    Random random(static_cast<uint64_t>(1000 + i));
    Case c = ordinary_case(facts, choices, i, 0, turns, random);
    const Case drawn = c;
    const auto instance = settle_listed(facts, kOrdinaryWork, random, c);
    turns.take_back(drawn, instance);
    if (!instance) continue;
    Case laid_out = c;
    choose_layouts(*instance, i, random, laid_out);
    const int64_t limit = std::max(kOrdinaryWork, work_estimate(*instance));
    if (settle(facts, laid_out, limit, random, Listed::kept)) c = std::move(laid_out);
    if (instance->has_output()) reached.insert(c.variant());
    out.push_back(std::move(c));
  }
  add_missed(facts, choices, reached, out);
}

/// Five steps of 2^30: offsets of exactly 2^31 and 2^32 elements, and of 2^32 bytes on the way.
void add_far_strides(const Facts& facts, const Variants& variants, std::vector<Case>& out) {
  for (const OperandSpec& operand : facts.contract.args) {
    if (operand.kind == OperandKind::scalar || operand.strides.size() != operand.shape.size())
      continue;
    for (const size_t d : free_strides(operand)) {
      const SizeSpec* const size = size_of_dimension(facts.contract, operand.shape[d]);
      if (size == nullptr || size->max < 2) continue;
      for (int i = 0; i < 2; ++i) {
        Random random(static_cast<uint64_t>(2000 + i));
        Case c;
        c.kernel = facts.contract.name;
        variants.choose(i, c);
        for (const SizeSpec& other : facts.contract.sizes) {
          c.sizes[other.name] = draw_size(facts, other, SizeKind::prime, 40, random);
        }
        c.sizes[size->name] = size->in.empty()
                                  ? std::clamp<int64_t>(5, size->min, size->max)
                                  : *std::max_element(size->in.begin(), size->in.end());
        telling_values(facts, random, c);
        c.value_seed = 77;
        const auto instance = settle(facts, c, kFarWork, random);
        if (!instance || !instance->find(operand.name)->present) continue;
        Layout layout;
        layout.strides = instance->find(operand.name)->strides;
        layout.strides[d] = int64_t{1} << 30;
        c.layouts[operand.name] = std::move(layout);
        if (settle(facts, c, kFarWork, random) && c.layouts.contains(operand.name)) {
          out.push_back(std::move(c));
        }
      }
    }
  }
}

int64_t farthest_element(const Instance& instance) {
  int64_t most = 0;
  for (const Tensor& tensor : instance.tensors) {
    if (!tensor.is_scalar() && tensor.present) most = std::max(most, tensor.storage_elements);
  }
  return most;
}

/// Counts past 2^31 and past 2^32, and grids past 65535 blocks, where sizes and ownership allow.
void add_far_counts(const Facts& facts, const Variants& variants, std::vector<Case>& out) {
  bool past_31 = false, past_32 = false;
  int many = 0;
  for (int i = 0; i < 24 && !(past_31 && past_32 && many >= 4); ++i) {
    Random random(static_cast<uint64_t>(3000 + i));
    Case c;
    c.kernel = facts.contract.name;
    variants.choose(i / 2, c);
    const bool counts = i % 2 == 0 && !(past_31 && past_32);
    if (!(counts ? draw_far_count(facts, kMostFarWork, random, c)
                 : draw_many_blocks(facts, random, c)))
      continue;
    telling_values(facts, random, c);
    c.value_seed = static_cast<uint64_t>(i);
    const auto instance = settle(facts, c, counts ? kMostFarWork : kFarWork, random);
    if (!instance || c.blocks.empty()) continue;
    if (!counts) {
      if (++many > 4) continue;
    } else {
      const bool passes_31 = farthest_element(*instance) > int64_t{1} << 31;
      const bool passes_32 = farthest_element(*instance) > int64_t{1} << 32;
      if ((!passes_31 || past_31) && (!passes_32 || past_32)) continue;
      past_31 |= passes_31;
      past_32 |= passes_32;
    }
    out.push_back(std::move(c));
  }
}

}  // namespace

void telling_values(const Facts& facts, Random& random, Case& c) {
  c.values.clear();
  const Variant variant = c.variant();
  for (const OperandSpec& operand : facts.contract.args) {
    if (operand.kind == OperandKind::index) {
      c.values[operand.name] = {"index_edges", {}};
    } else if (operand.kind == OperandKind::input || operand.kind == OperandKind::inout) {
      const DType type = resolve_dtype(operand, variant);
      c.values[operand.name] =
          is_floating(type) ? ValueRecipe{"normal", {}} : recipe_of(ValueClass::bits, type, random);
    }
  }
}

std::vector<Case> covering_cases(const Contract& contract) {
  const Facts facts(contract);
  std::vector<Case> out;
  const LaunchEdges edges = launch_edges(contract);
  add_breaking(facts, edges, out);  // first: they cost nothing, and a run may be short
  const Choices choices(contract);
  const Variants& variants = choices.variants;
  const auto choose = [&](int number, Case& c) { variants.choose(number, c); };
  add_unowned(facts, choose, out);
  add_ordinary(facts, choices, out);
  add_rounding_edges(facts, variants.count(), choose, out);
  add_in_place(contract, out);
  add_properties(facts, out);
  add_far_strides(facts, variants, out);
  add_far_counts(facts, variants, out);
  add_within_limits(facts, edges, out);
  add_joint_sizes(facts, choose, out);
  add_past_thresholds(facts, choose, out);
  add_largest(facts, choose, out);
  return out;
}

}  // namespace assay
