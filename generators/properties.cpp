// Draws which property a case is compared by, and makes the case one in which it can show.
#include <algorithm>

#include "generators/draft.hpp"
#include "generators/thresholds.hpp"
#include "generators/variation.hpp"
#include "kernels_under_test/variants.hpp"

namespace assay {
namespace {

bool is_value(const OperandSpec& operand) {
  return operand.kind == OperandKind::input || operand.kind == OperandKind::inout;
}

/// Sums of exact data come out alike in any order: most of these cases have ordinary data instead.
void draw_inexact(const Contract& contract, Random& random, Case& c) {
  if (random.chance(0.3)) return;
  const Variant variant = c.variant();
  for (const OperandSpec& operand : contract.args) {
    if (is_value(operand) && is_floating(resolve_dtype(operand, variant)))
      c.values[operand.name] = {"normal", {}};
  }
}

/// Halves the largest other size until the case costs no more than `work_limit`.
bool afford(const Contract& contract, const std::string& kept, int64_t work_limit, Case& c) {
  for (int round = 0; round < 64; ++round) {
    const std::optional<Instance> instance = if_valid(contract, c);
    if (!instance) return false;
    if (work_estimate(*instance) <= work_limit) return true;
    int64_t* largest = nullptr;
    int64_t next = 0;
    for (const SizeSpec& size : contract.sizes) {
      int64_t& value = c.sizes[size.name];
      const int64_t smaller =
          size.in.empty() ? std::max(size.min, value / 2)
                          : *std::min_element(size.in.begin(), size.in.end());
      if (size.name == kept || smaller >= value || smaller < 1) continue;
      if (largest == nullptr || value > *largest) {
        largest = &value;
        next = smaller;
      }
    }
    if (largest == nullptr) return false;
    *largest = next;
  }
  return false;
}

/// One of the other sizes as long as rows are in earnest: several elements for each thread.
void lengthen(const Contract& contract, const std::string& kept, Random& random, Case& c) {
  std::vector<const SizeSpec*> others;
  for (const SizeSpec& size : contract.sizes) {
    if (size.name != kept && size.in.empty()) others.push_back(&size);
  }
  if (others.empty()) return;
  const SizeSpec& size = *random.pick(others);
  c.sizes[size.name] =
      std::clamp(random.pick<int64_t>({100, 300, 513, 1000, 2049}), size.min, size.max);
}

/// What kernels switch at: 512, 1,024, and what the launches themselves compare a size with.
std::vector<int64_t> large_batches(const Contract& contract, const SizeSpec& size, const Case& c) {
  std::vector<int64_t> out{511, 512, 513, 1023, 1024, 1025};
  for (const int64_t past : thresholds(contract, c, size)) {
    for (const int64_t value : {past - 1, past, past + 1}) out.push_back(value);
  }
  return out;
}

/// The rows of `larger`, where that is affordable, and one of them alone, or a batch within.
bool compare_batch(const Contract& contract, const SizeSpec& size, Case larger, int64_t limit,
                   Random& random, Case& c) {
  const int64_t before = c.sizes[size.name];
  for (Case* one : {&larger, &c}) {
    one->layouts.clear();
    one->overrides.clear();
    one->property.numbers = {{"count", 1}, {"first", 0}};
  }
  if (afford(contract, size.name, limit, larger)) c = std::move(larger);
  const int64_t rows = c.sizes[size.name];
  if (rows < 1 || (rows == 1 && before < 2)) return false;
  draw_inexact(contract, random, c);
  std::vector<int64_t> counts{1, 1, 1};
  for (const int64_t count : {2, 16, 255, 256, 512, 1024}) {
    if (count < rows) counts.push_back(count);
  }
  const int64_t count = random.pick(counts);
  c.property.numbers = {{"count", count}, {"first", random.between(0, rows - count)}};
  return true;
}

/// Batches around the sizes at which a kernel may choose another way; a row alone most of all.
bool draw_rows(const Contract& contract, const Property& stated, int64_t work_limit,
               Random& random, Case& c) {
  const SizeSpec& size = *size_along(contract, stated.of);
  if (!c.blocks.empty()) return false;  // far sizes, of which a few blocks run
  Case larger = c;
  int64_t rows = random.pick<int64_t>({2, 16, 255, 256, 257, 257});
  // One batch in eight may cost more: 257 blocks are as many threads as a case may have, and
  // another order of additions shows only where rows are not short.
  const bool in_earnest = random.chance(0.125);
  if (in_earnest) {
    lengthen(contract, size.name, random, larger);
    if (random.chance(0.5)) rows = random.pick(large_batches(contract, size, larger));
  }
  larger.sizes[size.name] = size.in.empty() ? rows : random.pick(size.in);
  const int64_t limit = in_earnest ? kMostPropertyCost * work_limit : work_limit;
  return compare_batch(contract, size, std::move(larger), limit, random, c);
}

bool draw_padding(const Contract& contract, Random& random, Case& c) {
  c.property.poison = random.pick(poison_names());
  for (int attempt = 0; attempt < 4; ++attempt) {
    Case bare = c;
    bare.property = {};
    const std::optional<Instance> instance = if_valid(contract, bare);
    if (!instance) return false;
    if (attempt > 0) {
      draw_layouts(*instance, random, bare);
      if (!if_valid(contract, bare)) continue;
      c.layouts = bare.layouts;
    }
    const std::optional<Instance> whole = if_valid(contract, c);
    if (whole && vary(*whole).why_none.empty()) return true;
  }
  return false;
}

bool draw_layout(const Contract& contract, Random& random, Case& c) {
  for (int attempt = 0; attempt < 4; ++attempt) {
    const std::optional<Instance> whole = if_valid(contract, c);
    if (whole && vary(*whole).why_none.empty()) return true;
    Case bare = c;
    bare.property = {};
    const std::optional<Instance> instance = if_valid(contract, bare);
    if (!instance) return false;
    draw_layouts(*instance, random, c);
  }
  return false;
}

bool draw_knobs(const Contract& contract, const Property& stated, Random& random, Case& c) {
  for (int attempt = 0; attempt < 8; ++attempt) {
    Case other = c;
    for (const std::string& name : stated.knobs) {
      for (const Knob& knob : contract.knobs) {
        if (knob.name == name) other.knobs[name] = random.pick(knob.values);
      }
    }
    if (other.knobs == c.knobs || !admits_choices(contract, other.variant())) continue;
    for (const std::string& name : stated.knobs) c.property.numbers[name] = other.knobs[name];
    return true;
  }
  return false;
}

/// Small integers: a shift or a power of two is exact in every type, and dropping the maximum from
/// a softmax overflows.
bool draw_changed_values(const Contract& contract, const Property& stated, Random& random,
                         Case& c) {
  if (!c.blocks.empty()) return false;  // far sizes, of which a few blocks run
  c.overrides.clear();
  const ValueRecipe integers{"exact", {{"limit", 8}, {"step", 1}}};
  c.values[stated.of] = integers;
  for (const auto& [operand, power] : stated.along) {
    if (is_value(*contract.find_operand(operand))) c.values[operand] = integers;
  }
  fit_aliases(c);
  if (!stated.zero.empty()) {
    const auto& values = contract.find_operand(stated.zero)->values;
    for (size_t i = 0; i < values.size(); ++i) {
      if (names_in(*values[i]).empty() && evaluate_real(*values[i], {}) == 0)
        c.scalars[stated.zero] = static_cast<int64_t>(i);
    }
  }
  for (int attempt = 0; attempt < 6; ++attempt) {
    if (stated.kind == PropertyKind::shift_invariant) {
      c.property.numbers["by"] = random.pick<int64_t>({1, 8, 64, 100, 120}) *
                                 (random.chance(0.5) ? 1 : -1);
    } else {
      c.property.numbers["exponent"] =
          random.pick<int64_t>({1, 2, 3, 8, 20}) * (random.chance(0.5) ? 1 : -1);
    }
    const std::optional<Instance> whole = if_valid(contract, c);
    if (whole && vary(*whole).why_none.empty()) return true;
  }
  return false;
}

bool draw(const Contract& contract, const Property& stated, int64_t work_limit, Random& random,
          Case& c) {
  c.property = {std::string(name(stated.kind)), stated.of, {}, ""};
  switch (stated.kind) {
    case PropertyKind::rows_independent:
      return draw_rows(contract, stated, work_limit, random, c);
    case PropertyKind::padding_free:
      return draw_padding(contract, random, c);
    case PropertyKind::repeatable:
      c.property.numbers = {{"blocks", random.between(1, 65535)},
                            {"warps", random.between(1, 65535)}};
      draw_inexact(contract, random, c);
      return true;
    case PropertyKind::layout_free:
      return draw_layout(contract, random, c);
    case PropertyKind::knobs_free:
      return draw_knobs(contract, stated, random, c);
    case PropertyKind::shift_invariant:
    case PropertyKind::scale_invariant:
      break;
  }
  return draw_changed_values(contract, stated, random, c);
}

/// A row alone and in batches of each of these sizes, as far as random batches miss them.
void add_batches(const Contract& contract, const Property& stated, std::vector<int64_t> batches,
                 const Case& ordinary, std::vector<Case>& out) {
  constexpr int64_t kLimit = kMostPropertyCost << 17;
  constexpr int kMostBatches = 4;
  const SizeSpec& size = *size_along(contract, stated.of);
  int made = 0;
  for (const int64_t rows : batches) {
    if (rows <= 257 || rows > greatest(size) || !size.in.empty() || made == kMostBatches) continue;
    Random random(static_cast<uint64_t>(6000 + rows));
    Case c = ordinary;
    c.blocks.clear();
    c.property = {std::string(name(stated.kind)), stated.of, {}, ""};
    Case larger = c;
    larger.sizes[size.name] = rows;
    lengthen(contract, size.name, random, larger);
    if (!compare_batch(contract, size, std::move(larger), kLimit, random, c)) continue;
    if (c.sizes[size.name] != rows) continue;
    c.property.numbers = {{"count", 1}, {"first", rows - 1}};
    const std::optional<Instance> whole = if_valid(contract, c);
    if (!whole || !vary(*whole).why_none.empty()) continue;
    out.push_back(std::move(c));
    ++made;
  }
}

}  // namespace

bool draw_property(const Contract& contract, const Property& stated, int64_t work_limit,
                   Random& random, Case& c) {
  Case changed = c;
  if (!draw(contract, stated, work_limit, random, changed)) return false;
  fit_aliases(changed);
  const std::optional<Instance> whole = if_valid(contract, changed);
  if (!whole || work_estimate(*whole) > kMostPropertyCost * work_limit) return false;
  if (!vary(*whole).why_none.empty()) return false;
  c = std::move(changed);
  return true;
}

bool draw_property(const Contract& contract, int64_t work_limit, Random& random, Case& c) {
  if (contract.properties.empty()) return false;
  return draw_property(contract, random.pick(contract.properties), work_limit, random, c);
}

void draw_comparison(const Contract& contract, int64_t work_limit, Random& random, Case& c) {
  if (random.chance(0.125)) draw_property(contract, work_limit, random, c);
}

void add_properties(const Facts& facts, std::vector<Case>& out) {
  constexpr int kEach = 2;
  constexpr int64_t kWork = 1 << 16;
  const size_t ordinary = out.size();
  for (size_t p = 0; p < facts.contract.properties.size(); ++p) {
    const Property& stated = facts.contract.properties[p];
    int made = 0;
    for (uint64_t attempt = 0; attempt < 12 && made < kEach && ordinary > 0; ++attempt) {
      Random random(5000 + 100 * p + attempt);
      Case c = out[(7 * p + attempt) % ordinary];
      if (!draw_property(facts.contract, stated, kWork, random, c)) continue;
      out.push_back(std::move(c));
      ++made;
    }
    if (stated.kind != PropertyKind::rows_independent || ordinary == 0) continue;
    const Case c = out[7 * p % ordinary];
    std::vector<int64_t> batches =
        thresholds(facts.contract, c, *size_along(facts.contract, stated.of));
    batches.push_back(1025);
    add_batches(facts.contract, stated, std::move(batches), c, out);
  }
}

std::vector<Case> batches_past(const Contract& contract, const SizeValues& compared) {
  std::vector<Case> out;
  for (const Property& stated : contract.properties) {
    if (stated.kind != PropertyKind::rows_independent) continue;
    const auto at = compared.find(size_along(contract, stated.of)->name);
    if (at == compared.end()) continue;
    Case c = least_case(contract);
    Random random(7000);
    draw_variant(contract, random, c);
    draw_values(Facts(contract), random, c);
    std::vector<int64_t> batches;
    for (const int64_t value : at->second) batches.push_back(value + 1);
    add_batches(contract, stated, std::move(batches), c, out);
  }
  return out;
}

}  // namespace assay
