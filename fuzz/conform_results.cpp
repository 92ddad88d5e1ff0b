#include "fuzz/conform_results.hpp"

#include <algorithm>
#include <cstring>

namespace assay {

namespace {

constexpr size_t kMostExamples = 4;

std::string hex(const uint8_t* bytes, int count) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int i = 0; i < count; ++i) {
    if (i % 4 == 0 && i > 0) text += ' ';
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

bool is_nan_f64(const uint8_t* bytes) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, 8);
  return (word & 0x7fffffffffffffff) > 0x7ff0000000000000;
}

/// Sums of f64 whose NaN is another one: the first of conform_deviations().
bool differs_in_nan(const ConformProgram& program, const uint8_t* ours, const uint8_t* theirs) {
  if (program.instruction.type != ptx::Type::f64 || program.instruction.atom != ptx::Atom::add) {
    return false;
  }
  for (int at = 0; at < program.out_bytes; at += 8) {
    const bool same = std::memcmp(ours + at, theirs + at, 8) == 0;
    if (!same && !(is_nan_f64(ours + at) && is_nan_f64(theirs + at))) return false;
  }
  return true;
}

}  // namespace

ConformResult judge_program(const ConformProgram& program, const std::vector<uint8_t>& in,
                            const std::vector<uint8_t>& emulator,
                            const std::vector<uint8_t>& hardware) {
  ConformResult result;
  result.title = program.title;
  result.instruction = program.instruction;
  ConformTally& tally = result.tally;
  if (program.product) {
    result.matrix = judge_matrices(program, in, emulator, hardware);
    tally.tuples = result.matrix->elements;
    tally.equal = result.matrix->equal;
    tally.within = result.matrix->within;
    tally.different = result.matrix->different;
    tally.examples = result.matrix->examples;
    return result;
  }
  const int out = program.out_bytes;
  tally.tuples = static_cast<int64_t>(emulator.size()) / out;
  for (int64_t t = 0; t < tally.tuples; ++t) {
    const uint8_t* ours = emulator.data() + t * out;
    const uint8_t* theirs = hardware.data() + t * out;
    if (std::memcmp(ours, theirs, static_cast<size_t>(out)) == 0) {
      ++tally.equal;
    } else if (differs_in_nan(program, ours, theirs)) {
      ++tally.documented[kNanPayload];
    } else if (++tally.different <= static_cast<int64_t>(kMostExamples)) {
      tally.examples.push_back("thread " + std::to_string(t) + " of " +
                               hex(in.data() + t * program.in_bytes, program.in_bytes) +
                               ": emulator " + hex(ours, out) + ", GPU " + hex(theirs, out));
    }
  }
  return result;
}

}  // namespace assay
