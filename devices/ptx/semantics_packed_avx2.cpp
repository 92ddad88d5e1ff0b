// f16 and bf16 arithmetic: the build for CPUs with AVX2, FMA and F16C.
#define ASSAY_ROWS_AVX2
#define ASSAY_ROWS rows_avx2
#include "devices/ptx/semantics_packed.inc.hpp"
