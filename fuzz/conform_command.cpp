// assay conform: the emulator's instructions against a card's.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <ostream>

#include "fuzz/conform_bench.hpp"
#include "fuzz/conform_results.hpp"
#include "fuzz/conform_spellings.hpp"
#include "fuzz/log.hpp"
#include "fuzz/program.hpp"
#include "fuzz/workers.hpp"
#include "kernels_under_test/input_error.hpp"

namespace assay {

namespace {

constexpr int64_t kDefaultTuples = 100'000;
constexpr size_t kBatch = 32;          ///< kernels of one module
constexpr int64_t kProgramWarps = 64;  ///< of a program that works lane by lane
constexpr int64_t kMatrixWarps = 512;  ///< with those of the probes

/// Why nothing is compared: none of the spellings that were asked for is one of the table.
std::string no_spelling_text(const std::vector<std::string>& asked) {
  std::vector<std::string> in_order;
  for (const std::string& spelling : asked) {
    const std::string found = in_table_order(spelling);
    if (!found.empty()) in_order.push_back(found);
  }
  return "no spelling that is made of the table starts so" +
         (in_order.empty() ? "" : "; the table has its modifiers in the order " + joined(in_order));
}

class Conform {
 public:
  explicit Conform(const Options& options)
      : options_(options),
        kernels_(conform_kernels(options.kernels)),
        programs_(conform_programs(options.kernels)),
        results_(kernels_.size() + programs_.size()) {
    for (size_t k = 0; k < kernels_.size(); ++k) {
      results_[k].title = kernels_[k].title;
      results_[k].instruction = kernels_[k].instruction;
    }
    for (size_t p = 0; p < programs_.size(); ++p) {
      results_[kernels_.size() + p].title = programs_[p].title;
      results_[kernels_.size() + p].instruction = programs_[p].instruction;
    }
    const int64_t tuples = options.cases.value_or(kDefaultTuples);
    tuples_ = (tuples + kConformThreads - 1) / kConformThreads * kConformThreads;
  }

  void run();
  Exit print(std::ostream& out) const;

 private:
  /// Items of one module: kernels, or programs with one target.
  struct Batch {
    size_t first = 0, last = 0;
  };
  bool is_program(size_t item) const { return item >= kernels_.size(); }
  const ConformProgram& program(size_t item) const { return programs_[item - kernels_.size()]; }
  int target_of(size_t item) const { return is_program(item) ? program(item).target : 0; }

  std::vector<Batch> batches() const;
  std::string module(const ConformBench& bench, Batch batch) const;
  void run_batch(ConformBench& bench, Batch batch);
  void run_item(ConformBench& bench, size_t item);

  const Options& options_;
  std::vector<ConformKernel> kernels_;
  std::vector<ConformProgram> programs_;
  std::vector<ConformResult> results_;  ///< of kernels, then of programs
  int64_t tuples_ = 0;
  std::mutex mutex_;
  cuda::Card card_;
};

std::vector<Conform::Batch> Conform::batches() const {
  std::vector<Batch> all;
  for (size_t item = 0; item < results_.size(); ++item) {
    const bool opens = all.empty() || item - all.back().first == kBatch ||
                       is_program(item) != is_program(item - 1) ||
                       target_of(item) != target_of(item - 1);
    if (opens) all.push_back({item, item});
    all.back().last = item + 1;
  }
  return all;
}

std::string Conform::module(const ConformBench& bench, Batch batch) const {
  if (is_program(batch.first)) {
    std::vector<const ConformProgram*> programs;
    for (size_t i = batch.first; i < batch.last; ++i) programs.push_back(&program(i));
    return program_module(programs, bench.card().cuda_version);
  }
  std::vector<const ConformKernel*> kernels;
  for (size_t i = batch.first; i < batch.last; ++i) kernels.push_back(&kernels_[i]);
  return conform_module(kernels, bench.card().capability, bench.card().cuda_version);
}

void Conform::run() {
  if (results_.empty()) throw InputError({}, no_spelling_text(options_.kernels));
  const std::vector<Batch> all = batches();
  const int workers = std::min(worker_count(options_), static_cast<int>(all.size()));
  std::atomic<size_t> next{0};
  run_workers(workers, [&](int worker) {
    ConformBench bench;
    {
      const std::lock_guard lock(mutex_);
      card_ = bench.card();
    }
    for (size_t b; (b = next++) < all.size();) {
      run_batch(bench, all[b]);
      if (worker == 0) log_progress(std::to_string(all[b].first) + " spellings");
    }
  });
  end_progress();
}

void Conform::run_batch(ConformBench& bench, Batch batch) {
  try {
    bench.load(module(bench, batch));
  } catch (const cuda::CudaError& error) {
    if (batch.last - batch.first == 1) {
      results_[batch.first].rejected = error.what();
      return;
    }
    // Halves, so that a few refused spellings cost few modules.
    const size_t middle = (batch.first + batch.last) / 2;
    run_batch(bench, {batch.first, middle});
    run_batch(bench, {middle, batch.last});
    return;
  }
  for (size_t i = batch.first; i < batch.last; ++i) {
    try {
      run_item(bench, i);
    } catch (const cuda::CudaError& error) {
      // The card's context is gone, and the module with it.
      results_[i].tally.fail(std::string("GPU: ") + error.what());
      bench.load(module(bench, batch));
    } catch (const InputError& error) {
      results_[i].tally.fail(error.what());
    }
  }
}

void Conform::run_item(ConformBench& bench, size_t item) {
  if (!is_program(item)) {
    const ConformKernel& kernel = kernels_[item];
    const auto tuples = conform_tuples(kernel, tuples_, options_.seed);
    const auto hardware = bench.on_gpu(kernel, tuples);
    results_[item].tally = judge_conform(kernel, tuples, bench.emulated(kernel, tuples), hardware);
    return;
  }
  const ConformProgram& one = program(item);
  const int64_t warps = one.product ? kMatrixWarps : kProgramWarps;
  const std::vector<uint8_t> in = one.input(warps, options_.seed);
  ConformLaunch launch{one.title, one.entry, in.data(), static_cast<int64_t>(in.size())};
  launch.out_bytes = 32 * warps * one.out_bytes;
  launch.blocks = 32 * warps / kConformThreads;
  launch.has_bytes = one.reads_parameters;
  const auto hardware = bench.on_gpu(launch);
  results_[item] = judge_program(one, in, bench.emulated(launch), hardware);
}

Exit Conform::print(std::ostream& out) const {
  out << card_.name << " (sm_" << card_.capability << "), driver for CUDA "
      << card_.cuda_version / 1000 << "." << card_.cuda_version % 1000 / 10 << ", seed "
      << options_.seed << ", " << tuples_ << " operand tuples a spelling that computes, "
      << 32 * kProgramWarps << " threads of others, " << kMatrixWarps
      << " products of matrices\n\n";
  const int64_t different = print_conform(out, results_);
  const auto compared = std::count_if(results_.begin(), results_.end(),
                                      [](const auto& result) { return result.compared(); });
  out << "\nassay conform: " << compared << " spellings compared, " << different
      << " with differences that are not documented\n";
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
