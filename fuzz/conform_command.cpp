// assay conform: the emulator's instructions against a card's.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <ostream>

#include "devices/cuda/process.hpp"
#include "fuzz/conform_emulator.hpp"
#include "fuzz/conform_judge.hpp"
#include "fuzz/log.hpp"
#include "fuzz/program.hpp"
#include "fuzz/workers.hpp"
#include "kernels_under_test/input_error.hpp"

namespace assay {

namespace {

constexpr int64_t kDefaultTuples = 100'000;
constexpr size_t kBatch = 32;  ///< kernels of one module
constexpr double kLaunchSeconds = 20;

struct KernelResult {
  ConformTally tally;
  std::string rejected;  ///< why the driver does not take the spelling; "" when it does
};

/// Both machines, for one thread.
class Bench {
 public:
  explicit Bench(int64_t tuples) : blocks_((tuples + kConformThreads - 1) / kConformThreads) {}

  const cuda::Card& card() const { return gpu_.card(); }
  int64_t tuples() const { return blocks_ * kConformThreads; }

  /// Throws CudaError when the driver does not take the text.
  void load(const std::string& text) {
    gpu_module_ = gpu_.module(text, text);
    emulator_.load(text);
  }

  std::vector<ConformAnswer> on_gpu(const ConformKernel& kernel,
                                    const std::vector<ConformTuple>& tuples) {
    std::vector<ConformAnswer> answers(tuples.size());
    gpu_.release();
    const int64_t in_bytes = bytes_of(tuples), out_bytes = bytes_of(answers);
    const uint64_t in = gpu_.allocate(in_bytes), out = gpu_.allocate(out_bytes);
    gpu_.upload(in, in_bytes, [&](int64_t first, int64_t count, uint8_t* to) {
      std::memcpy(to, reinterpret_cast<const uint8_t*>(tuples.data()) + first,
                  static_cast<size_t>(count));
    });
    cuda::GpuLaunch launch;
    launch.grid[0] = blocks_;
    launch.block[0] = kConformThreads;
    launch.parameters = conform_parameters(in, out);
    gpu_.launch(gpu_module_, kernel.entry, launch, kLaunchSeconds);
    gpu_.download(out, out_bytes, [&](int64_t first, int64_t count, const uint8_t* from) {
      std::memcpy(reinterpret_cast<uint8_t*>(answers.data()) + first, from,
                  static_cast<size_t>(count));
    });
    return answers;
  }

  std::vector<ConformAnswer> emulated(const ConformKernel& kernel,
                                      const std::vector<ConformTuple>& tuples) {
    return emulator_.run(kernel, tuples);
  }

 private:
  template <class T>
  static int64_t bytes_of(const std::vector<T>& values) {
    return static_cast<int64_t>(values.size() * sizeof(T));
  }

  int64_t blocks_;
  cuda::Process gpu_;
  ConformEmulator emulator_;
  uint64_t gpu_module_ = 0;
};

class Conform {
 public:
  explicit Conform(const Options& options)
      : options_(options), kernels_(conform_kernels(options.kernels)), results_(kernels_.size()) {}

  void run() {
    if (kernels_.empty()) throw InputError({}, "no instruction of the table starts so");
    const size_t batches = (kernels_.size() + kBatch - 1) / kBatch;
    const int workers = std::min(worker_count(options_), static_cast<int>(batches));
    std::atomic<size_t> next{0};
    run_workers(workers, [&](int worker) {
      Bench bench(options_.cases.value_or(kDefaultTuples));
      {
        const std::lock_guard lock(mutex_);
        card_ = bench.card();
        tuples_ = bench.tuples();
      }
      for (size_t batch; (batch = next++) < batches;) {
        run_batch(bench, batch * kBatch, std::min(kernels_.size(), (batch + 1) * kBatch));
        if (worker == 0) log_progress(std::to_string(batch * kBatch) + " spellings");
      }
    });
    end_progress();
  }

  Exit print(std::ostream& out) const;

 private:
  void run_batch(Bench& bench, size_t first, size_t last) {
    std::vector<const ConformKernel*> kernels;
    for (size_t k = first; k < last; ++k) kernels.push_back(&kernels_[k]);
    try {
      bench.load(conform_module(kernels, bench.card().capability, bench.card().cuda_version));
    } catch (const cuda::CudaError& error) {
      if (last - first == 1) {
        results_[first].rejected = error.what();
        return;
      }
      for (size_t k = first; k < last; ++k) run_batch(bench, k, k + 1);
      return;
    }
    for (size_t k = first; k < last; ++k) run_kernel(bench, k);
  }

  void run_kernel(Bench& bench, size_t k) {
    const ConformKernel& kernel = kernels_[k];
    const auto tuples = conform_tuples(kernel, bench.tuples(), options_.seed);
    const auto hardware = bench.on_gpu(kernel, tuples);
    results_[k].tally = judge_conform(kernel, tuples, bench.emulated(kernel, tuples), hardware);
  }

  void print_groups(std::ostream& out) const;
  void print_bounds(std::ostream& out) const;
  void print_documented(std::ostream& out) const;
  void print_rejected(std::ostream& out) const;
  int64_t print_differences(std::ostream& out) const;

  const Options& options_;
  std::vector<ConformKernel> kernels_;
  std::vector<KernelResult> results_;
  std::mutex mutex_;
  cuda::Card card_;
  int64_t tuples_ = 0;
};

/// "cvt" of "cvt.rn.f16.f32".
std::string mnemonic(const std::string& title) {
  return title.substr(0, std::min(title.find('.'), title.find(' ')));
}

void Conform::print_groups(std::ostream& out) const {
  struct Group {
    int64_t spellings = 0, tuples = 0, equal = 0, within = 0, documented = 0, different = 0;
  };
  std::map<std::string, Group> groups;
  for (size_t k = 0; k < kernels_.size(); ++k) {
    if (!results_[k].rejected.empty()) continue;
    const ConformTally& tally = results_[k].tally;
    for (const std::string& name : {mnemonic(kernels_[k].title), std::string("~all")}) {
      Group& g = groups[name];
      ++g.spellings;
      g.tuples += tally.tuples;
      g.equal += tally.equal;
      g.within += tally.within;
      g.documented += tally.documented_total();
      g.different += tally.different;
    }
  }
  out << "| instruction | spellings | tuples | same bits | within bound | documented | different "
         "|\n"
         "|---|---|---|---|---|---|---|\n";
  for (const auto& [name, g] : groups) {
    out << "| " << (name == "~all" ? "all" : name) << " | " << g.spellings << " | " << g.tuples
        << " | " << g.equal << " | " << g.within << " | " << g.documented << " | " << g.different
        << " |\n";
  }
}

void Conform::print_bounds(std::ostream& out) const {
  out << "\nLargest error as a share of the documented bound:\n\n"
         "| approximate instruction | emulator | GPU |\n|---|---|---|\n";
  for (size_t k = 0; k < kernels_.size(); ++k) {
    const ptx::Instruction& i = kernels_[k].instruction;
    if (!results_[k].rejected.empty() || (!i.approx && !i.full)) continue;
    char line[160];
    std::snprintf(line, sizeof line, "| %s | %.3f | %.3f |\n", kernels_[k].title.c_str(),
                  results_[k].tally.emulator_share, results_[k].tally.hardware_share);
    out << line;
  }
}

void Conform::print_documented(std::ostream& out) const {
  const auto& rows = conform_deviations();
  out << "\nDocumented differences:\n\n| what | spellings | tuples | first example | reason |\n"
         "|---|---|---|---|---|\n";
  for (size_t row = 0; row < rows.size(); ++row) {
    int64_t spellings = 0, tuples = 0;
    std::string example;
    for (const KernelResult& result : results_) {
      spellings += result.tally.documented[row] > 0;
      tuples += result.tally.documented[row];
      if (example.empty()) example = result.tally.documented_examples[row];
    }
    out << "| " << rows[row].name << " | " << spellings << " | " << tuples << " | " << example
        << " | " << rows[row].reason << " |\n";
  }
}

void Conform::print_rejected(std::ostream& out) const {
  size_t count = 0;
  std::string names, reason;
  for (size_t k = 0; k < kernels_.size(); ++k) {
    if (results_[k].rejected.empty()) continue;
    ++count;
    names += (names.empty() ? "" : ", ") + kernels_[k].title;
    if (reason.empty()) reason = results_[k].rejected;
  }
  if (count == 0) return;
  out << "\nNot compared, since the driver does not take them for this card: " << count << ": "
      << names << "\nThe first of them: " << reason << "\n";
}

int64_t Conform::print_differences(std::ostream& out) const {
  int64_t spellings = 0;
  for (size_t k = 0; k < kernels_.size(); ++k) {
    const ConformTally& tally = results_[k].tally;
    if (tally.different == 0) continue;
    ++spellings;
    out << "\ndifferent: " << kernels_[k].title << ": " << tally.different << " of " << tally.tuples
        << " tuples\n";
    for (const std::string& example : tally.examples) out << "  " << example << "\n";
  }
  return spellings;
}

Exit Conform::print(std::ostream& out) const {
  out << card_.name << " (sm_" << card_.capability << "), driver for CUDA "
      << card_.cuda_version / 1000 << "." << card_.cuda_version % 1000 / 10 << ", seed "
      << options_.seed << ", " << tuples_ << " operand tuples a spelling\n\n";
  print_groups(out);
  print_bounds(out);
  print_documented(out);
  print_rejected(out);
  const int64_t different = print_differences(out);
  const auto compared = std::count_if(results_.begin(), results_.end(),
                                      [](const auto& result) { return result.rejected.empty(); });
  out << "\nassay conform: " << compared << " spellings compared, " << different
      << " with differences that are not documented; tensor cores, memory, control and warp "
         "instructions are not in this form\n";
  if (compared == 0) throw InputError({}, "the driver took no spelling: nothing was compared");
  return different == 0 ? Exit::clean : Exit::findings;
}

}  // namespace

Exit run_conform(const Options& options, Streams streams) {
  Conform conform(options);
  conform.run();
  return conform.print(streams.out);
}

}  // namespace assay
