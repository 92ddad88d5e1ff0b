// f32 and f64 arithmetic and the approximate instructions: the build for any x86-64.
#define ASSAY_ROWS rows_generic
#include "devices/ptx/semantics_approximate.inc.hpp"
