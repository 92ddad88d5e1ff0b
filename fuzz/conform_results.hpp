// What `assay conform` found, and how it is printed.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "devices/cuda/process.hpp"
#include "fuzz/conform_judge.hpp"
#include "fuzz/conform_matrix.hpp"

namespace assay {

/// Of a kernel or a program.
struct ConformResult {
  std::string title;
  ptx::Instruction instruction;
  ConformTally tally;
  std::string rejected;  ///< why the driver does not take the spelling; "" when it does
  std::optional<MatrixTally> matrix;

  bool compared() const { return rejected.empty(); }
};

/// Byte by byte, thread by thread; matrices within their envelope.
ConformResult judge_program(const ConformProgram& program, const std::vector<uint8_t>& in,
                            const std::vector<uint8_t>& emulator,
                            const std::vector<uint8_t>& hardware);

/// The tables of docs/measured/conformance.md. Returns how many spellings differ without a
/// documented reason.
int64_t print_conform(std::ostream& out, const std::vector<ConformResult>& results);

}  // namespace assay
