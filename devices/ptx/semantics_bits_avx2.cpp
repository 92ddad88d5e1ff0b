// Integer arithmetic, logic and bit fields: the build for CPUs with AVX2, FMA and F16C.
#define ASSAY_ROWS_AVX2
#define ASSAY_ROWS rows_avx2
#include "devices/ptx/semantics_bits.inc.hpp"
