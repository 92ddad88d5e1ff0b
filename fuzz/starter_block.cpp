#include "fuzz/starter_block.hpp"

#include <algorithm>
#include <optional>
#include <regex>

#include "fuzz/starter_types.hpp"
#include "kernels_under_test/expression.hpp"
#include "kernels_under_test/input_error.hpp"

namespace assay {

namespace {

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

bool is_block_name(std::string word) {
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return word.find("block") != std::string::npos || word.find("thread") != std::string::npos;
}

/// Whether the source counts a block's threads by it: "blockIdx.x * B + threadIdx.x", in whatever
/// order and through whatever cast, or "for (int i = threadIdx.x; ...; i += B)".
bool counts_threads(const KernelSignature& kernel, const std::string& name) {
  const std::string cast_end = "\\s*[)}]?\\s*";
  const std::string block = "blockIdx\\.x" + cast_end,
                    own = "\\(?\\s*\\b" + name + "\\b" + cast_end;
  const std::string product =
      "(" + block + "\\*\\s*" + own + "|\\b" + name + "\\b" + cast_end + "\\*[^;+]*" + block + ")";
  const std::regex uses(product + "\\+[^;+]*threadIdx\\.x|threadIdx\\.x" + cast_end + "\\+[^;+]*" +
                        product + "|=\\s*threadIdx\\.x\\s*;[^;]*;\\s*\\w+\\s*\\+=\\s*" + name +
                        "\\s*\\)");
  return std::regex_search(searchable_body(kernel), uses);
}

/// `__launch_bounds__` as the contract can say it, in knobs; "" where it cannot: a macro or a
/// constant of the source, whose value the compiled kernel tells.
std::string bounds_text(const KernelSignature& kernel, const BlockLimits& limits) {
  if (limits.most_threads == 0 || kernel.launch_bounds.empty()) return "";
  bool of_knobs = false;
  IntegerScope scope;
  scope.value = [&](std::string_view name) -> std::optional<int64_t> {
    for (const KernelTemplateParameter& p : kernel.templates) {
      if (!is_knob(p) || p.name != name) continue;
      of_knobs = true;
      return std::stoll(knob_text(kernel, p));
    }
    return std::nullopt;
  };
  try {
    const ExprPtr bounds = parse_expression(kernel.launch_bounds, {});
    const bool same = evaluate_integer(*bounds, scope) == limits.most_threads;
    return same && of_knobs ? to_text(*bounds) : "";
  } catch (const InputError&) {
    return "";
  }
}

}  // namespace

BlockLimits block_limits(const ptx::Function& function) {
  BlockLimits limits{function.required_block, 0};
  if (function.max_block[0] == 0) return limits;
  limits.most_threads = 1;
  for (const int32_t extent : function.max_block)
    limits.most_threads *= std::max<int64_t>(extent, 1);
  return limits;
}

bool is_knob(const KernelTemplateParameter& p) { return p.type != "typename" && p.type != "bool"; }

std::string knob_text(const KernelSignature& kernel, const KernelTemplateParameter& p) {
  if (is_number(p.fallback)) return p.fallback;
  if (is_block_name(p.name) || counts_threads(kernel, p.name)) return "128";
  return dtype_of_cxx(p.type) || p.type == "auto" ? "1" : "0";  // of an enumeration the first
}

std::string block_text(const KernelSignature& kernel, const BlockLimits& limits) {
  if (limits.required[0] > 0) return std::to_string(limits.required[0]);
  if (const std::string bounds = bounds_text(kernel, limits); !bounds.empty()) return bounds;
  const auto fits = [&](const KernelTemplateParameter& p) {
    return is_knob(p) &&
           (limits.most_threads == 0 || std::stoll(knob_text(kernel, p)) <= limits.most_threads);
  };
  for (const KernelTemplateParameter& p : kernel.templates)
    if (fits(p) && counts_threads(kernel, p.name)) return p.name;
  for (const KernelTemplateParameter& p : kernel.templates)
    if (fits(p) && is_block_name(p.name)) return p.name;
  return std::to_string(limits.most_threads > 0 ? limits.most_threads : 128);
}

std::string block_list(const KernelSignature& kernel, const BlockLimits& limits) {
  const std::string block = block_text(kernel, limits);
  std::string text = is_number(block) ? block : "\"" + block + "\"";
  if (limits.required[1] <= 1 && limits.required[2] <= 1) return text;
  for (const size_t axis : {1, 2})
    text += ", " + std::to_string(std::max(limits.required[axis], 1));
  return text;
}

}  // namespace assay
