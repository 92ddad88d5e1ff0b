// The other side of calibration: defects that no correct kernel has, planted in a run, and the
// share of them that the judge reports.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "fuzz/check_case.hpp"

namespace assay {

/// dropped: one element of a reduced operand reads as 0. duplicated: it reads as its neighbour
/// along the reduced dimension, which is then counted twice. The others: every f32 add, sub and fma
/// of the kernel rounds to that format.
enum class Planted : uint8_t { dropped, duplicated, tf32, f16, bf16 };
inline constexpr int kPlantedKinds = 5;
std::string_view name(Planted kind);

/// Elements along the reduced dimension, and what the operand that was broken holds.
enum class SizeClass : uint8_t { to_32, to_1024, above };
enum class DataKind : uint8_t { ordinary, exact, witness };
std::string_view name(SizeClass size);
std::string_view name(DataKind data);

struct Sensitivity {
  int64_t planted = 0;  ///< runs whose outputs differ from those of the run without the defect
  int64_t caught = 0;   ///< of them, those that the judge rejects
  void add(const Sensitivity& other) {
    planted += other.planted;
    caught += other.caught;
  }
};

/// Of one kernel, by what was planted, size and data.
using SensitivityTable = std::map<std::tuple<SizeClass, DataKind, Planted>, Sensitivity>;

/// Plants each defect in a case that passes, and counts. Nothing is counted where the contract
/// reduces no floating-point operand, where the case runs only some of its blocks, and where a
/// defect changes no bit of an output (a value times 0, a narrower sum that is exact).
void plant_defects(Checker& checker, const Case& c, uint64_t seed, SensitivityTable& table);

}  // namespace assay
