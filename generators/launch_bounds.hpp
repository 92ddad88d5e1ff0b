// What the names of a contract may be while its sizes and choices lie within ranges.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "generators/launch_limits.hpp"

namespace assay {

/// A size or a choice; of a list, its values in ascending order.
struct LaunchVariable {
  enum class Kind { size, type, knob, flag, scalar };
  Kind kind{};
  std::string name;
  std::vector<int64_t> list;  ///< empty: every integer of the range
  std::pair<int64_t, int64_t> range;  ///< of values, or of positions in the list
  bool drives = false;   ///< the number depends on it
  bool matters = false;  ///< it or a relation does
  int64_t value(int64_t at) const { return list.empty() ? at : list[static_cast<size_t>(at)]; }
};

/// One range a variable: a box.
using LaunchRanges = std::vector<std::pair<int64_t, int64_t>>;

/// Operands without a stride rule are contiguous, as in the cases that the search makes.
class LaunchBounds {
 public:
  LaunchBounds(const Contract& contract, const std::vector<LaunchVariable>& variables,
               const LaunchRanges& ranges);
  LaunchBounds(const LaunchBounds&) = delete;

  Interval of(const Expr& expr) const { return evaluate_interval(expr, scope_); }
  bool may_hold(const Expr& expr) const { return of(expr) != Interval::of(0); }
  Interval number(const LaunchSpec& launch, LaunchNumber number) const;
  Interval elements(const OperandSpec& operand) const;

 private:
  Interval of(const ExprPtr& expr, int64_t without) const {
    return expr ? of(*expr) : Interval::of(without);
  }
  std::optional<Interval> value(const std::string& name) const;
  std::optional<Interval> called(const Expr& call) const;
  std::optional<Interval> stride(const OperandSpec& operand, const Expr& which) const;

  const Contract& contract_;
  std::map<std::string, Interval> known_;
  std::map<std::string, Interval> positions_;  ///< of scalars' lists
  IntervalScope scope_;
};

}  // namespace assay
