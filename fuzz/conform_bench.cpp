#include "fuzz/conform_bench.hpp"

#include <cstring>

namespace assay {

namespace {

constexpr double kLaunchSeconds = 20;

}  // namespace

void ConformBench::load(const std::string& text) {
  gpu_module_ = gpu_.module(text, text);
  emulator_.load(text);
}

std::vector<uint8_t> ConformBench::on_gpu(const ConformLaunch& launch) {
  std::vector<uint8_t> bytes(static_cast<size_t>(launch.out_bytes));
  gpu_.release();
  const uint64_t in = gpu_.allocate(launch.in_bytes), out = gpu_.allocate(launch.out_bytes);
  gpu_.upload(in, launch.in_bytes, [&](int64_t first, int64_t count, uint8_t* to) {
    std::memcpy(to, launch.in + first, static_cast<size_t>(count));
  });
  cuda::GpuLaunch gpu;
  gpu.grid[0] = launch.blocks;
  gpu.block[0] = kConformThreads;
  gpu.parameters = conform_parameters(in, out, launch.has_bytes);
  gpu_.launch(gpu_module_, launch.entry, gpu, kLaunchSeconds);
  gpu_.download(out, launch.out_bytes, [&](int64_t first, int64_t count, const uint8_t* from) {
    std::memcpy(bytes.data() + first, from, static_cast<size_t>(count));
  });
  return bytes;
}

std::vector<ConformAnswer> ConformBench::on_gpu(const ConformKernel& kernel,
                                                const std::vector<ConformTuple>& tuples) {
  std::vector<ConformAnswer> answers(tuples.size());
  const std::vector<uint8_t> bytes = on_gpu(tuples_launch(kernel, tuples));
  std::memcpy(answers.data(), bytes.data(), bytes.size());
  return answers;
}

}  // namespace assay
