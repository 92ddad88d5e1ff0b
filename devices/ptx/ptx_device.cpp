// The emulator as a device: operands become regions, launches become lowered code, and the pages
// that were written become the outputs.
#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "devices/device.hpp"
#include "devices/launch_parameters.hpp"
#include "devices/ptx/machine.hpp"
#include "devices/ptx/narrow_checker.hpp"
#include "devices/ptx/stray_stores.hpp"
#include "devices/ptx/watch.hpp"
#include "generators/variation.hpp"

namespace assay {

namespace ptx {
namespace {

/// Operand i lies at (i + 1) * 2^47, a megabyte in (a buffer spans 2^46 bytes at most): no offset
/// that a kernel computes by mistake gets from one operand into another.
constexpr uint64_t operand_base(int position) {
  return (static_cast<uint64_t>(position + 1) << 47) + (uint64_t{1} << 20);
}

uint64_t buffer_address(const Tensor& tensor) {
  return operand_base(tensor.buffer()) + static_cast<uint64_t>(tensor.misalign);
}

/// Whether all bytes of each element are written, from a flag of each byte.
template <class Word>
void all_written(const uint8_t* flags, int64_t count, uint8_t* written) {
  Word all;
  std::memset(&all, kWritten, sizeof all);
  for (int64_t i = 0; i < count; ++i) {
    Word element;
    std::memcpy(&element, flags + i * static_cast<int64_t>(sizeof element), sizeof element);
    written[i] = element == all;
  }
}

void all_written(const uint8_t* flags, int64_t count, int bytes, uint8_t* written) {
  switch (bytes) {
    case 1:
      return all_written<uint8_t>(flags, count, written);
    case 2:
      return all_written<uint16_t>(flags, count, written);
    case 4:
      return all_written<uint32_t>(flags, count, written);
    default:
      return all_written<uint64_t>(flags, count, written);
  }
}

/// Outputs of one run. Keeps the run's memory; `instance` must outlive it.
class PageReader : public OutputReader {
 public:
  PageReader(std::shared_ptr<const Memory> memory, std::map<int, int> regions)
      : memory_(std::move(memory)), regions_(std::move(regions)) {}

  void read(const Tensor& tensor, int64_t first, int64_t count, uint8_t* bits,
            uint8_t* written) const override {
    const int region = regions_.at(tensor.position);
    const int bytes = byte_size(tensor.dtype);
    const int64_t row = tensor.is_contiguous()                                ? tensor.elements()
                        : !tensor.shape.empty() && tensor.strides.back() == 1 ? tensor.shape.back()
                                                                              : 1;
    while (count > 0) {
      const int64_t run = std::min(count, row - first % row);
      read_run(region, tensor.storage_of(first) * bytes, run, bytes, bits, written);
      first += run;
      count -= run;
      bits += run * bytes;
      written += run;
    }
  }

  const std::shared_ptr<const Memory>& memory() const { return memory_; }

  std::vector<std::pair<int64_t, int64_t>> stored(const Tensor& tensor) const override {
    const int region = regions_.at(tensor.position);
    const auto bytes = static_cast<uint64_t>(byte_size(tensor.dtype));
    const uint64_t base = buffer_address(tensor);
    std::vector<std::pair<int64_t, int64_t>> ranges;
    for (const Page* page : memory_->touched_pages()) {
      if (page->region != region || page->high <= page->low) continue;
      const uint64_t start = page->number << kPageBits;
      const auto low =
          static_cast<int64_t>((start + static_cast<uint64_t>(page->low) - base) / bytes);
      const auto high =
          static_cast<int64_t>((start + static_cast<uint64_t>(page->high) - 1 - base) / bytes) + 1;
      add_stored(tensor, low, high, ranges);
    }
    join_ranges(ranges);
    return ranges;
  }

 private:
  /// Storage positions [low, high) as ranges of logical indices.
  static void add_stored(const Tensor& tensor, int64_t low, int64_t high,
                         std::vector<std::pair<int64_t, int64_t>>& ranges) {
    high = std::min(high, tensor.storage_elements);
    if (tensor.is_contiguous()) {
      low = std::max(low, tensor.offset);
      if (low < high) ranges.emplace_back(low - tensor.offset, high - tensor.offset);
      return;
    }
    for (int64_t at = low; at < high; ++at) {
      const auto logical = tensor.logical_of(at);
      if (!logical) continue;
      if (!ranges.empty() && ranges.back().second == *logical)
        ++ranges.back().second;
      else
        ranges.emplace_back(*logical, *logical + 1);
    }
  }

  void read_run(int region, int64_t offset, int64_t count, int bytes, uint8_t* bits,
                uint8_t* written) const {
    uint8_t flags[4096];
    const int64_t most = static_cast<int64_t>(sizeof flags) / bytes;
    while (count > 0) {
      const int64_t here = std::min(count, most);
      memory_->read(region, offset, here * bytes, bits, flags);
      all_written(flags, here, bytes, written);
      offset += here * bytes;
      bits += here * bytes;
      written += here;
      count -= here;
    }
  }

  std::shared_ptr<const Memory> memory_;
  std::map<int, int> regions_;  ///< by operand position
};

/// The memory that an earlier run left, whose variables this one begins with; null: none.
std::shared_ptr<const Memory> memory_before(const Instance& instance) {
  const OutputReader* const after =
      instance.derivation == nullptr ? nullptr : instance.derivation->after;
  const auto* const reader = dynamic_cast<const PageReader*>(after);
  return reader == nullptr ? nullptr : reader->memory();
}

/// Puts what a defect reads into bytes [first, first + count) of an operand's buffer.
void misread(const Instance& instance, const Tensor& tensor, const Defect& defect, int64_t first,
             int64_t count, uint8_t* out) {
  const int64_t bytes = byte_size(tensor.dtype);
  const int64_t at = tensor.storage_of(defect.element) * bytes;
  uint8_t value[8] = {};
  if (defect.reads >= 0) logical_values(instance, tensor, defect.reads, 1, value);
  for (int64_t i = 0; i < bytes; ++i) {
    if (at + i >= first && at + i < first + count) out[at + i - first] = value[i];
  }
}

/// What is done around each launch; empty: nothing.
struct Around {
  std::function<AccessObserver(const Module&, const LaunchConfig&)> observer;
  std::function<void()> completed;
};

struct Loaded {
  std::shared_ptr<const Module> module;
  std::unique_ptr<Code> code;
  std::map<int, std::vector<FunctionChains>> chains;  ///< narrow ones, by the bits of a sum
};

class PtxDevice : public Device {
 public:
  PtxDevice() : avx2_(use_avx2()), machine_(avx2_) {}

  std::string_view name() const override { return "ptx"; }

  Run run(const Instance& instance, const std::vector<Program>& programs,
          const RunOptions& options) override;

 private:
  Loaded& load(const Program& program, const RunOptions& options);
  std::map<int, int> add_operands(const Instance& instance, const RunOptions& options);
  LaunchConfig configure(const Instance& instance, const ResolvedLaunch& launch,
                         const Function& entry, const RunOptions& options) const;
  bool admit(const Instance& instance, const ResolvedLaunch& launch, const Loaded& loaded,
             const LaunchConfig& config, Run& run) const;
  std::optional<NarrowLaunch> narrow_launch(const Instance& instance, Loaded& loaded,
                                            const RunOptions& options) const;
  void launch_all(const Instance& instance, const std::vector<Program>& programs,
                  const RunOptions& options, const Around& around, Run& run);
  void tell_strays(const Instance& instance, const std::vector<Program>& programs,
                   const RunOptions& options, StrayStores& strays, Run& run);

  const bool avx2_;
  Machine machine_;
  std::map<std::string, std::shared_ptr<const Module>> modules_;  ///< by digest
  std::map<std::pair<std::string, ArithmeticErrors>, Loaded> programs_;  ///< by Program::key
};

Loaded& PtxDevice::load(const Program& program, const RunOptions& options) {
  ArithmeticErrors errors;
  if (options.adversarial_seed != 0) errors.approximations = ApproxMode::adversarial;
  errors.sums = options.defect.sums;
  const auto [found, added] = programs_.try_emplace({program.key, errors});
  Loaded& loaded = found->second;
  if (!added && loaded.code != nullptr) return loaded;
  auto decoded = std::make_shared<const Module>(decode(program.ptx, program.source));
  // One module for equal code: launches of one source share its variables, whatever process
  // compiled each (the texts may differ in debug strings).
  std::shared_ptr<const Module>& module = modules_[decoded->digest];
  if (module == nullptr) module = std::move(decoded);
  loaded.module = module;
  const int slot = static_cast<int>(modules_.size()) % kModuleSlots;
  int own_slot = slot;
  for (const auto& [key, other] : programs_) {
    const bool same = other.code != nullptr && other.module == module;
    if (same && !other.code->variable_addresses.empty()) {
      own_slot = static_cast<int>((other.code->variable_addresses[0] - kVariableWindow) >> 33);
    }
  }
  loaded.code = lower(*module, program.entry, avx2_, own_slot, errors);
  return loaded;
}

std::map<int, int> PtxDevice::add_operands(const Instance& instance, const RunOptions& options) {
  std::map<int, int> regions;
  for (const Tensor& tensor : instance.tensors) {
    if (tensor.is_scalar() || !tensor.present || tensor.is_shared()) continue;
    const Tensor& writer = instance.writer_of(tensor);
    RegionSpec spec;
    spec.name = tensor.spec->name;
    if (&writer != &tensor) spec.name = writer.spec->name + "=" + spec.name;
    spec.base = buffer_address(tensor);
    spec.element_bytes = std::max(1, byte_size(tensor.dtype));
    spec.bytes = tensor.storage_bytes();
    const int64_t past = tensor.spec->overread == nullptr
                             ? 0
                             : std::max<int64_t>(instance.evaluate(*tensor.spec->overread), 0) *
                                   spec.element_bytes;
    if (options.definedness && past > 0) spec.undefined_from = spec.bytes - past;
    spec.writable = writer.is_written();
    const OperandKind kind = tensor.spec->kind;
    spec.undefined =
        options.definedness && (kind == OperandKind::output || kind == OperandKind::workspace);
    spec.judged = writer.is_judged();
    spec.owned = is_owned(instance, writer);
    spec.operand_bytes = spec.bytes - past;
    const Defect defect =
        options.defect.operand == tensor.position ? options.defect : Defect{};
    spec.fill = [&instance, &tensor, defect](int64_t first, int64_t count, uint8_t* out) {
      storage_bytes(instance, tensor, first, count, out);
      if (defect.element >= 0) misread(instance, tensor, defect, first, count, out);
    };
    const int region = machine_.memory().add(std::move(spec));
    regions[tensor.position] = regions[writer.position] = region;
  }
  return regions;
}

LaunchConfig PtxDevice::configure(const Instance& instance, const ResolvedLaunch& launch,
                                  const Function& entry, const RunOptions& options) const {
  LaunchConfig config;
  config.grid = launch.grid;
  config.block = launch.block;
  config.shared_bytes = launch.shared_bytes;
  config.blocks = instance.the_case.blocks;
  config.block_seed = instance.the_case.block_seed;
  config.warp_seed = instance.the_case.warp_seed;
  config.mma_errors.seed = options.adversarial_seed;
  // Which lane of an atomic is first is as undefined as which warp is.
  config.atomic_seed =
      options.adversarial_seed != 0 ? options.adversarial_seed : instance.the_case.warp_seed;
  config.params = launch_parameters(instance, launch, entry, buffer_address);
  return config;
}

/// Whether the launch can run; otherwise `run` says why not.
bool PtxDevice::admit(const Instance& instance, const ResolvedLaunch& launch, const Loaded& loaded,
                      const LaunchConfig& config, Run& run) const {
  const auto refuse = [&](RunStatus status, DiagnosticKind kind, std::string message) {
    run.status = status;
    Diagnostic d;
    d.kind = kind;
    d.message = std::move(message);
    d.block = d.thread = {-1, -1, -1};  // no thread ran
    run.diagnostics.push_back(std::move(d));
    return false;
  };
  for (const Unsupported& why : loaded.code->unsupported) {
    refuse(RunStatus::unsupported, DiagnosticKind::unsupported, "not supported: " + why.text());
    if (run.diagnostics.size() >= 8) break;
  }
  if (run.status == RunStatus::unsupported) return false;
  const int64_t static_shared = loaded.code->static_shared_bytes;
  auto breach = launch_breach(instance, launch, static_shared);
  const ProgramLimit own = program_limit(*loaded.code->entry, launch, static_shared);
  if (!breach && !own.message.empty()) {
    breach = {own.number, admitted_launch(instance, launch, own.number) + own.message};
  }
  if (breach) {
    refuse(RunStatus::refused, DiagnosticKind::launch_limit, breach->message);
    run.diagnostics.back().number = assay::name(breach->number);
    return false;
  }
  if (!config.blocks.empty() && !loaded.code->subset_obstacle.empty()) {
    return refuse(RunStatus::unsupported, DiagnosticKind::unsupported,
                  "a subset of blocks cannot run: the kernel has " + loaded.code->subset_obstacle);
  }
  return true;
}

/// What looks for narrow accumulation in a launch; nothing where the program cannot have any.
std::optional<NarrowLaunch> PtxDevice::narrow_launch(const Instance& instance, Loaded& loaded,
                                                     const RunOptions& options) const {
  const int precision = options.narrow ? summed_precision(*instance.contract) : 0;
  if (precision == 0) return std::nullopt;
  const auto [found, added] = loaded.chains.try_emplace(precision);
  if (added) found->second = chains_of(*loaded.module, *loaded.code->entry, precision);
  if (found->second.empty()) return std::nullopt;
  return NarrowLaunch(*loaded.module, found->second,
                      std::string(assay::name(instance.contract->accuracy.accumulate)),
                      machine_.block_hits(*loaded.module));
}

/// The launches in order, until one does not complete.
void PtxDevice::launch_all(const Instance& instance, const std::vector<Program>& programs,
                           const RunOptions& options, const Around& around, Run& run) {
  std::vector<const Module*> present;
  bool began = false;
  for (size_t i = 0; i < instance.launches.size() && run.status == RunStatus::completed; ++i) {
    Loaded& loaded = load(programs[i], options);
    if (run.program_digest.find(loaded.module->digest) == std::string::npos) {
      if (!run.program_digest.empty()) run.program_digest += '+';
      run.program_digest += loaded.module->digest;
    }
    const ResolvedLaunch& launch = instance.launches[i];
    if (!began) machine_.begin(*loaded.module, options);
    began = true;
    // With nothing to compute a host launches nothing.
    if (is_empty(launch) && !has_outputs(instance)) continue;
    const bool known = loaded.code->unsupported.empty() && loaded.code->entry != nullptr;
    LaunchConfig config =
        known ? configure(instance, launch, *loaded.code->entry, options) : LaunchConfig{};
    if (!admit(instance, launch, loaded, config, run)) {
      for (Diagnostic& d : run.diagnostics) d.launch = launch.position;
      break;
    }
    if (std::find(present.begin(), present.end(), loaded.module.get()) == present.end()) {
      machine_.add_variables(*loaded.code, memory_before(instance));
      present.push_back(loaded.module.get());
    }
    std::optional<NarrowLaunch> narrow = narrow_launch(instance, loaded, options);
    if (narrow) machine_.observe(narrow->observer());
    if (options.watch.operand >= 0) {
      const Tensor& watched = instance.tensors[static_cast<size_t>(options.watch.operand)];
      config.watched_address =
          buffer_address(watched) + static_cast<uint64_t>(options.watch.first);
    }
    if (around.observer) machine_.observe(around.observer(*loaded.module, config));
    run.status = machine_.launch(*loaded.code, config);
    machine_.observe({});
    if (narrow) narrow->report(machine_.block_hits(*loaded.module), machine_.diagnostics());
    if (run.status == RunStatus::completed && around.completed) around.completed();
  }
  if (!began) return;
  machine_.tell_exceptional();
  for (Diagnostic& d : machine_.diagnostics()) run.diagnostics.push_back(std::move(d));
  machine_.diagnostics().clear();
  run.coverage = machine_.take_coverage();
  run.lane_instructions = machine_.lane_instructions();
}

/// Runs the case again to learn which stores were stray. Adds them to the findings of `run`.
void PtxDevice::tell_strays(const Instance& instance, const std::vector<Program>& programs,
                            const RunOptions& options, StrayStores& strays, Run& run) {
  RunOptions plain = options;
  plain.switch_off_checkers();
  machine_.renew_memory();
  add_operands(instance, plain);
  std::vector<Diagnostic> found;
  Around around;
  around.observer = [&](const Module& module, const LaunchConfig& config) {
    return strays.teller(module, config, found);
  };
  Run again;
  launch_all(instance, programs, plain, around, again);
  for (Diagnostic& d : found) run.diagnostics.push_back(std::move(d));
}

Run PtxDevice::run(const Instance& instance, const std::vector<Program>& programs,
                   const RunOptions& options) {
  Run run;
  machine_.observe({});
  machine_.renew_memory();
  const std::map<int, int> regions = add_operands(instance, options);
  StrayStores strays(instance, buffer_address);
  bool any_stray = false;
  Around around;
  around.completed = [&] {
    any_stray = any_stray || machine_.owned_twice() || strays.seen(machine_.memory(), regions);
  };
  if (options.watch.operand >= 0) {
    around.observer = [&](const Module& module, const LaunchConfig& config) {
      return watch_stores(config.watched_address, options.watch.bytes, module, config,
                          run.last_store);
    };
  }
  launch_all(instance, programs, options, around, run);
  if (run.status == RunStatus::completed) {
    run.outputs = std::make_unique<PageReader>(machine_.keep_memory(), regions);
  }
  if (any_stray && options.watch.operand < 0) {
    tell_strays(instance, programs, options, strays, run);
  }
  return run;
}

}  // namespace
}  // namespace ptx

std::unique_ptr<Device> make_ptx_device() { return std::make_unique<ptx::PtxDevice>(); }

}  // namespace assay
