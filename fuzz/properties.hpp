// Compares a case's run with the other runs of its property (docs/properties.md).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "devices/device.hpp"
#include "generators/variation.hpp"

namespace assay {

/// Where two runs differ. Logical indices; both values as text.
struct PropertyDifference {
  std::string output;
  int64_t element = 0;        ///< of the case's own run
  int64_t other_element = 0;  ///< the same of the other run
  std::string value, other_value;
  int64_t differing = 0;  ///< elements of all outputs
  int64_t compared = 0;
};

/// One other run, as it came out.
struct ComparedRun {
  std::string text;  ///< what it is: Variation::text
  std::string own;   ///< what the case's own run is beside it: Variation::own
  /// Why it ended before its outputs could be compared; "" when it completed.
  std::string ended;
  std::string unsupported;  ///< what the emulator lacks for it: nothing was compared
  int64_t compared = 0;  ///< elements that were compared bit by bit
  std::optional<PropertyDifference> difference;
  std::vector<Coverage> coverage;  ///< of the other run, where the case's own has it
  /// Derived values and launches that are others than in the case's own run: "S = 4, here 1".
  std::vector<std::string> differs;
};

/// What came of a case's property.
struct PropertyOutcome {
  std::string property;  ///< "rows_independent(rows)"
  std::vector<ComparedRun> runs;
  std::string why_none;      ///< why there is no other run; "" when there is
  bool unsupported = false;  ///< it is that the emulator lacks what the run needs
};

/// Bit by bit, but NaN is equal to NaN, over the elements that either run stored. With
/// `only_exact`: only outputs that hold copies or integers made of integers.
ComparedRun compare_runs(const Instance& base, const Run& base_run, const Variation& variation,
                         const Run& other, bool only_exact);

/// Whether every element of an output is a copy of an element, or made of integers alone: the same
/// bits whatever the layout and the knobs.
bool is_exact_output(const Contract& contract, const Variant& variant, const std::string& output);

}  // namespace assay
