// The other side of calibration: defects that no correct kernel has, planted in a run, the share of
// them that the judge reports, and how small those are.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "fuzz/check_case.hpp"

namespace assay {

/// dropped: one element of a reduced operand reads as 0. duplicated: it reads as its neighbour
/// along the reduced dimension, which is then counted twice. Where the formula reduces no dimension
/// of an operand (a table whose rows are gathered, a window, an elementwise kernel), an input and
/// its last dimension serve. The others: every f32 add, sub and fma of the kernel rounds to that
/// format.
enum class Planted : uint8_t { dropped, duplicated, tf32, f16, bf16 };
inline constexpr int kPlantedKinds = 5;
std::string_view name(Planted kind);

/// Elements along the reduced dimension (none: the formula reduces nothing), and what the operand
/// that was broken holds: `exact` is every class whose sums or weights are exact by construction.
enum class SizeClass : uint8_t { none, to_32, to_1024, above };
inline constexpr int kSizeClasses = 4;
/// The most elements that are no `above`.
inline constexpr int64_t kLongReduction = 1024;
enum class DataKind : uint8_t { ordinary, exact, witness };
inline constexpr int kDataKinds = 3;
std::string_view name(SizeClass size);
std::string_view name(DataKind data);

/// The size of a defect is the largest difference that it made to an element of an output, in ulps
/// of the output's type at the larger of both values (of integers: the difference itself); infinite
/// where one of them is not finite.
struct Sensitivity {
  int64_t planted = 0;  ///< runs whose outputs differ from those of the run without the defect
  int64_t caught = 0;   ///< of them, those that the judge rejects
  double smallest_caught = std::numeric_limits<double>::infinity();  ///< size; none: infinite
  double largest_missed = 0;                                         ///< size; none: 0
  void add(double size, bool is_caught) {
    ++planted;
    caught += is_caught;
    if (is_caught) smallest_caught = std::min(smallest_caught, size);
    if (!is_caught) largest_missed = std::max(largest_missed, size);
  }
  void add(const Sensitivity& other) {
    planted += other.planted;
    caught += other.caught;
    smallest_caught = std::min(smallest_caught, other.smallest_caught);
    largest_missed = std::max(largest_missed, other.largest_missed);
  }
};

/// The size of the difference of two values of a type, given as bits; 0 where they are equal, both
/// zeros or both NaN.
double difference_in_ulps(DType type, uint64_t a, uint64_t b);

/// Of one kernel, by what was planted, size and data.
using SensitivityTable = std::map<std::tuple<SizeClass, DataKind, Planted>, Sensitivity>;

/// Plants each defect in a case that passes, and counts; returns the findings of the run without
/// a defect. Nothing is counted where no floating-point input holds data of a DataKind, where the
/// case runs only some of its blocks, and where a defect changes no value of an output (a value
/// times 0, a narrower sum that is exact).
std::vector<Finding> plant_defects(Checker& checker, const Case& c, uint64_t seed,
                                   SensitivityTable& table);

}  // namespace assay
