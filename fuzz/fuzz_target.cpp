// The fuzz target: one body for all engines. An input is a case text.
#include "fuzz/fuzz_target.hpp"

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/freed_memory.hpp"
#include "fuzz/options.hpp"
#include "fuzz/target.hpp"

namespace {

// libFuzzer reads this section after each run and clears it before; volatile, because nothing in
// this program seems to read it.
__attribute__((
    section("__libfuzzer_extra_counters"))) volatile uint8_t counters[assay::kFeatureCounters];

std::unique_ptr<assay::Target> target;

/// Bad input and missing tools end the process with assay's statuses; the engine is not asked, for
/// they are no crash of the target.
template <typename Body>
auto guarded(Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const assay::InputError& error) {
    std::fprintf(stderr, "assay: %s\n", error.what());
    _exit(static_cast<int>(assay::Exit::bad_input));
  } catch (const assay::MissingDependency& error) {
    std::fprintf(stderr, "assay: %s\n", error.what());
    _exit(static_cast<int>(assay::Exit::missing));
  }
}

}  // namespace

namespace assay {
Target& fuzz_target() { return *target; }
}  // namespace assay

int LLVMFuzzerInitialize(int* argc, char*** argv) {
  assay::keep_freed_memory();
  return guarded([&] {
    static std::vector<std::string> arguments;
    static std::vector<char*> pointers;
    arguments.assign(*argv, *argv + *argc);
    target = std::make_unique<assay::Target>(assay::take_target_settings(arguments));
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    *argc = static_cast<int>(pointers.size());
    pointers.push_back(nullptr);
    *argv = pointers.data();
    return 0;
  });
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // An engine's own count takes in what is no case, and the whole corpus whatever the limit.
  if (target->is_done()) _exit(static_cast<int>(assay::Exit::clean));
  return guarded([&] { return target->run(data, size, counters); });
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return guarded([&] { return target->mutate(data, size, max_size, seed); });
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_size, const uint8_t* second,
                                 size_t second_size, uint8_t* out, size_t max_size, unsigned seed) {
  const std::string a(reinterpret_cast<const char*>(first), first_size);
  const std::string b(reinterpret_cast<const char*>(second), second_size);
  return guarded([&] { return target->cross(a, b, out, max_size, seed); });
}
