// Changes a case by domain, one thing at a time, and crosses two cases part by part.
#include <algorithm>

#include "generators/draft.hpp"
#include "generators/values.hpp"
#include "kernels_under_test/variants.hpp"

namespace assay {
namespace {

constexpr double kMovedInPlace = 0.1;  // of mutants: operands that change their memory

/// The parts that describe an experiment; what it once recorded belongs to the old one, and so does
/// the property that it was compared by: it is drawn for each mutant as for a fresh case, unless
/// it is what the case was kept for.
Case fresh(const Case& c) {
  Case out = c;
  out.recorded = {};
  out.comments.clear();
  out.places = {};
  out.property = {};
  return out;
}

void mutate_variant(const Contract& contract, Random& random, Case& c) {
  Case other = c;
  draw_variant(contract, random, other);
  switch (random.below(4)) {
    case 0:
      c.types = other.types;
      break;
    case 1:
      c.knobs = other.knobs;
      break;
    case 2:
      c.flags = other.flags;
      break;
    default:
      c.scalars = other.scalars;
      break;
  }
  if (admits_choices(contract, c.variant())) return;
  c.types = other.types;  // choices that a relation ties change together
  c.knobs = other.knobs;
  c.flags = other.flags;
}

/// A size at, beside, or a multiple or a fraction of one that the kernel knows; or as long as
/// another size of the case, for what happens where two are alike.
int64_t hinted_size(const std::vector<int64_t>& hints, Random& random, const Case& c) {
  if (hints.empty() || random.chance(0.25)) {
    auto other = c.sizes.begin();
    std::advance(other, random.below(static_cast<int64_t>(c.sizes.size())));
    return other->second + random.pick<int64_t>({0, 0, 1, -1});
  }
  const int64_t hint = random.pick(hints);
  const int64_t scaled =
      random.chance(0.5) ? hint : hint * random.between(1, 9) / random.pick<int64_t>({1, 1, 2, 4});
  return scaled + random.pick<int64_t>({0, 0, 1, -1});
}

void mutate_size(const Facts& facts, const MutationHints& hints, Random& random, Case& c) {
  if (facts.contract.sizes.empty()) return;
  const SizeSpec& size = random.pick(facts.contract.sizes);
  int64_t& value = c.sizes[size.name];
  if (!size.in.empty()) {
    value = random.pick(size.in);
    fit_ties(facts.contract, size.name, c);
    return;
  }
  const int64_t cap = std::min<int64_t>(size.max, 1 << 14);
  switch (random.below(8)) {
    case 0:
      value += 1;
      break;
    case 1:
      value -= 1;
      break;
    case 2:
      value = value > size.max / 2 ? size.max : value * 2;
      break;
    case 3:
      value /= 2;
      break;
    case 4:
      value += random.pick(facts.steps) * (random.chance(0.5) ? 1 : -1);
      break;
    case 5:
    case 6:
      value = hinted_size(hints.sizes, random, c);
      break;
    default:
      value = draw_size(facts, size, draw_size_kind(random), cap, random);
      break;
  }
  value = std::clamp(value, size.min, size.max);
  fit_ties(facts.contract, size.name, c);
}

template <typename Wanted>
const OperandSpec* pick_operand(const Contract& contract, Random& random, Wanted wanted) {
  std::vector<const OperandSpec*> eligible;
  for (const OperandSpec& operand : contract.args) {
    if (wanted(operand)) eligible.push_back(&operand);
  }
  return eligible.empty() ? nullptr : random.pick(eligible);
}

void mutate_layout(const Contract& contract, Random& random, Case& c) {
  const OperandSpec* const operand = pick_operand(
      contract, random, [](const OperandSpec& o) { return o.kind != OperandKind::scalar; });
  if (operand == nullptr) return;
  if (random.chance(0.3)) {
    c.layouts.erase(operand->name);
    return;
  }
  Case plain = c;
  plain.layouts.erase(operand->name);
  // Where a relation asks for the layout, the shape is known from the case as it is.
  std::optional<Instance> valid = if_valid(contract, plain);
  if (!valid) valid = if_valid(contract, c);
  if (!valid) return;  // an earlier change broke the case: settling mends it
  const Instance& instance = *valid;
  const Tensor& tensor = *instance.find(operand->name);
  Layout layout;
  const auto found = c.layouts.find(operand->name);
  if (found != c.layouts.end()) layout = found->second;
  const auto kind = static_cast<LayoutKind>(random.below(kLayoutKinds));
  if (random.chance(0.6) && !make_layout(tensor, kind, random, layout)) return;
  if (random.chance(0.5)) draw_base(instance, tensor, random, layout);
  c.layouts[operand->name] = std::move(layout);
}

void mutate_recipe(const Facts& facts, Random& random, Case& c) {
  const OperandSpec* const operand = pick_operand(facts.contract, random, [](const OperandSpec& o) {
    return o.kind == OperandKind::input || o.kind == OperandKind::inout ||
           o.kind == OperandKind::index;
  });
  if (operand == nullptr) return;
  if (random.chance(0.2)) {
    draw_values(facts, random, c);
    return;
  }
  const Variant variant = c.variant();
  const DType type = resolve_dtype(*operand, variant);
  const auto found = c.values.find(operand->name);
  if (found != c.values.end() && !found->second.parameters.empty() && random.chance(0.3)) {
    double& value =
        found->second
            .parameters[random.below(static_cast<int64_t>(found->second.parameters.size()))]
            .second;
    value *= random.pick({0.5, 2.0, -1.0, 1.0625, 16.0});
    return;
  }
  c.values[operand->name] = draw_recipe(facts, variant, *operand, type, random);
}

void mutate_seed(Random& random, Case& c) {
  Case other;
  draw_seeds(random, other);
  switch (random.below(3)) {
    case 0:
      c.value_seed = other.value_seed;
      break;
    case 1:
      c.block_seed = other.block_seed;
      break;
    default:
      c.warp_seed = other.warp_seed;
      break;
  }
}

void mutate_blocks(const Facts& facts, const Instance& instance, Random& random, Case& c) {
  if (!facts.subset_allowed || instance.launches.empty()) return;
  if (!c.blocks.empty() && random.chance(0.3)) {
    c.blocks.clear();
  } else if (c.blocks.size() > 1 && random.chance(0.4)) {
    c.blocks.erase(c.blocks.begin() + random.below(static_cast<int64_t>(c.blocks.size())));
  } else {
    c.blocks = notable_blocks(instance.launches[0].grid, unit_real(random.next()),
                              static_cast<int>(random.between(2, 6)), random);
  }
}

void mutate_overrides(const Instance& instance, Random& random, Case& c) {
  if (!c.overrides.empty() && random.chance(0.4)) {
    c.overrides.erase(c.overrides.begin() + random.below(static_cast<int64_t>(c.overrides.size())));
  } else if (c.overrides.size() < 16) {
    draw_overrides(instance, random, c);
  }
}

void mutate_far(const Facts& facts, Random& random, Case& c) {
  Case far = c;
  far.overrides.clear();
  far.blocks.clear();
  const int64_t which = random.below(4);
  const bool drawn = which < 2    ? draw_far_stride(facts, random, far)
                     : which == 2 ? draw_far_count(facts, kMostDrawnFarWork, random, far)
                                  : draw_many_blocks(facts, random, far);
  if (drawn) c = std::move(far);
}

void mutate_once(const Facts& facts, const Instance& instance, const MutationHints& hints,
                 Random& random, Case& c) {
  const int64_t which = random.below(100);
  if (which < 25) {
    mutate_size(facts, hints, random, c);
  } else if (which < 50) {
    mutate_recipe(facts, random, c);
  } else if (which < 62) {
    mutate_seed(random, c);
  } else if (which < 74) {
    mutate_layout(facts.contract, random, c);
  } else if (which < 84) {
    mutate_overrides(instance, random, c);
  } else if (which < 92) {
    mutate_variant(facts.contract, random, c);
  } else if (which < 96) {
    mutate_blocks(facts, instance, random, c);
  } else {
    mutate_far(facts, random, c);
  }
}

/// Drops what a change of sizes or types leaves without a place.
void drop_strays(const Contract& contract, Case& c) {
  Case bare = c;
  bare.layouts.clear();
  bare.values.clear();
  bare.overrides.clear();
  bare.blocks.clear();
  std::optional<Instance> instance = if_valid(contract, bare);
  if (!instance) {
    bare.layouts = c.layouts;  // a relation over strides may need them
    instance = if_valid(contract, bare);
  }
  if (!instance) return;  // settle mends the rest
  std::erase_if(c.overrides, [&](const PointOverride& point) {
    const Tensor* const tensor = instance->find(point.operand);
    if (tensor == nullptr || tensor->shape.size() != point.at.size()) return true;
    for (size_t d = 0; d < point.at.size(); ++d) {
      if (point.at[d] < 0 || point.at[d] >= tensor->shape[d]) return true;
    }
    return point.text.empty() && bit_width(tensor->dtype) < 64 &&
           point.bits >> bit_width(tensor->dtype) != 0;
  });
  std::erase_if(c.values, [&](const auto& entry) {
    const ValueClassInfo* const info = find_value_class(entry.second.name);
    const Tensor* const tensor = instance->find(entry.first);
    if (info == nullptr || tensor == nullptr) return true;
    if (tensor->spec->kind == OperandKind::index) return !info->for_index;
    return is_floating(tensor->dtype) ? !info->for_floating : !info->for_integer;
  });
  if (!c.blocks.empty() && instance->launches.size() == 1) {
    const auto& grid = instance->launches[0].grid;
    std::erase_if(c.blocks, [&](int64_t block) { return block >= grid[0] * grid[1] * grid[2]; });
  }
}

/// Keeps the layouts that still fit; the others become contiguous.
void drop_layouts(const Contract& contract, Case& c) {
  for (const auto& [operand, layout] : std::map<std::string, Layout>(c.layouts)) {
    Case alone = c;
    alone.layouts = {{operand, layout}};
    alone.values.clear();
    alone.overrides.clear();
    alone.blocks.clear();
    if (!if_valid(contract, alone)) c.layouts.erase(operand);
  }
}

/// Most mutants stay small, as generated cases do: a search that doubles sizes now and then would
/// otherwise end with all its time in cases at the limit.
int64_t draw_limit(int64_t work_limit, Random& random) {
  const double style = unit_real(random.next());
  return style < 0.9 ? work_limit / 8 : style < 0.98 ? work_limit / 2 : work_limit;
}

/// `c` made valid, or `fallback` (valid) with other values.
Case settled(const Facts& facts, Case c, const Case& fallback, int64_t work_limit, Random& random) {
  if (!if_valid(facts.contract, c)) {
    drop_strays(facts.contract, c);
    if (!if_valid(facts.contract, c)) drop_layouts(facts.contract, c);
  }
  if (settle(facts, c, work_limit, random)) return c;
  Case out = fallback;
  out.value_seed = random.next() >> 32;
  return out;
}

}  // namespace

Case mutate_case(const Contract& contract, const Case& c, Seed seed, const MutationHints& hints,
                 int64_t work_limit) {
  const Facts facts(contract);
  Random random(seed.value);
  const int64_t limit = draw_limit(work_limit, random);
  const Instance instance = instantiate(contract, c);
  Case before = fresh(c);
  const bool keeps = hints.keep_property && !c.property.name.empty();
  if (keeps) before.property = c.property;
  const int64_t most = keeps ? kMostPropertyCost * work_limit : limit;
  Case after = before;
  for (int tries = 0; tries < 8 && after == before; ++tries) {
    after = before;
    mutate_once(facts, instance, hints, random, after);
    if (after != before) after = settled(facts, std::move(after), before, most, random);
  }
  draw_aliases(contract, kMovedInPlace, random, after);
  if (!keeps) draw_comparison(contract, work_limit, random, after);
  return after;
}

Case cross_cases(const Contract& contract, const Case& a, const Case& b, Seed seed,
                 int64_t work_limit) {
  const Facts facts(contract);
  Random random(seed.value);
  const int64_t limit = draw_limit(work_limit, random);
  Case out = fresh(a);
  const auto cross = [&](auto Case::*part) {
    if (random.chance(0.5)) out.*part = b.*part;
  };
  cross(&Case::types);
  cross(&Case::sizes);
  cross(&Case::knobs);
  cross(&Case::flags);
  cross(&Case::scalars);
  cross(&Case::layouts);
  cross(&Case::blocks);
  cross(&Case::overrides);
  cross(&Case::value_seed);
  cross(&Case::block_seed);
  cross(&Case::warp_seed);
  for (const auto& [operand, recipe] : b.values) {
    if (random.chance(0.5)) out.values[operand] = recipe;
  }
  out = settled(facts, std::move(out), fresh(a), limit, random);
  draw_comparison(contract, work_limit, random, out);
  return out;
}

}  // namespace assay
