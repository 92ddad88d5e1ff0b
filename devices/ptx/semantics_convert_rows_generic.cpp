// Conversions: the build for any x86-64.
#define ASSAY_ROWS rows_generic
#include "devices/ptx/semantics_convert_rows.inc.hpp"
