// What an integer expression can be when its names may be anything within limits.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>

#include "kernels_under_test/expression.hpp"

namespace assay {

/// A closed range of 64-bit integers. The default holds them all.
struct Interval {
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();

  static Interval of(int64_t value) { return {value, value}; }
  bool is_point() const { return low == high; }
  bool holds(int64_t value) const { return low <= value && value <= high; }
  bool operator==(const Interval&) const = default;
};

/// What names and calls may be; an unset function, or nullopt, leaves them open: any integer.
struct IntervalScope {
  std::function<std::optional<Interval>(std::string_view name)> value;
  std::function<std::optional<Interval>(const Expr& call)> call;
};

/// An interval that holds each value which `evaluate_integer` gives for some choice of the names
/// within theirs. Choices for which it throws (division by 0, overflow) count as none. Not always
/// the narrowest: a name that occurs twice counts as two. Never throws.
Interval evaluate_interval(const Expr& expr, const IntervalScope& scope);

}  // namespace assay
