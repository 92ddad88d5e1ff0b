#include "generators/variation.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "generators/draft.hpp"
#include "generators/liveness.hpp"
#include "generators/row_map.hpp"
#include "generators/values.hpp"
#include "generators/variation_parts.hpp"

namespace assay {
namespace {

constexpr std::array<Poison, 6> kPoisons{Poison::zero,     Poison::one,
                                         Poison::largest,  Poison::lowest,
                                         Poison::infinity, Poison::negative_infinity};
constexpr int64_t kBaseAlignment = 256;  // bytes

// --- what a case can be compared with
// ------------------------------------------------------------

/// Operands that are read have the base's shapes but along `rows`, and what follows from their
/// number by prefix sums.
bool shapes_match(const Instance& base, const Instance& other, const std::string& rows) {
  for (size_t i = 0; i < base.tensors.size(); ++i) {
    const Tensor& a = base.tensors[i];
    const Tensor& b = other.tensors[i];
    if (a.present != b.present) return false;
    if (!a.present || a.is_scalar() || (!a.is_read() && !a.is_judged())) continue;
    const RowMap map = rows.empty() ? RowMap{} : row_map(base, a, rows, 0, 0);
    if (map.is_sums) continue;
    for (size_t d = 0; d < a.shape.size(); ++d) {
      const bool follows = !map.dimension.empty() && a.dims[d] == map.dimension;
      if (!follows && a.shape[d] != b.shape[d]) return false;
    }
  }
  return true;
}

/// The rows are a view of the batch, as x[17:18] is: their addresses stay what they were, modulo
/// the alignment of bases. What follows from another address is a matter of layout_free.
void keep_alignment(const Tensor& tensor, const std::string& dimension, int64_t first, Case& c) {
  for (size_t d = 0; d < tensor.dims.size(); ++d) {
    if (dimension.empty() || tensor.dims[d] != dimension) continue;
    const int64_t period = kBaseAlignment / byte_size(tensor.dtype);
    const int64_t step = tensor.strides[d] % period * (first % period);
    const int64_t offset = (tensor.offset + step) % period;
    if (offset != tensor.offset) c.layouts[tensor.spec->name].offset = offset;
  }
}

Variations vary_rows(const Instance& base, const Property& stated) {
  if (!base.the_case.blocks.empty()) return none("only some blocks of the case run");
  const PropertyCheck& property = base.the_case.property;
  const int64_t count = property.numbers.at("count"), first = property.numbers.at("first");
  Case c = plain_case(base);
  const std::string size = size_along(*base.contract, stated.of)->name;
  const int64_t rows = c.sizes.at(size);
  c.sizes[size] = count;
  c.overrides.clear();  // the base's values hold them
  for (const Tensor& tensor : base.tensors) {
    if (tensor.is_scalar() || !tensor.present || tensor.is_shared()) continue;
    const RowMap map = row_map(base, tensor, stated.of, first, count);
    if (!map.is_sums) keep_alignment(tensor, map.dimension, map.first, c);
  }
  std::optional<Instance> instance = if_valid(*base.contract, c);
  if (!instance || !shapes_match(base, *instance, stated.of))
    return none("no case has " + size + "=" + std::to_string(count) + " and all else alike");
  for (const Tensor& tensor : instance->tensors) {
    if (tensor.is_scalar() || !tensor.present) continue;
    const RowMap map = row_map(base, base.tensors[static_cast<size_t>(tensor.position)], stated.of,
                               first, count);
    for (size_t d = 0; map.is_delimited && d < tensor.dims.size(); ++d) {
      if (tensor.dims[d] == map.dimension && tensor.shape[d] < map.count)
        return none("there is no room for the rows of " + size + "=" + std::to_string(count));
    }
  }
  Derivation derivation;
  derivation.base = std::make_shared<const Instance>(base);
  derivation.dimension = stated.of;
  derivation.first = first;
  instance->derivation = std::make_shared<const Derivation>(std::move(derivation));
  Variation run{std::move(*instance)};
  run.dimension = stated.of;
  run.first = first;
  const std::string which = std::to_string(first), all = std::to_string(rows);
  run.text = count == 1
                 ? "row " + which + " alone"
                 : "a batch of rows " + which + " to " + std::to_string(first + count - 1);
  run.own = count == 1 ? "as row " + which + " of " + all + " it" : "the batch of " + all;
  return {{std::move(run)}, ""};
}

Variations vary_schedule(const Instance& base) {
  const PropertyCheck& property = base.the_case.property;
  Variation other{base};
  other.instance.the_case = plain_case(base);
  Variation again = other;
  again.text = "the same run again";
  again.own = "the first one";
  // Of a few blocks none is the last: what they leave, no launch leaves.
  again.continues = base.the_case.blocks.empty();
  Case& c = other.instance.the_case;
  c.block_seed = static_cast<uint64_t>(property.numbers.at("blocks"));
  c.warp_seed = static_cast<uint64_t>(property.numbers.at("warps"));
  const auto order = [](const Case& of) {
    return "(blocks " + std::to_string(of.block_seed) + ", warps " + std::to_string(of.warp_seed) +
           ")";
  };
  other.text = "another order of blocks and warps " + order(c);
  other.own = "the case's own " + order(base.the_case);
  return {{std::move(other), std::move(again)}, ""};
}

bool has_padding(const Tensor& tensor) {
  if (!tensor.present || tensor.is_scalar() || !tensor.is_read()) return false;
  if (tensor.spec->live && tensor.spec->dead == Dead::poison && can_be_dead(tensor)) return true;
  int64_t places = 1;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    if (tensor.strides[d] != 0 || tensor.shape[d] == 0) places *= tensor.shape[d];
  }
  return places > 0 && tensor.storage_elements > places;
}

Variations vary_padding(const Instance& base) {
  if (std::none_of(base.tensors.begin(), base.tensors.end(), has_padding))
    return none("no operand has padding or dead entries");
  Variation run{base};
  run.instance.the_case = plain_case(base);
  Derivation derivation;
  derivation.poison = *parse_poison(base.the_case.property.poison);
  run.instance.derivation = std::make_shared<const Derivation>(std::move(derivation));
  run.text = "padding that holds " + base.the_case.property.poison;
  run.own = "padding that holds NaN";
  return {{std::move(run)}, ""};
}

/// Another case of the same values; `text` and `own` as in Variation.
Variations vary_case(const Instance& base, const Case& c, std::string text, std::string own) {
  std::optional<Instance> instance = if_valid(*base.contract, c);
  if (!instance || !shapes_match(base, *instance, ""))
    return none("the contract admits no such case: " + text);
  Variation run{std::move(*instance)};
  run.text = std::move(text);
  run.own = std::move(own);
  run.is_plain = true;
  return {{std::move(run)}, ""};
}

Variations vary_layout(const Instance& base) {
  if (base.the_case.layouts.empty()) return none("every operand is contiguous already");
  for (const Tensor& tensor : base.tensors) {
    if (tensor.broadcast) return none("an operand is broadcast: contiguous, it has other values");
  }
  Case c = plain_case(base);
  c.layouts.clear();
  return vary_case(base, c, "a run with every operand contiguous", "the case's layout");
}

Variations vary_knobs(const Instance& base) {
  Case c = plain_case(base);
  std::string text, own;
  for (const auto& [knob, value] : base.the_case.property.numbers) {
    if (c.knobs[knob] != value) {
      const std::string comma = text.empty() ? "" : ", ";
      text += comma + knob + "=" + std::to_string(value);
      own += comma + knob + "=" + std::to_string(c.knobs[knob]);
    }
    c.knobs[knob] = value;
  }
  if (text.empty()) return none("the knobs are the same");
  if (!c.blocks.empty()) return none("a few blocks run, and what each writes may follow the knobs");
  return vary_case(base, c, text, own);
}

}  // namespace

Case plain_case(const Instance& base) {
  Case c = base.the_case;
  c.property = {};
  c.recorded = {};
  c.places = {};
  return c;
}

const std::vector<std::string>& poison_names() {
  static const std::vector<std::string> kNames{"zero",   "one", "largest",
                                               "lowest", "inf", "negative_inf"};
  return kNames;
}

std::optional<Poison> parse_poison(std::string_view name) {
  const auto& names = poison_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return kPoisons[static_cast<size_t>(found - names.begin())];
}

uint64_t poison_bits(DType type, Poison poison) {
  if (poison == Poison::usual) return poison_bits(type);
  if (poison == Poison::zero) return 0;
  const bool low = poison == Poison::lowest || poison == Poison::negative_infinity;
  if (!is_floating(type)) {
    if (poison == Poison::one) return 1;
    const int bits = bit_width(type);
    const uint64_t sign = uint64_t{1} << (bits - 1);
    const uint64_t mask = (sign - 1) | sign;
    if (!is_signed(type)) return low ? 0 : mask;
    return low ? sign : sign - 1;
  }
  if (poison == Poison::one) return round_to_bits(type, 1);
  const FloatFormat format = format_of(type);
  const bool infinite = poison == Poison::infinity || poison == Poison::negative_infinity;
  const double size = infinite && format.has_infinity ? HUGE_VAL : format.largest;
  return round_to_bits(type, low ? -size : size);
}

Variations vary(const Instance& base) {
  const PropertyCheck& property = base.the_case.property;
  const Property& stated =
      *base.contract->find_property(*parse_property_kind(property.name), property.of);
  switch (stated.kind) {
    case PropertyKind::rows_independent:
      return vary_rows(base, stated);
    case PropertyKind::padding_free:
      return vary_padding(base);
    case PropertyKind::repeatable:
      return vary_schedule(base);
    case PropertyKind::layout_free:
      return vary_layout(base);
    case PropertyKind::knobs_free:
      return vary_knobs(base);
    case PropertyKind::shift_invariant:
    case PropertyKind::scale_invariant:
      break;
  }
  return vary_values(base, stated);
}

MappedRun map_run(const Tensor& tensor, const Tensor& base, const std::string& dimension,
                  int64_t first, int64_t linear, int64_t step, int64_t count) {
  const auto axis = tensor.axis(dimension);
  if (!axis) return {linear, count};
  // Both are runs of rows of `inner` elements, the variation's `mine` of them the base's `theirs`.
  const int64_t inner = axis->inner;
  const int64_t mine = axis->extent * inner, theirs = base.axis(dimension)->extent * inner;
  const int64_t within = linear % mine;
  const int64_t room = step > 0 ? (mine - within + step - 1) / step : count;
  return {linear / mine * theirs + within + first * inner, std::min(count, room)};
}

}  // namespace assay
