// Private to generators: what expressions over a case's sizes and choices are, before it is
// resolved.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "generators/case.hpp"
#include "kernels_under_test/contract.hpp"

namespace assay {

/// Both sides of a comparison.
using Sides = std::pair<const Expr*, const Expr*>;

/// Sizes and choices of a case, derived values and integer scalars: what launches are made from.
class CaseNumbers {
 public:
  /// `contract` must outlive it.
  CaseNumbers(const Contract& contract, Case c);
  CaseNumbers(const CaseNumbers&) = delete;
  CaseNumbers& operator=(const CaseNumbers&) = delete;

  int64_t size(const std::string& name) const { return case_.sizes.at(name); }
  void set(const std::string& size, int64_t value) { case_.sizes[size] = value; }

  /// nullopt where it needs more than those (a stride), or is an error.
  std::optional<int64_t> value(const Expr& expr) const;
  /// -1, 0 or 1: how left stands to right; nullopt where either has no value.
  std::optional<int> order(const Sides& sides) const;

 private:
  std::optional<int64_t> named(std::string_view wanted) const;

  const Contract& contract_;
  Case case_;
  IntegerScope scope_;
};

}  // namespace assay
