// Conversions: the build for CPUs with AVX2, FMA and F16C.
#define ASSAY_ROWS_AVX2
#define ASSAY_ROWS rows_avx2
#include "devices/ptx/semantics_convert_rows.inc.hpp"
