// What selects a row function: the modifiers of an instruction as plain data, and the families that
// implement them. Internal to semantics*.cpp.
//
// The families (semantics_*.inc.hpp) are compiled twice, in the namespaces rows_generic (any
// x86-64) and rows_avx2 (AVX2, FMA, F16C). Everything in them has internal linkage and uses no
// template of the standard library: an inline function that the linker took from the AVX2 build
// would fault on an older CPU.
#pragma once

#include "devices/ptx/semantics.hpp"

namespace assay::ptx {

struct Form {
  Op op = Op::unknown;
  Type type = Type::none;
  Type source_type = Type::none;  ///< `type` where the spelling names only one
  Rounding rounding = Rounding::none;
  Compare compare = Compare::none;
  BoolOp bool_op = BoolOp::none;
  Half half = Half::none;
  PrmtMode prmt = PrmtMode::none;
  Testp testp = Testp::none;
  ApproxMode mode = ApproxMode::fixed;
  bool ftz = false, sat = false, satfinite = false, relu = false, approx = false, full = false;
  bool carry_out = false, nan = false, xorsign_abs = false, shift_amount = false;
  bool wrap_shift = false, shift_left = false, two_sources = false;
};

#define ASSAY_ROW_FAMILIES                  \
  RowFunction integer_row(const Form&);     \
  RowFunction multiply_row(const Form&);    \
  RowFunction bits_row(const Form&);        \
  RowFunction float_row(const Form&);       \
  RowFunction half_row(const Form&);        \
  RowFunction approximate_row(const Form&); \
  RowFunction compare_row(const Form&);     \
  RowFunction convert_row(const Form&);     \
  RowFunction convert_integer_row(const Form&);

namespace rows_generic {
ASSAY_ROW_FAMILIES
}
namespace rows_avx2 {
ASSAY_ROW_FAMILIES
}

}  // namespace assay::ptx
