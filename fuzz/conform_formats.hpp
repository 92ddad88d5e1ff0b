// The layouts of floating-point types as `assay conform` takes and makes their bits.
#pragma once

#include <cstdint>

#include "devices/ptx/module.hpp"

namespace assay {

struct ConformFormat {
  int fraction = 0, exponent = 0;  ///< bits; 0: no float
  uint64_t sign() const { return uint64_t{1} << (fraction + exponent); }
  uint64_t infinity() const { return ((uint64_t{1} << exponent) - 1) << fraction; }
  uint64_t one() const { return ((uint64_t{1} << (exponent - 1)) - 1) << fraction; }
  uint64_t fraction_mask() const { return (uint64_t{1} << fraction) - 1; }
  uint64_t mask() const { return sign() | (sign() - 1); }
};

/// Of one element (PTX ISA 5.2.3): tf32 without the 13 bits below its fraction.
inline ConformFormat conform_format(ptx::Type type) {
  switch (type) {
    case ptx::Type::f16:
      return {10, 5};
    case ptx::Type::bf16:
      return {7, 8};
    case ptx::Type::tf32:
      return {10, 8};
    case ptx::Type::e4m3:
      return {3, 4};
    case ptx::Type::e5m2:
      return {2, 5};
    case ptx::Type::f32:
      return {23, 8};
    case ptx::Type::f64:
      return {52, 11};
    default:
      return {};
  }
}

}  // namespace assay
