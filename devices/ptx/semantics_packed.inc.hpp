// f16 and bf16 arithmetic, single and packed in pairs (a pair row is 64 lanes): PTX ISA 9.7.4.
// Computed in f32 or f64 and rounded once.
#pragma once

#include "devices/ptx/semantics_half.inc.hpp"

namespace assay::ptx::ASSAY_ROWS {

RowFunction half_row(const Form&) { return nullptr; }

}  // namespace assay::ptx::ASSAY_ROWS
