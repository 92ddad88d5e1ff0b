// What names and calls mean in the expressions of a contract, for one case. Private to generators.
#pragma once

#include "generators/instance.hpp"
#include "kernels_under_test/expression.hpp"

namespace assay {

/// Sizes, derived values, knobs, flags, integer scalars, types as their codes; stride(x, d),
/// size(dim), numel(x). Sees what `instance` holds when it is asked; `instance` must outlive it.
IntegerScope scope_of(const Instance& instance);

}  // namespace assay
