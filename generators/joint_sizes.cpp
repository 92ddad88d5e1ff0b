// Sizes that break a kernel together, or only beside small ones: several tiles along several sizes
// (a grid that is walked in groups of tiles), and one long ragged size among least ones (the budget
// of an ordinary case is shared, and leaves a size long only where chance makes all others short).
#include <algorithm>
#include <array>

#include "generators/draft.hpp"
#include "generators/thresholds.hpp"
#include "generators/values.hpp"

namespace assay {
namespace {

/// What a covering case may cost: some 0.2 s.
constexpr int64_t kMostJointWork = int64_t{1} << 20;
constexpr int kTileCases = 8;
constexpr int64_t kLeastLong = 33;  // more than a warp

/// Counts of tiles: alone, a pair, and around the groups of 8 and 16 in which grids are walked.
constexpr std::array<int64_t, 7> kTileCounts{1, 2, 7, 8, 9, 16, 17};

void collect_tiles(const ExprPtr& node, std::vector<const Expr*>& out) {
  if (!node) return;
  if (node->kind == Expr::Kind::call && node->text == "ceil_div" && node->operands.size() == 2)
    out.push_back(node.get());
  for (const ExprPtr& operand : node->operands) collect_tiles(operand, out);
}

/// Every ceil_div of grids and derived values.
std::vector<const Expr*> tile_counts(const Contract& contract) {
  std::vector<const Expr*> out;
  for (const LaunchSpec& launch : contract.launches) {
    for (const ExprPtr& extent : launch.grid) collect_tiles(extent, out);
  }
  for (const NamedExpr& derived : contract.derive) collect_tiles(derived.expr, out);
  return out;
}

void least_sizes(const Contract& contract, Case& c) {
  c.sizes = least_case(contract).sizes;
  fit_ties(contract, "", c);  // they may depend on the case's choices
  c.layouts.clear();
  c.blocks.clear();
}

/// Gives `size` a value with which `count` is `wanted`: most often the first, whose last tile holds
/// one element. False where it does not follow the size that far.
bool set_tiles(const Facts& facts, const Expr& count, int64_t wanted, const SizeSpec& size,
               Random& random, Case& c) {
  int64_t& value = c.sizes[size.name];
  const int64_t low = value;
  const auto at_most = [&](int64_t limit) {
    return [&, limit](int64_t at) {
      value = at;
      const auto tiles = launch_number(facts.contract, c, count);
      return tiles && *tiles <= limit;
    };
  };
  const auto below = at_most(wanted - 1), upto = at_most(wanted);
  if (!upto(low) || below(size.max)) {
    value = low;
    return false;
  }
  const int64_t first = below(low) ? largest_where(low, size.max, below) + 1 : low;
  const int64_t last = largest_where(first, size.max, upto);
  value = random.chance(0.5) ? first : random.chance(0.5) ? last : random.between(first, last);
  return launch_number(facts.contract, c, count) == wanted;
}

/// The next multiple of some power of two below, where relations ask for multiples.
bool fit_multiple(const Contract& contract, const SizeSpec& size, int64_t work_limit, Case& c) {
  int64_t& value = c.sizes[size.name];
  const int64_t wanted = value;
  for (const int64_t unit : {1, 4, 8, 16, 32, 64, 128, 256}) {
    value = wanted / unit * unit;
    if (value < std::max(size.min, kLeastLong)) return false;
    fit_ties(contract, size.name, c);
    const auto work = work_if_valid(contract, c);
    if (work) return *work <= work_limit;
  }
  return false;
}

/// That with `size` long.
bool make_long(const Facts& facts, const SizeSpec& size, int64_t work_limit, Random& random,
               Case& c) {
  int64_t& value = c.sizes[size.name];
  const int64_t low = std::max<int64_t>({size.min, kLeastLong, value});
  const auto affordable = [&](int64_t at) {
    value = at;
    return fit_multiple(facts.contract, size, work_limit, c);
  };
  if (low > size.max || !affordable(low)) return false;
  const int64_t most = largest_where(low, size.max, affordable);
  // Uniform on a logarithmic scale.
  int doublings = 0;
  while ((low << (doublings + 1)) <= most) ++doublings;
  const int64_t first = low << random.between(0, doublings);
  value = random.between(first, std::min(most, 2 * first - 1));
  return fit_multiple(facts.contract, size, work_limit, c);
}

/// Whether the formula reduces over the size, or over what is derived from it.
bool is_reduced(const Facts& facts, const SizeSpec& size) {
  return std::any_of(facts.reduced.begin(), facts.reduced.end(), [&](const std::string& dimension) {
    Expr name;
    name.kind = Expr::Kind::name;
    name.text = dimension;
    return follows_size(facts.contract, name, size.name);
  });
}

/// The others beside a long one: least, or small, or one of them at its largest.
void draw_others(const Facts& facts, const SizeSpec& chosen, Random& random, Case& c) {
  for (const SizeSpec& size : facts.contract.sizes) {
    if (&size == &chosen) continue;
    int64_t& value = c.sizes[size.name];
    const double style = unit_real(random.next());
    if (style < 0.15) {
      value = size.in.empty() ? std::clamp<int64_t>(random.between(2, 5), size.min, size.max)
                              : random.pick(size.in);
    } else if (style < 0.25) {
      value = greatest(size);
    }
  }
}

}  // namespace

bool draw_one_long(const Facts& facts, int64_t work_limit, Random& random, Case& c) {
  std::vector<const SizeSpec*> eligible;  // what is reduced over twice: rows end in it
  for (size_t i = 0; i < facts.contract.sizes.size(); ++i) {
    const SizeSpec& size = facts.contract.sizes[i];
    if (!size.in.empty() || size.max <= kLeastLong) continue;
    eligible.insert(eligible.end(), is_reduced(facts, size) ? 2 : 1, &size);
  }
  if (eligible.empty()) return false;
  const SizeSpec& size = *random.pick(eligible);
  least_sizes(facts.contract, c);
  draw_others(facts, size, random, c);
  if (make_long(facts, size, work_limit, random, c)) return true;
  least_sizes(facts.contract, c);
  return make_long(facts, size, work_limit, random, c);
}

bool draw_tiles(const Facts& facts, int64_t work_limit, Random& random, Case& c) {
  const std::vector<const Expr*> counts = tile_counts(facts.contract);
  if (counts.empty()) return false;
  constexpr int kTries = 8;  // until the tiles are few enough
  for (int attempt = 0; attempt < kTries; ++attempt) {
    least_sizes(facts.contract, c);
    bool several = false;
    std::vector<const SizeSpec*> used;
    for (const Expr* count : counts) {
      for (const SizeSpec& size : facts.contract.sizes) {
        const bool free =
            size.in.empty() && std::find(used.begin(), used.end(), &size) == used.end();
        if (!free || !follows_size(facts.contract, *count, size.name)) continue;
        const int64_t wanted = random.pick(kTileCounts);
        if (!set_tiles(facts, *count, wanted, size, random, c)) continue;
        used.push_back(&size);
        several |= wanted > 1;
        break;
      }
    }
    if (!used.empty()) fit_ties(facts.contract, used.front()->name, c);
    const auto work = work_if_valid(facts.contract, c);
    if (several && work && *work <= work_limit) return true;
  }
  return false;
}

void add_joint_sizes(const Facts& facts, const std::function<void(int, Case&)>& choose,
                     std::vector<Case>& out) {
  int number = 0;
  const auto start = [&] {
    Case c;
    c.kernel = facts.contract.name;
    choose(number, c);
    return c;
  };
  const auto add = [&](Case& c) {
    fill_largest(facts, number, c);
    if (work_if_valid(facts.contract, c)) out.push_back(std::move(c));
  };
  for (; number < kTileCases; ++number) {
    Random random(static_cast<uint64_t>(6000 + number));
    if (Case c = start(); draw_tiles(facts, kMostJointWork, random, c)) add(c);
  }
  for (const SizeSpec& size : facts.contract.sizes) {
    ++number;
    if (!size.in.empty()) continue;
    Random random(static_cast<uint64_t>(6000 + number));
    Case c = start();
    least_sizes(facts.contract, c);
    if (!make_long(facts, size, kMostJointWork / 8, random, c)) continue;
    Case peaked = c;
    add(c);
    if (facts.exponent_factors.empty()) continue;
    fill_largest(facts, number, peaked);
    peak_exponents(facts, random, peaked);
    out.push_back(std::move(peaked));
  }
}

}  // namespace assay
