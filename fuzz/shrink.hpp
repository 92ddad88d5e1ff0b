// Makes a failing case smaller while the same failure stays.
#pragma once

#include "fuzz/check_case.hpp"

namespace assay {

struct ShrinkLimits {
  int64_t checks = 20000;  ///< cases tried; counts alike on every machine
  double seconds = 0;      ///< 0: no limit. A guard only: with it the result may depend on speed.
};

struct ShrinkResult {
  Case the_case;          ///< the smallest case found; records the failure
  Finding finding;        ///< the failure as the smallest case shows it
  int64_t checks = 0;     ///< cases tried
  int64_t accepted = 0;   ///< steps that kept the failure
  bool fixpoint = false;  ///< no simpler variation fails in the same way
};

/// Tries the simpler variations of `finding`'s case in order, and goes on from the first that fails
/// with the same identity (kernel, kind, rule, place), until none does or StopSignals::asked().
ShrinkResult shrink(Checker& checker, const Finding& finding, const ShrinkLimits& limits = {});

}  // namespace assay
