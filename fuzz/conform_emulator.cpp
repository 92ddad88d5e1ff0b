#include "fuzz/conform_emulator.hpp"

#include <cstring>

#include "kernels_under_test/input_error.hpp"

namespace assay {

std::vector<uint8_t> conform_parameters(uint64_t in, uint64_t out, bool has_bytes) {
  std::vector<uint8_t> bytes(has_bytes ? 16 + 64 : 16);
  std::memcpy(bytes.data(), &in, 8);
  std::memcpy(bytes.data() + 8, &out, 8);
  for (size_t i = 16; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 29 + 128);
  return bytes;
}

void ConformEmulator::load(const std::string& text) { module_ = ptx::decode(text, "conform.ptx"); }

std::vector<uint8_t> ConformEmulator::run(const ConformLaunch& launch) {
  const auto code = ptx::lower(module_, launch.entry, ptx::use_avx2());
  if (!code->unsupported.empty()) {
    throw InputError(
        {}, launch.title + ": the emulator does not run it: " + code->unsupported.front().text());
  }
  machine_.renew_memory();
  ptx::RegionSpec in, out;
  in.name = "in";
  in.base = uint64_t{1} << 44;
  in.bytes = launch.in_bytes;
  in.fill = [&](int64_t first, int64_t count, uint8_t* to) {
    std::memcpy(to, launch.in + first, static_cast<size_t>(count));
  };
  out.name = "out";
  out.base = uint64_t{1} << 45;
  out.bytes = launch.out_bytes;
  machine_.memory().add(in);
  const int region = machine_.memory().add(out);
  RunOptions options;
  options.switch_off_checkers();
  machine_.begin(module_, options);
  machine_.add_variables(*code);
  ptx::LaunchConfig config;
  config.grid[0] = launch.blocks;
  config.block[0] = kConformThreads;
  config.params = conform_parameters(in.base, out.base, launch.has_bytes);
  if (machine_.launch(*code, config) != RunStatus::completed) {
    std::string why;
    if (!machine_.diagnostics().empty()) why = ": " + machine_.diagnostics().front().message;
    throw InputError({}, launch.title + ": the emulator did not complete it" + why);
  }
  std::vector<uint8_t> bytes(static_cast<size_t>(out.bytes)), written(bytes.size());
  machine_.memory().read(region, 0, out.bytes, bytes.data(), written.data());
  return bytes;
}

ConformLaunch tuples_launch(const ConformKernel& kernel, const std::vector<ConformTuple>& tuples) {
  const int64_t count = static_cast<int64_t>(tuples.size());
  ConformLaunch launch{kernel.title, kernel.entry, reinterpret_cast<const uint8_t*>(tuples.data())};
  launch.in_bytes = count * static_cast<int64_t>(sizeof(ConformTuple));
  launch.out_bytes = count * static_cast<int64_t>(sizeof(ConformAnswer));
  launch.blocks = count / kConformThreads;
  return launch;
}

std::vector<ConformAnswer> ConformEmulator::run(const ConformKernel& kernel,
                                                const std::vector<ConformTuple>& tuples) {
  std::vector<ConformAnswer> answers(tuples.size());
  const std::vector<uint8_t> bytes = run(tuples_launch(kernel, tuples));
  std::memcpy(answers.data(), bytes.data(), bytes.size());
  return answers;
}

}  // namespace assay
