// Prints a case as stable text: equal cases give equal text, and parse_case reads it back.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string>

#include "generators/case.hpp"

namespace assay {
namespace {

/// The shortest decimal that reads back to the same double.
std::string shortest(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return std::string(buffer, end);
}

std::string hex(uint64_t value) {
  char buffer[24];
  std::snprintf(buffer, sizeof buffer, "0x%llx", static_cast<unsigned long long>(value));
  return buffer;
}

std::string join(const std::vector<int64_t>& numbers) {
  std::string out;
  for (const int64_t number : numbers) {
    if (!out.empty()) out += ',';
    out += std::to_string(number);
  }
  return out;
}

void print_assignments(std::string& out, const char* keyword,
                       const std::map<std::string, int64_t>& entries) {
  if (entries.empty()) return;
  out += keyword;
  for (const auto& [key, value] : entries) out += " " + key + "=" + std::to_string(value);
  out += '\n';
}

void print_layout(std::string& out, const std::string& operand, const Layout& layout) {
  out += "layout " + operand;
  if (!layout.strides.empty()) out += " strides=" + join(layout.strides);
  if (layout.offset != 0) out += " offset=" + std::to_string(layout.offset);
  if (layout.misalign != 0) out += " misalign=" + std::to_string(layout.misalign);
  out += '\n';
}

/// 0,5,7-9
std::string print_blocks(std::vector<int64_t> blocks) {
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  std::string out;
  for (size_t i = 0; i < blocks.size();) {
    size_t last = i;
    while (last + 1 < blocks.size() && blocks[last + 1] == blocks[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += std::to_string(blocks[i]);
    if (last > i) out += '-' + std::to_string(blocks[last]);
    i = last + 1;
  }
  return out;
}

void print_recorded(std::string& out, const Recorded& recorded) {
  if (!recorded.kind.empty() || !recorded.rule.empty() || !recorded.file.empty()) {
    out += "recorded";
    if (!recorded.kind.empty()) out += " kind=" + recorded.kind;
    if (!recorded.rule.empty()) out += " rule=" + recorded.rule;
    if (!recorded.file.empty()) out += " at=" + recorded.file + ":" + std::to_string(recorded.line);
    out += '\n';
  }
  if (!recorded.compiler.empty()) out += "compiler " + recorded.compiler + "\n";
  if (!recorded.program.empty()) out += "program " + recorded.program + "\n";
}

}  // namespace

std::string PropertyCheck::text() const {
  std::string out = name;
  if (!of.empty()) out += "(" + of + ")";
  for (const auto& [key, value] : numbers) out += " " + key + "=" + std::to_string(value);
  if (!poison.empty()) out += " poison=" + poison;
  return out;
}

std::string print_case(const Case& c) {
  std::string out = "assay-case 1\n";
  for (const std::string& comment : c.comments)
    out += comment.empty() ? "#\n" : "# " + comment + "\n";
  out += "kernel " + c.kernel + "\n";
  if (!c.types.empty()) {
    out += "types";
    for (const auto& [parameter, type] : c.types) {
      out += " " + parameter + "=" + std::string(name(type));
    }
    out += '\n';
  }
  print_assignments(out, "sizes", c.sizes);
  print_assignments(out, "knobs", c.knobs);
  print_assignments(out, "flags", c.flags);
  print_assignments(out, "scalars", c.scalars);
  if (!c.aliases.empty()) {
    out += "alias";
    for (const auto& [operand, memory] : c.aliases) out += " " + operand + "=" + memory;
    out += '\n';
  }
  for (const auto& [operand, layout] : c.layouts) print_layout(out, operand, layout);
  for (const auto& [operand, recipe] : c.values) {
    out += "values " + operand + " " + recipe.name;
    for (const auto& [key, value] : recipe.parameters) out += " " + key + "=" + shortest(value);
    out += '\n';
  }
  if (c.value_seed != 0 || c.block_seed != 0 || c.warp_seed != 0) {
    out += "seeds values=" + hex(c.value_seed) + " blocks=" + hex(c.block_seed) +
           " warps=" + hex(c.warp_seed) + "\n";
  }
  if (!c.blocks.empty()) out += "blocks " + print_blocks(c.blocks) + "\n";
  for (const PointOverride& point : c.overrides) {
    out += "set " + point.operand + "[" + join(point.at) +
           "] = " + (point.text.empty() ? hex(point.bits) : point.text) + "\n";
  }
  if (!c.property.name.empty()) out += "property " + c.property.text() + "\n";
  print_recorded(out, c.recorded);
  return out + "end\n";
}

}  // namespace assay
