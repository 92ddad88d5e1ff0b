// Simpler variations of a case for the shrinker, most drastic first.
#include <algorithm>

#include "generators/draft.hpp"
#include "generators/values.hpp"

namespace assay {
namespace {

/// Collects variations that are valid and differ from the original.
class Variations {
 public:
  Variations(const Contract& contract, const Case& original)
      : contract_(contract), original_(original) {}

  /// `change` edits a copy of the original.
  template <typename Change>
  void add(Change change) {
    Case c = original_;
    change(c);
    if (c == original_ || std::find(out_.begin(), out_.end(), c) != out_.end()) return;
    if (if_valid(contract_, c)) out_.push_back(std::move(c));
  }
  std::vector<Case> take() { return std::move(out_); }

 private:
  const Contract& contract_;
  const Case& original_;
  std::vector<Case> out_;
};

/// A smaller size often leaves layouts, blocks and overrides without a place: those that lie
/// outside go, strides stay where they still fit.
void keep_what_fits(const Contract& contract, Case& c) {
  Case bare = c;
  bare.layouts.clear();
  bare.overrides.clear();
  bare.blocks.clear();
  bare.property = {};
  try {
    const Instance instance = instantiate(contract, bare);
    std::erase_if(c.overrides, [&](const PointOverride& point) {
      const Tensor* const tensor = instance.find(point.operand);
      for (size_t d = 0; d < point.at.size() && d < tensor->shape.size(); ++d) {
        if (point.at[d] >= tensor->shape[d]) return true;
      }
      return false;
    });
    if (const auto rows = c.property.numbers.find("count"); rows != c.property.numbers.end()) {
      // Of the batch's rows, those that are left.
      const SizeSpec* const size = size_along(contract, c.property.of);
      const int64_t left = size == nullptr ? rows->second : c.sizes[size->name];
      rows->second = std::max<int64_t>(1, std::min(rows->second, left - 1));
      int64_t& first = c.property.numbers["first"];
      first = std::max<int64_t>(0, std::min(first, left - rows->second));
    }
    if (!c.blocks.empty() && instance.launches.size() == 1) {
      const auto& grid = instance.launches[0].grid;
      const int64_t last = grid[0] * grid[1] * grid[2] - 1;
      // A failing block near the end stays near the end.
      for (int64_t& block : c.blocks) block = std::max<int64_t>(0, std::min(block, last));
      std::sort(c.blocks.begin(), c.blocks.end());
      c.blocks.erase(std::unique(c.blocks.begin(), c.blocks.end()), c.blocks.end());
    }
  } catch (const InputError&) {
    return;
  }
}

/// Sizes below `value`, the smallest first. A failure often keeps to a residue (a tail of a warp, a
/// tile, a vector): what is left of `value` by each step and power of two comes before halves.
std::vector<int64_t> smaller_sizes(int64_t least, int64_t value, std::vector<int64_t> steps) {
  std::vector<int64_t> out{least, 1, 2, 3, 4};
  for (int64_t power = 2; power < value && power <= 4096; power *= 2) steps.push_back(power);
  for (const int64_t step : steps) {
    for (const int64_t size : {value % step, step - 1, step, step + 1, step + value % step})
      out.push_back(size);
  }
  for (int64_t part = value / 2; part > 4; part /= 2) {
    out.push_back(part);
    out.push_back(value - part);
  }
  if (value <= 64) {
    for (int64_t size = 5; size < value; ++size) out.push_back(size);
  }
  out.push_back(value - 1);
  std::erase_if(out, [&](int64_t size) { return size < least || size >= value; });
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void simpler_sizes(const Contract& contract, const Case& original, Variations& out) {
  for (const SizeSpec& size : contract.sizes) {
    const auto found = original.sizes.find(size.name);
    if (found == original.sizes.end()) continue;
    const int64_t value = found->second;
    std::vector<int64_t> smaller;
    if (!size.in.empty()) {
      for (const int64_t option : size.in) {
        if (option < value) smaller.push_back(option);
      }
    } else {
      smaller = smaller_sizes(size.min, value, Facts(contract).steps);
    }
    for (const int64_t wanted : smaller) {
      if (wanted >= value || (size.in.empty() && wanted < size.min)) continue;
      out.add([&](Case& c) {
        c.sizes[size.name] = wanted;
        fit_ties(contract, size.name, c);
        keep_what_fits(contract, c);
      });
      out.add([&](Case& c) {
        c.sizes[size.name] = wanted;
        fit_ties(contract, size.name, c);
        c.layouts.clear();
        keep_what_fits(contract, c);
      });
    }
  }
}

void simpler_blocks(const Contract& contract, const Case& original, Variations& out) {
  const size_t count = original.blocks.size();
  if (count > 1) {
    for (size_t i = 0; i < std::min<size_t>(count, 16); ++i) {
      out.add([&](Case& c) { c.blocks = {original.blocks[i]}; });
    }
    out.add([&](Case& c) { c.blocks.resize(count / 2); });
    out.add([&](Case& c) { c.blocks.erase(c.blocks.begin(), c.blocks.begin() + count / 2); });
    for (size_t i = 0; i < std::min<size_t>(count, 16); ++i) {
      out.add([&](Case& c) { c.blocks.erase(c.blocks.begin() + i); });
    }
  } else if (count == 0 && Facts(contract).subset_allowed) {
    const Instance instance = instantiate(contract, original);
    if (instance.launches.size() != 1) return;
    const auto& grid = instance.launches[0].grid;
    const int64_t blocks = grid[0] * grid[1] * grid[2];
    // Of a large grid, single blocks; of a small one the sizes say enough.
    if (blocks < 64) return;
    for (const int64_t block : {int64_t{0}, blocks - 1, blocks / 2}) {
      out.add([&](Case& c) { c.blocks = {block}; });
    }
  }
}

void simpler_layouts(const Case& original, Variations& out) {
  if (!original.layouts.empty()) out.add([](Case& c) { c.layouts.clear(); });
  for (const auto& [operand, layout] : original.layouts) {
    out.add([&](Case& c) { c.layouts.erase(operand); });
    out.add([&](Case& c) { c.layouts[operand].offset = c.layouts[operand].misalign = 0; });
    out.add([&](Case& c) { c.layouts[operand].offset = 0; });
    out.add([&](Case& c) { c.layouts[operand].misalign = 0; });
  }
}

void simpler_aliases(const Case& original, Variations& out) {
  for (const auto& [operand, memory] : original.aliases)
    out.add([&name = operand](Case& c) { c.aliases.erase(name); });
}

void simpler_values(const Contract& contract, const Case& original, Variations& out) {
  if (!original.overrides.empty()) out.add([](Case& c) { c.overrides.clear(); });
  for (size_t i = 0; i < std::min<size_t>(original.overrides.size(), 16); ++i) {
    out.add([&](Case& c) { c.overrides.erase(c.overrides.begin() + i); });
  }
  const ValueRecipe kSimple[] = {
      {"zeros", {{"negative", 0}}}, {"equal", {}}, {"ramp", {}}, {"exact", {}}, {"normal", {}}};
  const ValueRecipe kSimpleIndex[] = {
      {"index_first", {}}, {"index_ramp", {}}, {"index_uniform", {}}};
  for (const OperandSpec& operand : contract.args) {
    const bool is_index = operand.kind == OperandKind::index;
    if (!is_index && operand.kind != OperandKind::input && operand.kind != OperandKind::inout)
      continue;
    const auto found = original.values.find(operand.name);
    const std::string current = found == original.values.end()
                                    ? (is_index ? "index_uniform" : "normal")
                                    : found->second.name;
    const auto try_each = [&](const auto& recipes) {
      for (const ValueRecipe& recipe : recipes) {
        if (recipe.name == current) {
          // The same class with fewer parameters, and nothing less simple than it.
          out.add([&](Case& c) { c.values[operand.name].parameters.clear(); });
          return;
        }
        out.add([&](Case& c) { c.values[operand.name] = recipe; });
      }
    };
    if (is_index) {
      try_each(kSimpleIndex);
    } else {
      try_each(kSimple);
    }
  }
}

void simpler_choices(const Contract& contract, const Case& original, Variations& out) {
  for (const auto& [flag, value] : original.flags) {
    if (value != 0) out.add([&](Case& c) { c.flags[flag] = 0; });
  }
  for (const auto& [scalar, position] : original.scalars) {
    if (position != 0) out.add([&](Case& c) { c.scalars[scalar] = 0; });
  }
  for (const Knob& knob : contract.knobs) {
    const auto found = original.knobs.find(knob.name);
    if (found == original.knobs.end() || found->second == knob.values[0]) continue;
    out.add([&](Case& c) { c.knobs[knob.name] = knob.values[0]; });
  }
}

void simpler_property(const Case& original, Variations& out) {
  if (original.property.name.empty()) return;
  out.add([](Case& c) { c.property = {}; });
  if (!original.property.poison.empty()) out.add([](Case& c) { c.property.poison = "zero"; });
  for (const auto& [key, value] : original.property.numbers) {
    for (const int64_t simpler : {0, 1, 2})
      out.add([&](Case& c) { c.property.numbers[key] = std::min(simpler, value); });
  }
}

}  // namespace

std::vector<Case> simpler_cases(const Contract& contract, const Case& c) {
  Variations out(contract, c);
  simpler_property(c, out);
  simpler_aliases(c, out);
  simpler_sizes(contract, c, out);
  simpler_blocks(contract, c, out);
  simpler_layouts(c, out);
  simpler_values(contract, c, out);
  simpler_choices(contract, c, out);
  out.add([](Case& v) { v.block_seed = v.warp_seed = 0; });
  out.add([](Case& v) { v.block_seed = 0; });
  out.add([](Case& v) { v.warp_seed = 0; });
  out.add([](Case& v) { v.value_seed = 0; });
  return out.take();
}

}  // namespace assay
