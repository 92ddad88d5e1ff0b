#include "fuzz/conform_emulator.hpp"

#include <cstring>

#include "kernels_under_test/input_error.hpp"

namespace assay {

std::vector<uint8_t> conform_parameters(uint64_t tuples, uint64_t answers) {
  std::vector<uint8_t> bytes(16);
  std::memcpy(bytes.data(), &tuples, 8);
  std::memcpy(bytes.data() + 8, &answers, 8);
  return bytes;
}

void ConformEmulator::load(const std::string& text) { module_ = ptx::decode(text, "conform.ptx"); }

std::vector<ConformAnswer> ConformEmulator::run(const ConformKernel& kernel,
                                                const std::vector<ConformTuple>& tuples) {
  const auto code = ptx::lower(module_, kernel.entry, ptx::use_avx2());
  if (!code->unsupported.empty()) {
    throw InputError({},
                     kernel.title + ": the emulator does not run it: " + code->unsupported.front());
  }
  std::vector<ConformAnswer> answers(tuples.size());
  machine_.renew_memory();
  ptx::RegionSpec in, out;
  in.name = "tuples";
  in.base = uint64_t{1} << 44;
  in.bytes = static_cast<int64_t>(tuples.size() * sizeof(ConformTuple));
  in.fill = [&](int64_t first, int64_t count, uint8_t* to) {
    std::memcpy(to, reinterpret_cast<const uint8_t*>(tuples.data()) + first,
                static_cast<size_t>(count));
  };
  out.name = "answers";
  out.base = uint64_t{1} << 45;
  out.bytes = static_cast<int64_t>(answers.size() * sizeof(ConformAnswer));
  machine_.memory().add(in);
  const int region = machine_.memory().add(out);
  RunOptions options;
  options.definedness = options.wrap = options.coverage = false;
  machine_.begin(module_, options);
  ptx::LaunchConfig config;
  config.grid[0] = static_cast<int64_t>(tuples.size()) / kConformThreads;
  config.block[0] = kConformThreads;
  config.params = conform_parameters(in.base, out.base);
  if (machine_.launch(*code, config) != RunStatus::completed) {
    throw InputError({}, kernel.title + ": the emulator did not complete it");
  }
  std::vector<uint8_t> written(static_cast<size_t>(out.bytes));
  machine_.memory().read(region, 0, out.bytes, reinterpret_cast<uint8_t*>(answers.data()),
                         written.data());
  return answers;
}

}  // namespace assay
