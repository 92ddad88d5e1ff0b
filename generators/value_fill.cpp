// Makes the elements of value operands, a chunk at a time: hashes, then real values or bits by
// class, then the type's encoding. Loops are plain so that the compiler vectorises them.
#include "generators/value_fill.hpp"

#include <algorithm>
#include <limits>

#include "generators/hash.hpp"
#include "generators/instance.hpp"
#include "generators/value_parts.hpp"
#include "generators/variation.hpp"

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Second, independent hash of an element or a row.
uint64_t rehash(uint64_t key, uint64_t counter) {
  return counter_hash(key ^ 0x6a09e667f3bcc909, counter);
}

/// Place of an element: its row and its position there.
struct Place {
  int64_t row;
  int64_t at;
};

Place place_of(const ValuePlan& plan, int64_t index) {
  if (plan.axis_step == 1) {
    const int64_t row = index / plan.axis_extent;
    return {row, index - row * plan.axis_extent};
  }
  const int64_t outer = index / plan.axis_step;
  const int64_t row = outer / plan.axis_extent;
  return {row * plan.axis_step + index % plan.axis_step, outer - row * plan.axis_extent};
}

/// Calls body(i, place) for every element of the chunk.
template <typename Body>
void for_places(const ValuePlan& plan, const Chunk& chunk, Body body) {
  if (plan.axis_step == 1 && chunk.step == 1) {
    Place place = place_of(plan, chunk.first);
    for (int i = 0; i < chunk.count; ++i) {
      body(i, place);
      if (++place.at == plan.axis_extent) place = {place.row + 1, 0};
    }
    return;
  }
  for (int i = 0; i < chunk.count; ++i) body(i, place_of(plan, chunk.first + i * chunk.step));
}

/// The position that row `row` singles out.
int64_t chosen(const ValuePlan& plan, int64_t row) {
  return static_cast<int64_t>(reduced(rehash(plan.key, static_cast<uint64_t>(row)),
                                      static_cast<uint64_t>(plan.axis_extent)));
}

/// Where the lone value of a row lies: mostly where a loop, a warp or a lane's vector ends.
int64_t lone_place(const ValuePlan& plan, int64_t row) {
  const uint64_t hash = rehash(plan.key, static_cast<uint64_t>(row));
  const int64_t extent = plan.axis_extent;
  const uint64_t style = hash % 8;
  if (style == 0) return 0;
  if (style < 3) return extent - 1;
  if (style == 3) return static_cast<int64_t>(reduced(hash, static_cast<uint64_t>(extent)));
  // An element of the last lane, where each lane of a warp takes `width` neighbours at a time.
  const int64_t width = int64_t{1} << (hash >> 8) % 4;
  const int64_t span = 32 * width;
  const auto warps = static_cast<uint64_t>(std::max<int64_t>(1, extent / span));
  const auto warp = static_cast<int64_t>(reduced(mix64(hash), warps));
  const int64_t back = static_cast<int64_t>((hash >> 16) % static_cast<uint64_t>(width));
  return std::clamp<int64_t>((warp + 1) * span - 1 - back, 0, extent - 1);
}

double rounded_down(double value) {  // floor for |value| < 2^53, without libm
  const auto truncated = static_cast<double>(static_cast<int64_t>(value));
  return truncated > value ? truncated - 1 : truncated;
}

/// Element `at` of a witness row (values.hpp): opposite halves of blocks of 2 `gap` elements, whose
/// differences of -1, 0 or 1 in the first 100 pairs are the row's total. An odd row's last element
/// has no partner and is +-`tail`: a 0 that is left out at the ragged end would not show.
double witness_value(const ValuePlan& plan, Place place) {
  const auto base = static_cast<int64_t>(plan.p[0]);
  const auto gap = static_cast<int64_t>(plan.p[1]);
  const auto active = std::min(static_cast<int64_t>(plan.p[2]), plan.axis_extent / 2 * 2);
  if (place.at >= active) {
    if (place.at != active || active + 1 != plan.axis_extent || plan.p[3] == 0) return 0;
    const uint64_t hash =
        rehash(plan.key, static_cast<uint64_t>(place.row * plan.axis_extent + place.at));
    return (hash & 1) != 0 ? -plan.p[3] : plan.p[3];
  }
  const int64_t start = place.at / (2 * gap) * (2 * gap);
  const int64_t half = std::min(2 * gap, active - start) / 2;
  const int64_t in_block = place.at - start;
  const int64_t pair = start / 2 + in_block % half;
  const uint64_t hash =
      rehash(plan.key, static_cast<uint64_t>(place.row * plan.axis_extent + pair));
  const int64_t magnitude = base + static_cast<int64_t>(reduced(hash, static_cast<uint64_t>(base)));
  if (in_block < half) return static_cast<double>(magnitude);
  int64_t difference = pair < 100 ? static_cast<int64_t>(hash % 3) - 1 : 0;
  const int64_t partner = magnitude - difference;
  if (partner < base || partner >= 2 * base) difference = 0;
  return static_cast<double>(difference - magnitude);
}

void fill_mixed(const ValuePlan& plan, const Chunk& chunk, double special, bool with_sign,
                double* out) {
  for (int i = 0; i < chunk.count; ++i) {
    const uint64_t hash = chunk.hash[i];
    const uint64_t draw = mix64(hash);
    const double sign = with_sign && (draw & 1) != 0 ? -1.0 : 1.0;
    out[i] = unit_real(draw) < plan.p[0] ? sign * special : unit_normal(hash) * plan.p[1];
  }
}

void fill_log_uniform(const ValuePlan& plan, DType type, const Chunk& chunk, bool with_sign,
                      double* out) {
  const double largest = is_floating(type) ? format_of(type).largest : kInfinity;
  const auto low = static_cast<int>(std::clamp(plan.p[0], -1074.0, 1023.0));
  const auto high = static_cast<int>(std::clamp(plan.p[1], static_cast<double>(low), 1023.0));
  for (int i = 0; i < chunk.count; ++i) {
    const uint64_t hash = chunk.hash[i];
    const auto exponent =
        low + static_cast<int>(reduced(mix64(hash), static_cast<uint64_t>(high - low + 1)));
    const double magnitude =
        std::min(largest, power_of_two(exponent) * (1.0 + unit_real(hash << 1)));
    out[i] = with_sign && (hash >> 63) != 0 ? -magnitude : magnitude;
  }
}

void fill_ties(const ValuePlan& plan, const Chunk& chunk, double* out) {
  const auto precision = static_cast<int>(std::clamp(plan.p[0], 1.0, 40.0));
  for (int i = 0; i < chunk.count; ++i) {
    const uint64_t hash = chunk.hash[i];
    const uint64_t top = uint64_t{1} << (precision - 1);
    const uint64_t significand = 2 * (top + (hash & (top - 1))) + 1;
    const int exponent = static_cast<int>((hash >> 48) % 5) - precision - 2;
    const double value = static_cast<double>(significand) * power_of_two(exponent);
    out[i] = (hash >> 63) != 0 ? -value : value;
  }
}

void fill_tied(const ValuePlan& plan, const Chunk& chunk, double* out) {
  const auto length = static_cast<uint64_t>(plan.axis_extent);
  const auto rank = static_cast<uint64_t>(std::max(0.0, plan.p[0]));
  for (int i = 0; i < chunk.count; ++i) {
    const uint64_t hash = chunk.hash[i];
    const uint64_t order = reduced(hash, length);
    out[i] = order < rank         ? 2.0 + static_cast<double>(hash & 7)
             : 2 * order < length ? 1.0
                                  : static_cast<double>(hash & 3) * -1.0;
  }
}

void fill_rows(const ValuePlan& plan, const Chunk& chunk, double* out) {
  const auto& p = plan.p;
  const auto key = plan.key;
  const auto normal = [&](int i) { return unit_normal(chunk.hash[i]); };
  switch (plan.kind) {
    case ValueClass::cancelling:
      return for_places(plan, chunk, [&](int i, Place place) {
        const int64_t even = place.at & ~int64_t{1};
        const double value =
            unit_normal(rehash(key, static_cast<uint64_t>(place.row * plan.axis_extent + even)));
        out[i] = p[1] * ((place.at & 1) == 0 ? value : -value + p[0] * normal(i));
      });
    case ValueClass::outlier:
      return for_places(plan, chunk, [&](int i, Place place) {
        out[i] = p[1] * normal(i) * (place.at == chosen(plan, place.row) ? p[0] : 1.0);
      });
    case ValueClass::equal_rows:
      return for_places(plan, chunk, [&](int i, Place place) {
        const auto choices = static_cast<uint64_t>(2 * std::max(0.0, p[0]) + 1);
        const uint64_t hash = rehash(key, static_cast<uint64_t>(place.row));
        out[i] = static_cast<double>(reduced(hash, choices)) - rounded_down(p[0]);
      });
    case ValueClass::sorted:
      return for_places(plan, chunk, [&](int i, Place place) {
        const auto length = static_cast<double>(plan.axis_extent);
        out[i] = p[0] * ((2 * static_cast<double>(place.at) + 1 - length) / length);
      });
    case ValueClass::masked:
      return for_places(plan, chunk, [&](int i, Place place) {
        const bool row = unit_real(rehash(key, static_cast<uint64_t>(place.row))) < p[2];
        const bool element = unit_real(mix64(chunk.hash[i])) < p[1];
        out[i] = row || element ? -kInfinity : p[0] * normal(i);
      });
    case ValueClass::prefix:
      return for_places(plan, chunk, [&](int i, Place place) {
        out[i] = p[1] * normal(i) * (2 * place.at < plan.axis_extent ? p[0] : 1.0);
      });
    case ValueClass::peak:
      return for_places(plan, chunk, [&](int i, Place place) {
        const int64_t at =
            p[1] >= 0 ? plan.axis_extent - 1 - static_cast<int64_t>(p[1]) : chosen(plan, place.row);
        out[i] = place.at == at ? 0.0 : p[0];
      });
    case ValueClass::lone:
      return for_places(plan, chunk, [&](int i, Place place) {
        out[i] = place.at == lone_place(plan, place.row) ? p[0] : p[1] * normal(i);
      });
    case ValueClass::peak_rows:
      return for_places(plan, chunk, [&](int i, Place place) {
        out[i] = place.row == static_cast<int64_t>(p[2]) ? 0.0 : p[0];
      });
    case ValueClass::exact_logits:
      return for_places(plan, chunk, [&](int i, Place place) {
        const bool masked = unit_real(chunk.hash[i]) < p[0];
        out[i] = masked && place.at != chosen(plan, place.row) ? -kInfinity : 0.0;
      });
    case ValueClass::witness:
      return for_places(plan, chunk,
                        [&](int i, Place place) { out[i] = witness_value(plan, place); });
    default:
      return;
  }
}

void fill_exact(const ValuePlan& plan, const Chunk& chunk, bool with_sign, double* out) {
  const double limit = std::max(0.0, rounded_down(plan.p[0]));
  const double low = with_sign ? -limit : 0;
  const auto choices = static_cast<uint64_t>(limit - low + 1);
  for (int i = 0; i < chunk.count; ++i) {
    out[i] = (low + static_cast<double>(reduced(chunk.hash[i], choices))) * plan.p[1];
  }
}

void fill_ramp(const ValuePlan& plan, const Chunk& chunk, double* out) {
  const auto modulus = static_cast<int64_t>(std::clamp(plan.p[0], 1.0, 0x1p53));
  for (int i = 0; i < chunk.count; ++i) {
    out[i] = static_cast<double>((chunk.first + i * chunk.step) % modulus) * plan.p[1];
  }
}

/// Classes whose elements are real numbers, rounded to the type afterwards.
void fill_real(const ValuePlan& plan, DType type, const Chunk& chunk, double* out) {
  const auto& p = plan.p;
  const int n = chunk.count;
  const bool with_sign = is_floating(type) || is_signed(type);
  const uint64_t* const hash = chunk.hash;
  switch (plan.kind) {
    case ValueClass::normal:
      for (int i = 0; i < n; ++i) out[i] = unit_normal(hash[i]) * p[0] + p[1];
      return;
    case ValueClass::uniform:
      if (is_floating(type)) {
        for (int i = 0; i < n; ++i) out[i] = p[0] + unit_real(hash[i]) * (p[1] - p[0]);
      } else {
        for (int i = 0; i < n; ++i) {
          out[i] = rounded_down(p[0] + unit_real(hash[i]) * (p[1] - p[0] + 1));
        }
      }
      return;
    case ValueClass::log_uniform:
      return fill_log_uniform(plan, type, chunk, with_sign, out);
    case ValueClass::zeros:
      for (int i = 0; i < n; ++i) out[i] = unit_real(hash[i]) < p[0] ? -0.0 : 0.0;
      return;
    case ValueClass::infs:
      return fill_mixed(plan, chunk, kInfinity, true, out);
    case ValueClass::nans:
      return fill_mixed(plan, chunk, kNan, false, out);
    case ValueClass::largest:
      return fill_mixed(plan, chunk, is_floating(type) ? format_of(type).largest : kInfinity,
                        with_sign, out);
    case ValueClass::ties:
      return fill_ties(plan, chunk, out);
    case ValueClass::equal:
      std::fill(out, out + n, p[0]);
      return;
    case ValueClass::tied:
      return fill_tied(plan, chunk, out);
    case ValueClass::huge_mean:
      for (int i = 0; i < n; ++i) out[i] = p[1] * (p[0] + unit_normal(hash[i]));
      return;
    case ValueClass::near:
      for (int i = 0; i < n; ++i) out[i] = p[0] + p[1] * (2 * unit_real(hash[i]) - 1);
      return;
    case ValueClass::ramp:
      return fill_ramp(plan, chunk, out);
    case ValueClass::exact:
      return fill_exact(plan, chunk, with_sign, out);
    default:
      return fill_rows(plan, chunk, out);
  }
}

/// Plain multiplications: without AVX-512, g++'s vectors make three of each 64-bit one.
[[gnu::optimize("no-tree-vectorize"), gnu::noinline]] void hash_chunk(uint64_t key, Chunk& chunk) {
  for (int i = 0; i < chunk.count; ++i) {
    chunk.hash[i] = counter_hash(key, static_cast<uint64_t>(chunk.first + i * chunk.step));
  }
}

}  // namespace

void fill_chunk(const ValuePlan& plan, DType type, Chunk& chunk, uint8_t* out) {
  const int size = byte_size(type);
  hash_chunk(plan.key, chunk);
  double values[kChunk];
  uint64_t bits[kChunk];
  if (fill_bits(plan, type, chunk, bits)) {
    pack(bits, chunk.count, size, out);
  } else {
    fill_real(plan, type, chunk, values);
    encode(type, values, chunk.count, out);
  }
  if (!plan.domain.empty() || (plan.exclude_nan && is_floating(type))) {
    restrict_values(plan, type, chunk, out);
  }
}

namespace {

void apply_overrides(const ValuePlan& plan, int size, int64_t first, int64_t step, int64_t count,
                     uint8_t* out) {
  for (const auto& [index, bits] : plan.overrides) {
    if (step == 0) {
      for (int64_t i = 0; i < count && index == first; ++i) store(out + i * size, bits, size);
      continue;
    }
    const int64_t distance = index - first;
    if (distance < 0 || distance % step != 0 || distance / step >= count) continue;
    store(out + distance / step * size, bits, size);
  }
}

}  // namespace

void fill_values(const Instance& instance, const Tensor& tensor, int64_t first, int64_t step,
                 int64_t count, uint8_t* out) {
  if (instance.derivation && instance.derivation->base)
    return fill_derived(*instance.derivation, tensor, first, step, count, out);
  const ValuePlan& plan = tensor.plan;
  const int size = byte_size(tensor.dtype);
  const bool is_index = tensor.spec->kind == OperandKind::index || plan.is_prefix_summed;
  Chunk chunk;
  chunk.step = step;
  for (int64_t done = 0; done < count; done += kChunk) {
    chunk.first = first + done * step;
    chunk.count = static_cast<int>(std::min<int64_t>(kChunk, count - done));
    if (is_index) {
      hash_chunk(plan.key, chunk);
      fill_index(instance, tensor, chunk, out + done * size);
    } else if (tensor.spec->sorted) {
      fill_sorted(tensor, chunk, out + done * size);
    } else {
      fill_chunk(plan, tensor.dtype, chunk, out + done * size);
    }
    poison_dead(instance, tensor, chunk, out + done * size);
  }
  if (!plan.overrides.empty()) apply_overrides(plan, size, first, step, count, out);
}

}  // namespace assay
