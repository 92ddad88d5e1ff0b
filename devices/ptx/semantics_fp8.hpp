// The 8-bit floating-point formats e4m3 and e5m2 (Micikevicius et al., "FP8 Formats for Deep
// Learning", 2022; PTX ISA 5.2.3) and the conversions of pairs of them (PTX ISA 9.7.9.21).
#pragma once

#include "devices/ptx/semantics.hpp"
#include "devices/ptx/semantics_form.hpp"

namespace assay::ptx {

/// e4m3: bias 7, no infinities, NaN 0x7f and 0xff, largest 448. e5m2: the upper half of an f16.
float fp8_value(Type type, uint8_t bits);

/// To nearest even; beyond the largest finite value and for infinities that value (.satfinite), for
/// NaN 0x7f. `relu`: negative values and -0 become +0.
uint8_t fp8_bits_rn_satfinite(Type type, float value, bool relu);

/// cvt between fp8 pairs and f16x2, or from two f32; nullptr for other conversions.
RowFunction fp8_row(const Form& form);

}  // namespace assay::ptx
