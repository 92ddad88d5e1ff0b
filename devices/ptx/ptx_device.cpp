// The emulator as a device: operands become regions, launches become lowered code, and the pages
// that were written become the outputs.
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "devices/device.hpp"
#include "devices/launch_parameters.hpp"
#include "devices/ptx/box_index.hpp"
#include "devices/ptx/machine.hpp"
#include "devices/ptx/watch.hpp"

namespace assay {

namespace ptx {
namespace {

/// Operand i lies at (i + 1) * 2^47, a megabyte in (a buffer spans 2^46 bytes at most): no offset
/// that a kernel computes by mistake gets from one operand into another.
constexpr uint64_t operand_base(int position) {
  return (static_cast<uint64_t>(position + 1) << 47) + (uint64_t{1} << 20);
}

uint64_t buffer_address(const Tensor& tensor) {
  return operand_base(tensor.position) + static_cast<uint64_t>(tensor.misalign);
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

  std::vector<std::pair<int64_t, int64_t>> stored(const Tensor& tensor) const override {
    const int region = regions_.at(tensor.position);
    const auto bytes = static_cast<uint64_t>(byte_size(tensor.dtype));
    const uint64_t base = buffer_address(tensor);
    std::vector<std::pair<int64_t, int64_t>> ranges;
    for (const Page* page : memory_->touched_pages()) {
      if (page->region != region || page->high <= page->low) continue;
      const uint64_t start = page->number << kPageBits;
      const auto low = static_cast<int64_t>((start + static_cast<uint64_t>(page->low) - base) / bytes);
      const auto high =
          static_cast<int64_t>((start + static_cast<uint64_t>(page->high) - 1 - base) / bytes) + 1;
      add_stored(tensor, low, high, ranges);
    }
    std::sort(ranges.begin(), ranges.end());
    size_t kept = 0;
    for (const auto& range : ranges) {
      if (kept > 0 && range.first <= ranges[kept - 1].second)
        ranges[kept - 1].second = std::max(ranges[kept - 1].second, range.second);
      else
        ranges[kept++] = range;
    }
    ranges.resize(kept);
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
      for (int64_t i = 0; i < here; ++i) {
        uint8_t all = kWritten;
        for (int b = 0; b < bytes; ++b) all &= flags[i * bytes + b];
        written[i] = all;
      }
      offset += here * bytes;
      bits += here * bytes;
      written += here;
      count -= here;
    }
  }

  std::shared_ptr<const Memory> memory_;
  std::map<int, int> regions_;  ///< by operand position
};

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

struct Loaded {
  std::shared_ptr<const Module> module;
  std::unique_ptr<Code> code;
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
  bool admit(const Loaded& loaded, const LaunchConfig& config, Run& run) const;
  void check_written(const Instance& instance, const std::map<int, int>& regions);

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
    if (tensor.is_scalar() || !tensor.present) continue;
    RegionSpec spec;
    spec.name = tensor.spec->name;
    spec.base = buffer_address(tensor);
    spec.element_bytes = std::max(1, byte_size(tensor.dtype));
    const int64_t stored = tensor.storage_bytes();
    const int64_t extra = tensor.spec->overread == nullptr
                              ? 0
                              : instance.evaluate(*tensor.spec->overread) * spec.element_bytes;
    spec.bytes = stored + std::max<int64_t>(extra, 0);
    if (options.definedness) spec.undefined_from = stored;
    spec.writable = tensor.is_written();
    const OperandKind kind = tensor.spec->kind;
    spec.undefined =
        options.definedness && (kind == OperandKind::output || kind == OperandKind::workspace);
    spec.judged = tensor.is_judged();
    const Defect defect =
        options.defect.operand == tensor.position ? options.defect : Defect{};
    spec.fill = [&instance, &tensor, stored, defect](int64_t first, int64_t count, uint8_t* out) {
      const int64_t inside = std::clamp<int64_t>(stored - first, 0, count);
      if (inside > 0) storage_bytes(instance, tensor, first, inside, out);
      if (defect.element >= 0) misread(instance, tensor, defect, first, inside, out);
      // Past the buffer, where the contract lets the kernel read: a NaN of every float type.
      std::memset(out + inside, 0xff, static_cast<size_t>(count - inside));
    };
    regions[tensor.position] = machine_.memory().add(std::move(spec));
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
  config.atomic_seed = options.adversarial_seed;
  config.params = launch_parameters(instance, launch, entry, buffer_address);
  return config;
}

/// Whether the launch can run; otherwise `run` says why not.
bool PtxDevice::admit(const Loaded& loaded, const LaunchConfig& config, Run& run) const {
  const auto refuse = [&](RunStatus status, DiagnosticKind kind, std::string message) {
    run.status = status;
    Diagnostic d;
    d.kind = kind;
    d.message = std::move(message);
    run.diagnostics.push_back(std::move(d));
    return false;
  };
  for (const Unsupported& why : loaded.code->unsupported) {
    refuse(RunStatus::unsupported, DiagnosticKind::unsupported, "not supported: " + why.text());
    if (run.diagnostics.size() >= 8) break;
  }
  if (run.status == RunStatus::unsupported) return false;
  const Function& entry = *loaded.code->entry;
  const std::string limit = launch_limit(entry, config, loaded.code->static_shared_bytes);
  if (!limit.empty()) return refuse(RunStatus::refused, DiagnosticKind::launch_limit, limit);
  if (!config.blocks.empty() && !loaded.code->subset_obstacle.empty()) {
    return refuse(RunStatus::unsupported, DiagnosticKind::unsupported,
                  "a subset of blocks cannot run: the kernel has " + loaded.code->subset_obstacle);
  }
  return true;
}

/// Stores to padding, and to elements that other blocks own: right values in a wrong place (an
/// int32 offset that wraps by exactly 2^32) show only here.
void PtxDevice::check_written(const Instance& instance, const std::map<int, int>& regions) {
  const bool subset = !instance.the_case.blocks.empty();
  for (const Tensor& tensor : instance.tensors) {
    const auto region = regions.find(tensor.position);
    if (region == regions.end() || !tensor.is_judged()) continue;
    if (!subset && tensor.is_contiguous()) continue;
    BoxIndex owned(subset ? owned_elements(instance, tensor) : std::vector<Box>{});
    const int bytes = byte_size(tensor.dtype);
    const uint64_t base = buffer_address(tensor);
    for (const Page* page : machine_.memory().touched_pages()) {
      if (page->region != region->second || !page->written) continue;
      int64_t previous = -1;
      for (int32_t i = page->low; i < page->high; ++i) {
        if ((page->state[i] & kWritten) == 0) continue;
        const uint64_t address = (page->number << kPageBits) + static_cast<uint64_t>(i);
        const int64_t storage = static_cast<int64_t>(address - base) / bytes;
        if (storage == previous) continue;
        previous = storage;
        const auto logical =
            storage < tensor.storage_elements ? tensor.logical_of(storage) : std::nullopt;
        if (logical && (!subset || owned.contains(tensor.coordinates(*logical)))) continue;
        const char* const what =
            logical ? "store to an element that another block owns: " : "store to padding of ";
        machine_.report_stray_write(
            *page, what + tensor.spec->name + ", element " + std::to_string(storage),
            tensor.spec->name);
      }
    }
  }
}

Run PtxDevice::run(const Instance& instance, const std::vector<Program>& programs,
                   const RunOptions& options) {
  Run run;
  machine_.observe({});
  machine_.renew_memory();
  const std::map<int, int> regions = add_operands(instance, options);
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
    // An empty grid is not launched, as a host wrapper would do.
    if (std::count(launch.grid.begin(), launch.grid.end(), 0) != 0) continue;
    const bool known = loaded.code->unsupported.empty() && loaded.code->entry != nullptr;
    const LaunchConfig config =
        known ? configure(instance, launch, *loaded.code->entry, options) : LaunchConfig{};
    if (!admit(loaded, config, run)) {
      for (Diagnostic& d : run.diagnostics) d.launch = launch.position;
      break;
    }
    if (std::find(present.begin(), present.end(), loaded.module.get()) == present.end()) {
      machine_.add_variables(*loaded.code);
      present.push_back(loaded.module.get());
    }
    if (options.watch.operand >= 0) {
      const Tensor& watched = instance.tensors[static_cast<size_t>(options.watch.operand)];
      machine_.observe(
          watch_stores(buffer_address(watched) + static_cast<uint64_t>(options.watch.first),
                       options.watch.bytes, *loaded.module, config, run.last_store));
    }
    run.status = machine_.launch(*loaded.code, config);
    machine_.observe({});
    if (run.status == RunStatus::completed) check_written(instance, regions);
  }
  if (!began) return run;
  for (Diagnostic& d : machine_.diagnostics()) run.diagnostics.push_back(std::move(d));
  machine_.diagnostics().clear();
  run.coverage = machine_.coverage();
  run.lane_instructions = machine_.lane_instructions();
  if (run.status == RunStatus::completed) {
    run.outputs = std::make_unique<PageReader>(machine_.keep_memory(), regions);
  }
  return run;
}

}  // namespace
}  // namespace ptx

std::unique_ptr<Device> make_ptx_device() { return std::make_unique<ptx::PtxDevice>(); }

}  // namespace assay
