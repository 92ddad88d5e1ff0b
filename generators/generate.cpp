// Draws whole cases. Each part is drawn by its own file; `settle` mends and checks the whole.
#include "generators/generate.hpp"

#include <algorithm>

#include "generators/draft.hpp"
#include "generators/pairwise.hpp"
#include "kernels_under_test/variants.hpp"

namespace assay {
namespace {

/// Costs are skewed: many small cases, few near the limit, so that a sweep sees more of them.
int64_t draw_budget(int64_t work_limit, Random& random) {
  const double style = unit_real(random.next());
  const int64_t high = style < 0.9 ? work_limit / 16 : style < 0.98 ? work_limit / 4 : work_limit;
  int64_t budget = 16;
  // Uniform on a logarithmic scale between 16 and high.
  int64_t doublings = 0;
  while ((int64_t{16} << (doublings + 1)) <= high) ++doublings;
  budget <<= random.between(0, doublings);
  return std::min(high, budget + random.below(budget));
}

/// The next smaller of a list, or half, rounded up; the value itself when there is none.
int64_t smaller(const SizeSpec& size, int64_t value) {
  if (size.in.empty()) return std::max(size.min, value / 2 + (value & 1));
  int64_t next = value;
  for (const int64_t other : size.in) {
    if (other >= 1 && other < value && (next == value || other > next)) next = other;
  }
  return next;
}

/// Shrinks the largest costly size; false when all are at their minimum.
bool shrink_sizes(const Facts& facts, Listed listed, Case& c) {
  const std::vector<SizeSpec>& sizes = facts.contract.sizes;
  int64_t* largest = nullptr;
  const std::string* shrunk = nullptr;
  int64_t next = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t& value = c.sizes[sizes[i].name];
    if (listed == Listed::kept && !sizes[i].in.empty()) continue;
    if (!facts.costly[i] || value <= 1 || smaller(sizes[i], value) == value) continue;
    if (largest == nullptr || value > *largest) {
      largest = &value;
      shrunk = &sizes[i].name;
      next = smaller(sizes[i], value);
    }
  }
  if (largest == nullptr) return false;
  *largest = next;
  fit_ties(facts.contract, *shrunk, c);
  return true;
}

/// Makes sizes multiples of `unit`, where their limits allow it.
void round_sizes(const Contract& contract, int64_t unit, Case& c) {
  for (const SizeSpec& size : contract.sizes) {
    int64_t& value = c.sizes[size.name];
    const int64_t up = (value + unit - 1) / unit * unit;
    if (size.in.empty() && up >= size.min && up <= size.max) value = up;
  }
}

/// Listed sizes as they are in `sizes`.
void restore_listed(const Contract& contract, const std::map<std::string, int64_t>& sizes,
                    Case& c) {
  for (const SizeSpec& size : contract.sizes) {
    if (!size.in.empty()) c.sizes[size.name] = sizes.at(size.name);
  }
}

/// What one attempt to mend an invalid case gives up.
bool mend(const Facts& facts, Case& c, int attempt, Random& random) {
  switch (attempt) {
    case 0:
      c.property = {};
      c.overrides.clear();
      return true;
    case 1:
      c.layouts.clear();
      return true;
    case 2:
      c.blocks.clear();
      c.aliases.clear();
      return true;
    case 3:
      draw_values(facts, random, c);
      return true;
    case 4:
      draw_values(facts, random, c);
      return true;
    default:
      if (attempt > 24) return false;
      draw_sizes(facts, int64_t{1} << (10 - (attempt - 5) % 8), random, c);
      // Relations often ask for multiples: every other attempt has only those.
      if (attempt % 2 == 0) {
        round_sizes(facts.contract, random.pick({4, 8, 16, 32, 64}), c);
        fit_ties(facts.contract, "", c);
      }
      return true;
  }
}

/// What attention's least case costs: a head's length of products for its one key, about a quarter
/// of the whole. 0 for other kernels, and where relations forbid that case.
int64_t nested_work(const Facts& facts) {
  if (facts.exponent_factors.empty()) return 0;
  return work_if_valid(facts.contract, least_case(facts.contract)).value_or(0);
}

/// One row as long as the work allows: indices of many bits.
void draw_long_row(const Facts& facts, int64_t work_limit, Random& random, Case& c) {
  const Case least = least_case(facts.contract);
  for (size_t i = 0; i < facts.contract.sizes.size(); ++i) {
    const SizeSpec& size = facts.contract.sizes[i];
    const int64_t most = std::clamp(work_limit - work_limit / 16, size.min, size.max);
    c.sizes[size.name] = facts.reduced_over[i] && size.in.empty()
                             ? random.between(std::max(most / 2, size.min), most)
                             : least.sizes.at(size.name);
  }
  fit_ties(facts.contract, "", c);
}

/// Ordinary sizes, or one of the far kinds. Returns the work that the case may cost.
int64_t draw_geometry(const Facts& facts, int64_t work_limit, Random& random, Case& c) {
  const double style = unit_real(random.next());
  const int64_t far_work = std::min(work_limit, kMostDrawnFarWork);
  if (style < 0.11 && draw_far_stride(facts, random, c)) return far_work;
  if (style < 0.14 && draw_far_count(facts, far_work, random, c)) return far_work;
  if (style < 0.17 && draw_many_blocks(facts, random, c)) return far_work;
  c.layouts.clear();
  c.blocks.clear();
  if (style >= 0.17 && style < 0.26 && draw_one_long(facts, work_limit, random, c))
    return work_limit;
  if (style >= 0.26 && style < 0.275 && draw_tiles(facts, work_limit, random, c)) return work_limit;
  if (facts.ranking && random.chance(0.03)) {
    draw_long_row(facts, work_limit, random, c);
    return work_limit;
  }
  const int64_t nested = nested_work(facts);
  // Work for some keys of several heads on top of it.
  const int64_t budget = std::min(work_limit, draw_budget(work_limit, random) + 48 * nested);
  // Threads count too: a thousand rows of one element cost a thousand blocks.
  const int64_t limit = std::min(work_limit, 4 * budget + 1024);
  draw_sizes(facts, nested > 4 ? limit / (nested / 4) : budget, random, c);
  return limit;
}

bool is_far(const Case& c) { return !c.blocks.empty() || !c.layouts.empty(); }

}  // namespace

std::optional<Instance> if_valid(const Contract& contract, const Case& c) {
  try {
    return instantiate(contract, c);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

std::optional<int64_t> work_if_valid(const Contract& contract, const Case& c) {
  try {
    return work_estimate(instantiate(contract, c));
  } catch (const InputError&) {
    return std::nullopt;
  }
}

Case least_case(const Contract& contract) {
  Case c;
  c.kernel = contract.name;
  for (const TypeParameter& type : contract.types) c.types[type.name] = type.kinds[0];
  for (const Knob& knob : contract.knobs) c.knobs[knob.name] = knob.values[0];
  for (const std::string& flag : contract.flags) c.flags[flag] = 0;
  for (const SizeSpec& size : contract.sizes) {
    c.sizes[size.name] =
        size.in.empty() ? std::max<int64_t>(size.min, std::min<int64_t>(1, size.max)) : size.in[0];
  }
  fit_ties(contract, "", c);
  return c;
}

namespace {

void draw_choices(const Contract& contract, Random& random, Variant& v) {
  for (const TypeParameter& type : contract.types) v.types[type.name] = random.pick(type.kinds);
  for (const Knob& knob : contract.knobs) v.knobs[knob.name] = random.pick(knob.values);
  for (const std::string& flag : contract.flags) v.flags[flag] = random.below(2);
}

}  // namespace

void draw_variant(const Contract& contract, Random& random, Case& c) {
  constexpr int kDraws = 64;
  Variant variant;
  bool admitted = false;
  for (int k = 0; k < kDraws && !admitted; ++k) {
    draw_choices(contract, random, variant);
    admitted = admits_choices(contract, variant);
  }
  if (!admitted) {
    // Few of the combinations are: those of the pairwise cover.
    const std::vector<Variant> all = pairwise_variants(contract);
    if (!all.empty()) variant = random.pick(all);
  }
  c.types = variant.types;
  c.knobs = variant.knobs;
  c.flags = variant.flags;
  for (const OperandSpec& operand : contract.args) {
    if (operand.values.empty()) continue;
    c.scalars[operand.name] = random.below(static_cast<int64_t>(operand.values.size()));
  }
}

void draw_seeds(Random& random, Case& c) {
  c.value_seed = random.next() >> 32;
  c.block_seed = random.chance(0.5) ? random.next() >> 48 : 0;
  c.warp_seed = random.chance(0.5) ? random.next() >> 48 : 0;
}

std::optional<Instance> settle(const Facts& facts, Case& c, int64_t work_limit, Random& random,
                               Listed listed) {
  int attempt = 0;
  const std::map<std::string, int64_t> sizes = c.sizes;
  for (int round = 0; round < 60; ++round) {
    fit_aliases(c);
    try {
      Instance instance = instantiate(facts.contract, c);
      if (work_estimate(instance, facts.reduced) <= work_limit) return instance;
      if (c.blocks.size() > 1) {
        c.blocks.erase(c.blocks.begin() + (c.blocks.size() - 1) / 2);  // the last one stays
      } else if (!shrink_sizes(facts, listed, c)) {
        return std::nullopt;
      } else {
        c.blocks.clear();
        c.layouts.clear();
      }
    } catch (const InputError&) {
      if (!mend(facts, c, attempt++, random)) return std::nullopt;
      if (listed == Listed::kept) restore_listed(facts.contract, sizes, c);
    }
  }
  return std::nullopt;
}

namespace {

/// One case of the contract, without a property.
Case generate_plain(const Facts& facts, Seed seed, int64_t work_limit) {
  const Contract& contract = facts.contract;
  Random random(seed.value);
  constexpr int kAttempts = 40;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Case c;
    c.kernel = contract.name;
    draw_variant(contract, random, c);
    const int64_t work = draw_geometry(facts, work_limit, random, c);
    const bool far = is_far(c);
    draw_values(facts, random, c);
    draw_seeds(random, c);
    const std::optional<Instance> instance = settle(facts, c, work, random);
    if (!instance) continue;
    const Case plain = c;
    if (!far) draw_layouts(*instance, random, c);
    if (random.chance(0.12)) draw_overrides(*instance, random, c);
    if (!far && facts.subset_allowed && instance->launches.size() == 1 && random.chance(0.06)) {
      c.blocks = notable_blocks(instance->launches[0].grid, unit_real(random.next()), 4, random);
    }
    if (c == plain) return c;
    if (settle(facts, c, work_limit, random)) return c;
    return plain;
  }
  Case least = least_case(contract);
  for (const Variant& variant : pairwise_variants(contract)) {
    least.types = variant.types;
    least.knobs = variant.knobs;
    least.flags = variant.flags;
    if (Case c = least; settle(facts, c, work_limit, random)) return c;
  }
  check_case_against(contract, least, contract.path);  // says which relation nothing satisfies
  return least;
}

}  // namespace

Case generate_case(const Contract& contract, Seed seed, int64_t work_limit) {
  return generate_case(Facts(contract), seed, work_limit);
}

Case generate_case(const Facts& facts, Seed seed, int64_t work_limit) {
  constexpr double kInPlace = 0.4;
  const Contract& contract = facts.contract;
  Case c = generate_plain(facts, seed, work_limit);
  Random aliases(stream_key(seed.value, 2));
  draw_aliases(contract, kInPlace, aliases, c);
  Random random(stream_key(seed.value, 1));
  draw_comparison(contract, work_limit, random, c);
  return c;
}

}  // namespace assay
