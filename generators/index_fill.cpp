// Makes the elements of index operands in closed form: any one of them costs the same, whatever the
// operand's size.
#include <algorithm>
#include <bit>
#include <cstring>

#include "generators/hash.hpp"
#include "generators/instance.hpp"
#include "generators/liveness.hpp"
#include "generators/value_fill.hpp"
#include "generators/values.hpp"
#include "generators/variation.hpp"

namespace assay {
namespace {

/// The k-th admitted value, ranges in the contract's order.
int64_t domain_value(const ValuePlan& plan, int64_t k) {
  for (const ValueRange& range : plan.domain) {
    if (range.low_int > range.high_int) continue;
    const __int128 size = static_cast<__int128>(range.high_int) - range.low_int + 1;
    if (k < size) return range.low_int + k;
    k -= static_cast<int64_t>(size);
  }
  return 0;  // not reached: k < domain_size
}

/// A permutation of [0, size): four Feistel rounds over the next even power of two, walking the
/// cycle until the result is in range (Black and Rogaway, "Ciphers with arbitrary finite domains",
/// 2002).
int64_t permuted(uint64_t key, int64_t size, int64_t at) {
  const int bits = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(size - 1, 1)));
  const int half = (bits + 1) / 2;
  const uint64_t mask = (uint64_t{1} << half) - 1;
  auto value = static_cast<uint64_t>(at);
  do {
    uint64_t left = value >> half, right = value & mask;
    for (uint64_t round = 0; round < 4; ++round) {
      const uint64_t next = left ^ (counter_hash(key + round, right) & mask);
      left = right;
      right = next;
    }
    value = left << half | right;
  } while (value >= static_cast<uint64_t>(size));
  return static_cast<int64_t>(value);
}

/// Ascending along a row: element `at` of `length` lies in its own slot of the domain.
int64_t sorted_position(const ValuePlan& plan, bool distinct, int64_t at, uint64_t hash) {
  const auto length = static_cast<__int128>(plan.axis_extent);
  const auto low = static_cast<int64_t>(at * static_cast<__int128>(plan.domain_size) / length);
  const auto high =
      static_cast<int64_t>((at + 1) * static_cast<__int128>(plan.domain_size) / length);
  const int64_t most = distinct ? high - 1 : std::min(high, plan.domain_size - 1);
  return low +
         static_cast<int64_t>(reduced(hash, static_cast<uint64_t>(std::max(most, low) - low + 1)));
}

int64_t index_position(const ValuePlan& plan, const OperandSpec& spec, int64_t index,
                       uint64_t hash) {
  const int64_t size = plan.domain_size;
  if (spec.sorted) return sorted_position(plan, spec.distinct, index % plan.axis_extent, hash);
  if (spec.distinct) {
    return plan.kind == ValueClass::index_ramp || plan.kind == ValueClass::index_first
               ? index
               : permuted(plan.key, size, index);
  }
  switch (plan.kind) {
    case ValueClass::index_first:
      return 0;
    case ValueClass::index_last:
      return size - 1;
    case ValueClass::index_repeats: {
      const auto few = static_cast<uint64_t>(std::clamp(plan.p[0], 1.0, 1e9));
      const uint64_t which = reduced(hash, few);
      return static_cast<int64_t>(
          reduced(counter_hash(~plan.key, which), static_cast<uint64_t>(size)));
    }
    case ValueClass::index_ramp: {
      const auto step = static_cast<int64_t>(std::clamp(plan.p[0], 1.0, 0x1p31));
      return static_cast<int64_t>(static_cast<__int128>(index) * step % size);
    }
    default:
      return static_cast<int64_t>(reduced(hash, static_cast<uint64_t>(size)));
  }
}

/// One end of one of the domain's ranges.
int64_t domain_edge(const ValuePlan& plan, uint64_t hash) {
  size_t at = reduced(hash, plan.domain.size());
  while (plan.domain[at].low_int > plan.domain[at].high_int) at = (at + 1) % plan.domain.size();
  return (hash & 1) != 0 ? plan.domain[at].low_int : plan.domain[at].high_int;
}

/// Prefix sums in closed form: P(i) = i m + J(i) with a hashed J(i) in [0, a], so that every length
/// P(i + 1) - P(i) lies in [m - a, m + a].
struct PrefixSums {
  int64_t middle = 0;
  int64_t spread = 0;
  uint64_t key = 0;

  explicit PrefixSums(const ValuePlan& lengths) : key(lengths.key) {
    if (lengths.domain.empty()) {
      middle = spread = 8;
      return;
    }
    const ValueRange& range = lengths.domain[0];
    spread = std::max<int64_t>(0, (range.high_int - range.low_int) / 2);
    middle = range.low_int + spread;
  }
  int64_t base(int64_t i) const {
    const int64_t jitter =
        i == 0 ? 0
               : static_cast<int64_t>(reduced(counter_hash(key, static_cast<uint64_t>(i)),
                                              static_cast<uint64_t>(spread + 1)));
    return i * middle + jitter;
  }
  int64_t length(int64_t i) const { return base(i + 1) - base(i); }
};

int64_t prefix_value(const Tensor& lengths, int64_t index) {
  const PrefixSums sums(lengths.plan);
  int64_t value = sums.base(index);
  for (const auto& [at, bits] : lengths.plan.overrides) {
    if (at < index)
      value += static_cast<int64_t>(to_integer(lengths.dtype, bits)) - sums.length(at);
  }
  return value;
}

}  // namespace

void fill_index(const Instance& instance, const Tensor& tensor, const Chunk& chunk, uint8_t* out) {
  const ValuePlan& plan = tensor.plan;
  const OperandSpec& spec = *tensor.spec;
  const int size = byte_size(tensor.dtype);
  for (int i = 0; i < chunk.count; ++i) {
    const int64_t index = chunk.first + i * chunk.step;
    int64_t value = 0;
    if (plan.prefix_sum_of >= 0) {
      value = prefix_value(instance.tensors[plan.prefix_sum_of], index);
    } else if (plan.is_prefix_summed) {
      value = PrefixSums(plan).length(index);
    } else if (plan.kind == ValueClass::index_edges && !spec.distinct && !spec.sorted) {
      value = domain_edge(plan, chunk.hash[i]);
    } else {
      value = domain_value(plan, index_position(plan, spec, index, chunk.hash[i]));
    }
    const auto bits = static_cast<uint64_t>(value);
    std::memcpy(out + i * size, &bits, size);
  }
}

void poison_dead(const Instance& instance, const Tensor& tensor, const Chunk& chunk, uint8_t* out) {
  if (!tensor.spec->live || tensor.spec->dead == Dead::in_range || !can_be_dead(tensor)) return;
  const int size = byte_size(tensor.dtype);
  const bool none = tensor.spec->dead == Dead::none;
  const uint64_t poison = none ? ~uint64_t{0} : padding_bits(instance, tensor.dtype);
  Liveness live(instance, tensor);
  for (int i = 0; i < chunk.count; ++i) {
    if (!live.at(chunk.first + i * chunk.step)) std::memcpy(out + i * size, &poison, size);
  }
}

}  // namespace assay
