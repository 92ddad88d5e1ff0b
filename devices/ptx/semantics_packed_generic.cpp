// f16 and bf16 arithmetic: the build for any x86-64.
#define ASSAY_ROWS rows_generic
#include "devices/ptx/semantics_packed.inc.hpp"
