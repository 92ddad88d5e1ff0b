// A case: one concrete experiment as plain, versioned text (docs/case.md). It holds recipes, not
// data; libFuzzer's inputs, corpus entries, artifacts and bug reports are all this text.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels_under_test/contract.hpp"

namespace assay {

/// How the elements of one operand are made; `name` is a value class of generators/values.hpp.
struct ValueRecipe {
  std::string name = "normal";
  std::vector<std::pair<std::string, double>> parameters;  ///< e.g. {"scale", 3}
  bool operator==(const ValueRecipe&) const = default;
};

/// Where an operand lies in its buffer. Strides and offset in elements.
struct Layout {
  std::vector<int64_t> strides;  ///< one a dimension; empty: contiguous
  int64_t offset = 0;            ///< storage offset in elements
  int64_t misalign = 0;          ///< bytes added to a 256-byte aligned base
  bool operator==(const Layout&) const = default;
};

/// `set x[3,17] = nan`: one element, by its logical coordinates. A value written as hex digits is
/// its bits; any other text (decimal, inf, -0, nan) is kept as written and becomes bits once the
/// contract has told the element's type (`instantiate`).
struct PointOverride {
  std::string operand;
  std::vector<int64_t> at;
  uint64_t bits = 0;  ///< used when `text` is empty
  std::string text;
  bool operator==(const PointOverride&) const = default;
};

/// `property rows_independent(rows) count=1 first=17`: a property of the contract that the case is
/// to be compared by (generators/variation.hpp). Empty `name`: none.
struct PropertyCheck {
  std::string name;
  std::string of;                          ///< dimension or operand; "" where it needs none
  std::map<std::string, int64_t> numbers;  ///< what the other run changes
  std::string poison;                      ///< of padding_free: what the other run's padding holds
  bool operator==(const PropertyCheck&) const = default;
  std::string text() const;  ///< "rows_independent(rows) count=1 first=17"
};

/// What a recorded failure was. Empty `kind`: nothing recorded.
struct Recorded {
  std::string kind;  ///< mismatch, out_of_bounds, wrap, unwritten, ...
  std::string rule;  ///< rule number of oracles/RULES.md, or the checker's name
  std::string file;  ///< base name of the source file
  int line = 0;
  std::string compiler;  ///< "nvrtc 13.0 sm_80"
  std::string program;   ///< digest of the decoded program
  bool operator==(const Recorded&) const = default;
};

/// Where the parts of a parsed case stand, for messages: keys such as "kernel", "sizes.rows",
/// "layout.x", "set.0". Shared between copies; never part of a comparison.
struct CasePlaces {
  std::shared_ptr<const std::map<std::string, SourceLocation>> at;
  bool operator==(const CasePlaces&) const { return true; }
  /// The place of `key`, or just `file` when the case was not parsed from text.
  SourceLocation find(const std::string& key, const std::string& file) const;
};

struct Case {
  std::string kernel;
  std::map<std::string, DType> types;
  std::map<std::string, int64_t> sizes;
  std::map<std::string, int64_t> knobs;
  std::map<std::string, int64_t> flags;
  std::map<std::string, int64_t> scalars;  ///< position in an operand's `value` list
  /// Written operands that lie in an input's memory, as when a host calls the kernel in place: they
  /// have no layout and no values of their own.
  std::map<std::string, std::string> aliases;
  std::map<std::string, Layout> layouts;   ///< operands not named are contiguous
  std::map<std::string, ValueRecipe> values;
  uint64_t value_seed = 0;
  uint64_t block_seed = 0;      ///< 0: blocks in order
  uint64_t warp_seed = 0;       ///< 0: warps in order
  std::vector<int64_t> blocks;  ///< linear block indices that run, ascending; empty: all
  std::vector<PointOverride> overrides;
  PropertyCheck property;
  Recorded recorded;
  std::vector<std::string> comments;  ///< provenance, without the '#'
  CasePlaces places;

  bool operator==(const Case&) const = default;
  Variant variant() const { return {types, knobs, flags}; }
};

/// Parses case text. Throws InputError with file:line:column. Structure only: `check_case_against`
/// asks whether it fits a contract.
Case parse_case(const std::string& text, const std::string& file);
/// Stable text: parse(print(c)) == c, and equal cases print equal text.
std::string print_case(const Case& c);
Case load_case(const std::string& path);

/// Throws InputError (naming `file`) unless the case is one that the contract admits: names,
/// dtypes, sizes within limits, relations, layouts that the stride rules allow, blocks within the
/// grid.
void check_case_against(const Contract& contract, const Case& c, const std::string& file);

}  // namespace assay
