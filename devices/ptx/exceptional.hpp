// Exceptional arithmetic: which operation on ordinary numbers made a NaN, an infinity, a subnormal
// or zero, or cancelled nearly all digits. docs/checkers.md, "Exceptional arithmetic".
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "devices/ptx/code.hpp"

namespace assay::ptx {

/// Worst first: what explains a wrong value best.
enum class Exception : uint8_t { nan, infinity, cancellation, underflow };
const char* text_of(Exception kind);

/// One operation of one lane (of one half, where packed), in exact values.
struct Operation {
  Op op = Op::unknown;
  Type type = Type::none;  ///< of the result, not packed
  std::array<double, 3> operands{};
  int count = 0;  ///< of operands that are numbers
  double result = 0;
  int constants = 0;  ///< bit k: operand k is a number in the program's text
};
/// Whether the operation made something exceptional of operands that are not. A cancellation counts
/// only where an operand carries a rounding: the difference of exact numbers is exact.
std::optional<Exception> exception_of(const Operation& operation, bool operand_rounded);
/// Whether the result is not exact, as far as doubles tell; functions always round.
bool rounds(const Operation& operation);

/// What a value carries along: numbers of events, 0 for none.
struct Cause {
  uint32_t nonfinite = 0;
  uint32_t cancellation = 0;
  uint32_t underflow = 0;
  bool rounded = false;
  bool empty() const { return nonfinite + cancellation + underflow == 0 && !rounded; }
  uint32_t worst() const {
    return nonfinite != 0 ? nonfinite : cancellation != 0 ? cancellation : underflow;
  }
  /// Joins what another operand carries; the earlier event of a kind stays.
  void join(const Cause& other);
};
using CauseRow = std::array<Cause, kLanes>;

struct ExceptionEvent {
  Exception kind{};
  Operation operation;
  const Code* code = nullptr;
  int32_t site = -1;
  std::array<int64_t, 3> block{};
  std::array<int64_t, 3> thread{};
};

/// The state of one run: causes by register and by place in memory, in the blocks that are traced.
class ExceptionTrace {
 public:
  void begin_launch() {
    rows_.clear();
    near_.clear();
  }
  CauseRow& row(int64_t block, int32_t warp, uint32_t flag) { return rows_[{block, warp}][flag]; }
  /// What lies at a place: an address of global memory, or a number of the caller's for shared and
  /// local memory, which last for a launch.
  Cause at(Space space, uint64_t place) const {
    const auto& memory = space == Space::global ? global_ : near_;
    const auto known = memory.find(place);
    return known == memory.end() ? Cause{} : known->second;
  }
  void put(Space space, uint64_t place, const Cause& cause) {
    auto& memory = space == Space::global ? global_ : near_;
    if (cause.empty())
      memory.erase(place);
    else
      memory[place] = cause;
  }
  /// Adds an event, or names the last one where its instruction has made very many.
  uint32_t add(ExceptionEvent event);
  const ExceptionEvent& event(uint32_t number) const { return events_[number]; }

  Cause watched;  ///< what was stored last to the bytes that are watched
  /// The operand rows of the instruction that runs, as they were before it.
  alignas(64) std::array<std::array<uint8_t, 256>, 3> before;

 private:
  using Registers = std::unordered_map<uint32_t, CauseRow>;  ///< by flag index
  std::map<std::pair<int64_t, int32_t>, Registers> rows_;    ///< by block and warp
  std::unordered_map<uint64_t, Cause> global_, near_;
  std::vector<ExceptionEvent> events_ = std::vector<ExceptionEvent>(1);
  std::map<std::pair<int32_t, Exception>, std::pair<int, uint32_t>>
      counts_;  ///< how many, the last
};

/// Bits of a register as a number of a floating type that is not packed.
double number_of(Type type, uint64_t bits);
/// f16 of f16x2; other types as they are.
Type element_of(Type type);

}  // namespace assay::ptx
