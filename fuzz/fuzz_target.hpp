// libFuzzer's names, as its documentation states them (https://llvm.org/docs/LibFuzzer.html). Every
// engine calls the target through these.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
int LLVMFuzzerInitialize(int* argc, char*** argv);
/// 0, or -1 for an input that no corpus should keep.
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_size, const uint8_t* second,
                                 size_t second_size, uint8_t* out, size_t max_size, unsigned seed);
}

namespace assay {
class Target;
/// The target after LLVMFuzzerInitialize.
Target& fuzz_target();
}  // namespace assay
