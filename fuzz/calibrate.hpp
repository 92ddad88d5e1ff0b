// Calibration from both sides (`assay calibrate`): what a correct kernel may do passes, and what
// no correct kernel does is caught.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels_under_test/contract.hpp"

namespace assay {

/// The contract with its CUDA source compiled with -fmad=true or -fmad=false, whatever it says
/// itself. Prebuilt PTX stays what it is.
Contract with_contraction(const Contract& contract, bool contract_products);

/// What `assay repro` needs besides the file: " --adversarial 7 --fmad off"; "" when nothing.
std::string repro_flags(uint64_t adversarial, std::optional<bool> contraction);

}  // namespace assay
