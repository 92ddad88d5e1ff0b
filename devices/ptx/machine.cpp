#include "devices/ptx/machine.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "devices/ptx/executor.hpp"
#include "devices/ptx/lower.hpp"
#include "kernels_under_test/limits.hpp"

namespace assay::ptx {

namespace {

uint64_t extend(uint64_t value, int bytes, bool sign_extend) {
  if (!sign_extend || bytes >= 8) return value;
  const int shift = 64 - 8 * bytes;
  return static_cast<uint64_t>(static_cast<int64_t>(value << shift) >> shift);
}

void broadcast(uint8_t* row, int width, uint64_t value) {
  for (int i = 0; i < kLanes; ++i) std::memcpy(row + i * width, &value, width);
}

/// What a module's variable holds before the first launch.
void initial_bytes(const Code& code, const Variable& v, int64_t first, int64_t count,
                   uint8_t* out) {
  for (int64_t b = 0; b < count; ++b) {
    const size_t at = static_cast<size_t>(first + b);
    out[b] = at < v.initial.size() ? v.initial[at] : 0;
  }
  const std::vector<Variable>& variables = code.module->variables;
  for (const auto& [offset, symbol] : v.pointers) {
    for (size_t j = 0; j < variables.size(); ++j) {
      if (variables[j].name != symbol) continue;
      uint64_t address = 0;
      for (int64_t b = 0; b < 8 && offset + b < static_cast<int64_t>(v.initial.size()); ++b) {
        address |= static_cast<uint64_t>(v.initial[offset + b]) << (8 * b);
      }
      address += code.variable_addresses[j];
      for (int64_t b = 0; b < 8; ++b) {
        const int64_t at = offset + b - first;
        if (at >= 0 && at < count) out[at] = static_cast<uint8_t>(address >> (8 * b));
      }
    }
  }
}

}  // namespace

bool use_avx2() {
  const char* off = std::getenv("ASSAY_NO_AVX2");
  const bool forbidden = off != nullptr && std::strcmp(off, "1") == 0;
  return !forbidden && cpu_has_avx2();
}

ProgramLimit program_limit(const Function& entry, const ResolvedLaunch& launch,
                           int64_t static_shared_bytes) {
  const auto number_text = [](int64_t value) { return std::to_string(value); };
  for (size_t i = 0; i < 3 && entry.required_block[0] > 0; ++i) {
    const int64_t required = std::max(entry.required_block[i], 1);
    if (launch.block[i] == required) continue;
    const auto axis = static_cast<LaunchNumber>(static_cast<size_t>(LaunchNumber::block_x) + i);
    return {axis, ", not the " + number_text(required) + " that the kernel requires (.reqntid)"};
  }
  if (entry.max_block[0] > 0) {
    const int64_t most = int64_t{entry.max_block[0]} * std::max(entry.max_block[1], 1) *
                         std::max(entry.max_block[2], 1);
    if (value_of(launch, LaunchNumber::threads) > most) {
      return {LaunchNumber::threads, ", more than the kernel's own limit of " + number_text(most) +
                                         " (__launch_bounds__)"};
    }
  }
  if (static_shared_bytes > kMostStaticShared) {
    return {LaunchNumber::shared, " bytes beside " + number_text(static_shared_bytes) +
                                      " static ones, more than the limit of " +
                                      number_text(kMostStaticShared) + " for static ones"};
  }
  return {};
}

int64_t co_resident_blocks(const LaunchConfig& config, int64_t shared_bytes) {
  constexpr int64_t kMultiprocessors = 108;  // NVIDIA A100 Tensor Core GPU Architecture, table 4
  constexpr int64_t kWarps = 64, kBlocks = 32, kShared = 164 << 10;  // of a multiprocessor
  constexpr int64_t kReserved = 1 << 10;  // shared memory that the system keeps of each block
  const int64_t threads = config.block[0] * config.block[1] * config.block[2];
  const int64_t warps = std::max<int64_t>((threads + kLanes - 1) / kLanes, 1);
  return kMultiprocessors *
         std::min({kBlocks, kWarps / warps, kShared / (shared_bytes + kReserved)});
}

Executor::Executor(Memory& memory, bool avx2)
    : memory_(&memory), kit_(row_kit(avx2)), races_(std::make_unique<Races>(*this, avx2)) {}

void Executor::begin(const RunOptions& options, const Module& module) {
  options_ = options;
  trace_ = options.exceptional ? std::make_unique<ExceptionTrace>() : nullptr;
#ifndef ASSAY_WITHOUT_CHECKERS
  shadow_ = trace_ == nullptr && (options.definedness || options.wrap);
#endif
  diagnostics.clear();
  begin_coverage(module);
  lane_instructions = 0;
  instructions_ = 0;
  origins_.resize(1);
  owned_twice_ = false;
}

uint64_t Executor::special_value(Special which) const {
  const auto& c = *config_;
  switch (which) {
    case Special::ntid_x:
      return static_cast<uint64_t>(c.block[0]);
    case Special::ntid_y:
      return static_cast<uint64_t>(c.block[1]);
    case Special::ntid_z:
      return static_cast<uint64_t>(c.block[2]);
    case Special::nctaid_x:
    case Special::nclusterid_x:
      return static_cast<uint64_t>(c.grid[0]);
    case Special::nctaid_y:
      return static_cast<uint64_t>(c.grid[1]);
    case Special::nctaid_z:
      return static_cast<uint64_t>(c.grid[2]);
    case Special::nwarpid:
      return 64;  // sm_80: 64 resident warps a multiprocessor
    case Special::nsmid:
    case Special::cluster_nctaid_x:
      return 1;
    case Special::dynamic_smem_size:
      return static_cast<uint64_t>(c.shared_bytes);
    case Special::total_smem_size:
      return static_cast<uint64_t>(shared_bytes_);
    default:
      return 0;
  }
}

void Executor::prepare_constants() {
  if (constants_of_ != code_->serial) {
    constants_.reserve(code_->constants.size() + 64);
    std::copy(code_->constants.begin(), code_->constants.end(), constants_.data());
    constants_of_ = code_->serial;
  }
  bases_[kConstants] = constants_.data();
  for (const LaunchConstant& c : code_->launch_constants) {
    uint64_t value = 0;
    if (c.kind == LaunchConstant::Kind::special) {
      value = special_value(c.special);
    } else {
      const size_t end = static_cast<size_t>(c.offset) + c.memory_width;
      if (end <= config_->params.size()) {
        std::memcpy(&value, config_->params.data() + c.offset, c.memory_width);
      }
      value = extend(value, c.memory_width, c.sign_extend);
    }
    broadcast(constants_.data() + (c.slot & ~3u), c.width, value);
  }
}

RunStatus Executor::launch(const Code& code, const LaunchConfig& config) {
  if (code.serial != free_blocks_of_) keep_few_blocks();
  free_blocks_of_ = code.serial;
  shape_ = {config.block[0], config.block[1], config.block[2], config.only_thread ? 1 : 0};
  joins_now_ = nullptr;
  global_trails_.clear();
  code_ = &code;
  config_ = &config;
  ops_ = code.ops.data();
  shared_bytes_ = code.static_shared_bytes;
  if (config.shared_bytes > 0) {
    const int64_t align = code.dynamic_shared_align;
    shared_bytes_ = (shared_bytes_ + align - 1) / align * align + config.shared_bytes;
  }
  count_in(*code.module);
  count_warps();
  memory_->begin_launch();
  prepare_constants();
  resident_.clear();
#ifndef ASSAY_WITHOUT_CHECKERS
  tracked_ = options_.races || observer || traced();
#endif
  if (traced()) trace_->begin_launch();
  races_->begin_launch();
  try {
    run_blocks();
    race_op_ = nullptr;
    races_->end_launch();
  } catch (const Stop& stop) {
    resident_.clear();
    return stop.status;
  }
  return RunStatus::completed;
}

Machine::Machine(bool avx2)
    : memory_(std::make_shared<Memory>()), executor_(std::make_unique<Executor>(*memory_, avx2)) {}
Machine::~Machine() = default;

void Machine::renew_memory() {
  if (memory_.use_count() == 1) return memory_->reset();
  for (auto& spare : spares_) {
    if (spare.use_count() != 1) continue;
    std::swap(spare, memory_);
    executor_->use(*memory_);
    return memory_->reset();
  }
  spares_.push_back(memory_);
  memory_ = std::make_shared<Memory>();
  executor_->use(*memory_);
}

void Machine::begin(const Module& module, const RunOptions& options) {
  parameter_region_ = -1;
  executor_->begin(options, module);
}

void Machine::add_variables(const Code& code, std::shared_ptr<const Memory> left) {
  const Module& module = *code.module;
  for (size_t i = 0; i < module.variables.size(); ++i) {
    const Variable& v = module.variables[i];
    if ((v.space != Space::global && v.space != Space::const_) || v.bytes == 0) continue;
    RegionSpec spec;
    spec.name = v.name;
    spec.base = code.variable_addresses[i];
    spec.bytes = v.bytes;
    spec.writable = v.space == Space::global;
    spec.constant = v.space == Space::const_;
    const int kept = left == nullptr ? -1 : left->region_at(spec.base);
    spec.fill = [&code, &v, left, kept](int64_t first, int64_t count, uint8_t* out) {
      if (kept < 0) return initial_bytes(code, v, first, count, out);
      std::vector<uint8_t> written(static_cast<size_t>(count));
      left->read(kept, first, count, out, written.data());
    };
    memory_->add(std::move(spec));
  }
}

/// The window through which kernels read parameters by pointer.
void Machine::show_parameters(const LaunchConfig& config) {
  shown_parameters_ = config.params;
  shown_parameters_.resize(kMostParameterBytes);
  if (parameter_region_ >= 0) return memory_->refill(parameter_region_);
  RegionSpec spec;
  spec.name = "parameters";
  spec.base = kParamWindow;
  spec.bytes = kMostParameterBytes;
  spec.writable = false;
  spec.constant = true;
  spec.fill = [this](int64_t first, int64_t count, uint8_t* out) {
    std::memcpy(out, shown_parameters_.data() + first, static_cast<size_t>(count));
  };
  parameter_region_ = memory_->add(std::move(spec));
}

void Machine::tell_exceptional() { executor_->tell_traced(); }

RunStatus Machine::launch(const Code& code, const LaunchConfig& config) {
  if (code.points_to_parameters) show_parameters(config);
  return executor_->launch(code, config);
}

bool Machine::owned_twice() const { return executor_->owned_twice(); }
std::vector<Diagnostic>& Machine::diagnostics() { return executor_->diagnostics; }
std::vector<uint32_t> Machine::block_hits(const Module& module) const {
  return executor_->block_hits(module);
}
int64_t Machine::lane_instructions() const { return executor_->lane_instructions; }
void Machine::observe(AccessObserver observer) { executor_->observer = std::move(observer); }

std::vector<Coverage> Machine::take_coverage() { return executor_->take_coverage(); }

}  // namespace assay::ptx
