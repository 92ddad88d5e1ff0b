// Sizes at which kernels break: 0, 1, around blocks and tiles, primes, powers of two, odd lengths.
#include <algorithm>
#include <array>

#include "generators/draft.hpp"

namespace assay {
namespace {

constexpr std::array<int64_t, 24> kPrimes = {3,   5,   7,   11,  13,  17,   19,   23,
                                             29,  31,  37,  61,  67,  97,   101,  127,
                                             131, 251, 257, 509, 521, 1021, 2053, 4099};
constexpr std::array<int64_t, 6> kHeadDims = {40, 46, 72, 80, 96, 112};

/// Uniform on a logarithmic scale in [low, high], low >= 1.
int64_t log_uniform(int64_t low, int64_t high, Random& random) {
  if (low >= high) return low;
  int low_bits = 0, high_bits = 0;
  while ((low >> low_bits) > 1) ++low_bits;
  while ((high >> high_bits) > 1) ++high_bits;
  const int bits = static_cast<int>(random.between(low_bits, high_bits));
  const int64_t first = std::max(low, int64_t{1} << bits);
  const int64_t last = std::min(high, (int64_t{2} << bits) - 1);
  return random.between(std::min(first, last), last);
}

/// The greatest of `table` that is at most `cap` is as likely as any other.
template <typename Table>
int64_t pick_below(const Table& table, int64_t cap, Random& random) {
  const auto end = std::upper_bound(table.begin(), table.end(), cap);
  return end == table.begin() ? 1 : *(table.begin() + random.below(end - table.begin()));
}

int64_t around_step(const Facts& facts, int64_t cap, int64_t delta, int64_t most_multiple,
                    Random& random) {
  // Where work is scarce, no step may be so short.
  if (facts.scarce && facts.steps.front() > cap) return log_uniform(1, cap, random);
  const int64_t step = pick_below(facts.steps, std::max<int64_t>(cap - delta, 1), random);
  const int64_t multiples = std::clamp<int64_t>(cap / std::max<int64_t>(step, 1), 1, most_multiple);
  return step * random.between(1, multiples) + delta;
}

}  // namespace

SizeKind draw_size_kind(Random& random) {
  static constexpr std::array<std::pair<SizeKind, int>, kSizeKinds> kWeights = {{
      {SizeKind::zero, 2},
      {SizeKind::one, 7},
      {SizeKind::two, 5},
      {SizeKind::below_step, 9},
      {SizeKind::step, 9},
      {SizeKind::above_step, 10},
      {SizeKind::multiple, 10},
      {SizeKind::power, 10},
      {SizeKind::prime, 8},
      {SizeKind::odd, 6},
      {SizeKind::eight_mod_16, 5},
      {SizeKind::head, 4},
      {SizeKind::spread, 12},
      {SizeKind::most, 3},
  }};
  int64_t total = 0;
  for (const auto& [kind, weight] : kWeights) total += weight;
  int64_t at = random.below(total);
  for (const auto& [kind, weight] : kWeights) {
    if (at < weight) return kind;
    at -= weight;
  }
  return SizeKind::spread;
}

int64_t draw_size(const Facts& facts, const SizeSpec& size, SizeKind kind, int64_t cap,
                  Random& random) {
  if (!size.in.empty()) return random.pick(size.in);
  const int64_t low = size.min;
  const int64_t high = std::clamp(cap, low, size.max);
  const int64_t room = std::max<int64_t>(high, 1);
  int64_t value = 0;
  switch (kind) {
    case SizeKind::zero:
      value = 0;
      break;
    case SizeKind::one:
      value = 1;
      break;
    case SizeKind::two:
      value = random.between(2, 4);
      break;
    case SizeKind::below_step:
      value = around_step(facts, room, -1, 1, random);
      break;
    case SizeKind::step:
      value = around_step(facts, room, 0, 1, random);
      break;
    case SizeKind::above_step:
      value = around_step(facts, room, 1, 1, random);
      break;
    case SizeKind::multiple:
      value = around_step(facts, room, random.between(-1, 1), 16, random);
      break;
    case SizeKind::power: {
      const int64_t base = log_uniform(1, room, random);
      int64_t power = 1;
      while (power * 2 <= base) power *= 2;
      value = power + random.between(-1, 1);
      break;
    }
    case SizeKind::prime:
      value = pick_below(kPrimes, room, random);
      break;
    case SizeKind::odd:
      value = log_uniform(1, room, random) | 1;
      break;
    case SizeKind::eight_mod_16:
      value = log_uniform(1, room, random) / 16 * 16 + 8;
      break;
    case SizeKind::head:
      value = pick_below(kHeadDims, room, random);
      break;
    case SizeKind::spread:
      value = log_uniform(std::max<int64_t>(low, 1), room, random);
      break;
    case SizeKind::most:
      value = high;
      break;
  }
  return std::clamp(value, low, high);
}

int64_t even_share(int64_t left, int open) {
  int64_t share = 1;
  const auto power = [&](int64_t base) {
    int64_t product = 1;
    for (int i = 0; i < open && product <= left; ++i) product *= base;
    return product;
  };
  while (power(share + 1) <= left) ++share;
  return share;
}

namespace {

/// The sizes that the contract lists (`in`). Every other time the costly ones stay few together, so
/// that the others grow long. Returns what they leave of the budget.
int64_t draw_listed(const Facts& facts, const std::vector<size_t>& order, int64_t budget,
                    Random& random, Case& c) {
  constexpr int64_t kFew = 8;
  int64_t room = random.chance(0.5) ? kFew : INT64_MAX;
  int64_t left = std::max<int64_t>(budget, 1);
  for (const size_t i : order) {
    const SizeSpec& size = facts.contract.sizes[i];
    if (size.in.empty()) continue;
    int64_t& value = c.sizes[size.name] = random.pick(size.in);
    if (!facts.costly[i]) continue;
    for (int tries = 0; tries < 8 && value > room; ++tries) value = random.pick(size.in);
    room = std::max<int64_t>(1, room / std::max<int64_t>(1, value));
    left = std::max<int64_t>(1, left / std::max<int64_t>(1, value));
  }
  return left;
}

}  // namespace

void draw_sizes(const Facts& facts, int64_t budget, Random& random, Case& c) {
  const std::vector<SizeSpec>& sizes = facts.contract.sizes;
  std::vector<size_t> order(sizes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  // Lists first: the chances of their few values do not depend on what the others take.
  int64_t left = draw_listed(facts, order, budget, random, c);
  int open = 0;  // costly sizes between limits that are still to be drawn
  for (const size_t i : order) open += facts.costly[i] && sizes[i].in.empty() ? 1 : 0;
  for (const size_t i : order) {
    if (!sizes[i].in.empty()) continue;
    // What is free of cost (a table's length) may be anything.
    int64_t cap = facts.costly[i] ? left : sizes[i].max;
    // The first would take all that there is: of attention's sizes, most often only the keys may.
    const double shared = facts.reduced_over[i] ? 0.3 : 0.8;
    if (facts.costly[i] && facts.scarce && random.chance(shared)) cap = even_share(left, open);
    const int64_t value = draw_size(facts, sizes[i], draw_size_kind(random), cap, random);
    c.sizes[sizes[i].name] = value;
    if (!facts.costly[i]) continue;
    --open;
    left = std::max<int64_t>(1, left / std::max<int64_t>(1, value));
  }
  // Which one stays as it was drawn, and gives the others, is left to chance.
  if (has_ties(facts.contract)) fit_ties(facts.contract, random.pick(sizes).name, c);
}

}  // namespace assay
