// The kinds of operands as contracts and reports spell them.
#pragma once

#include "kernels_under_test/contract.hpp"

namespace assay {

/// "input", "workspace".
const char* name_of(OperandKind kind);

}  // namespace assay
