#include "devices/ptx/machine.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "devices/ptx/executor.hpp"
#include "devices/ptx/lower.hpp"

namespace assay::ptx {

namespace {

constexpr int64_t kMaxGridX = 2147483647;
constexpr int64_t kMaxGridYz = 65535;
constexpr int64_t kMaxBlockThreads = 1024;
constexpr int64_t kMaxBlockZ = 64;
constexpr int64_t kStaticShared = 48 << 10;
constexpr int64_t kSharedOptIn = 163
                                 << 10;  // sm_80 with cudaFuncAttributeMaxDynamicSharedMemorySize
constexpr int64_t kMaxParameterBytes = 4096;

std::string over(const std::string& what, int64_t value, int64_t limit) {
  return what + " " + std::to_string(value) + " exceeds the limit of " + std::to_string(limit);
}

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

std::string launch_limit(const Function& entry, const LaunchConfig& config,
                         int64_t static_shared_bytes) {
  const char* axis[] = {"x", "y", "z"};
  for (int i = 0; i < 3; ++i) {
    const int64_t most = i == 0 ? kMaxGridX : kMaxGridYz;
    if (config.grid[i] > most) return over(std::string("grid.") + axis[i], config.grid[i], most);
    const int64_t most_threads = i == 2 ? kMaxBlockZ : kMaxBlockThreads;
    if (config.block[i] > most_threads) {
      return over(std::string("block.") + axis[i], config.block[i], most_threads);
    }
    if (config.block[i] < 1) {
      return std::string("block.") + axis[i] + " is " + std::to_string(config.block[i]);
    }
    const int32_t required = entry.required_block[i];
    if (entry.required_block[0] > 0 && config.block[i] != std::max(required, 1)) {
      return std::string("block.") + axis[i] + " " + std::to_string(config.block[i]) +
             " differs from .reqntid " + std::to_string(std::max(required, 1));
    }
  }
  const int64_t threads = config.block[0] * config.block[1] * config.block[2];
  if (threads > kMaxBlockThreads) return over("threads of a block", threads, kMaxBlockThreads);
  if (entry.max_block[0] > 0) {
    const int64_t most = int64_t{entry.max_block[0]} * std::max(entry.max_block[1], 1) *
                         std::max(entry.max_block[2], 1);
    if (threads > most) return over("threads of a block (.maxntid)", threads, most);
  }
  if (static_shared_bytes > kStaticShared) {
    return over("static shared memory in bytes", static_shared_bytes, kStaticShared);
  }
  if (static_shared_bytes + config.shared_bytes > kSharedOptIn) {
    return over("shared memory in bytes", static_shared_bytes + config.shared_bytes, kSharedOptIn);
  }
  if (static_cast<int64_t>(config.params.size()) > kMaxParameterBytes) {
    return over("parameters in bytes", static_cast<int64_t>(config.params.size()),
                kMaxParameterBytes);
  }
  return "";
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
  shadow_ = options.definedness || options.wrap;
  diagnostics.clear();
  block_hits.assign(static_cast<size_t>(module.block_count) + 1, 0);
  mask_states.assign(static_cast<size_t>(module.access_count), 0);
  lane_instructions = 0;
  instructions_ = 0;
  origins_.resize(1);
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
  const std::array<int64_t, 6> shape{config.block[0],
                                     config.block[1],
                                     config.block[2],
                                     config.only_thread ? 1 : 0,
                                     static_cast<int64_t>(code.flag_count),
                                     code.frame_bytes};
  if (shape != tid_shape_) free_blocks_.clear();
  global_trails_.clear();
  tid_shape_ = shape;
  code_ = &code;
  config_ = &config;
  ops_ = code.ops.data();
  shared_bytes_ = code.static_shared_bytes;
  if (config.shared_bytes > 0) {
    const int64_t align = code.dynamic_shared_align;
    shared_bytes_ = (shared_bytes_ + align - 1) / align * align + config.shared_bytes;
  }
  // Launches of one run may come from modules of different sizes.
  const auto at_least = [](auto& counters, int32_t count) {
    counters.resize(std::max(counters.size(), static_cast<size_t>(count)));
  };
  at_least(block_hits, code.module->block_count + 1);
  at_least(mask_states, code.module->access_count);
  memory_->begin_launch();
  prepare_constants();
  resident_.clear();
  tracked_ = options_.races || observer;
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

void Machine::add_variables(const Code& code) {
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
    spec.fill = [&code, &v](int64_t first, int64_t count, uint8_t* out) {
      initial_bytes(code, v, first, count, out);
    };
    memory_->add(std::move(spec));
  }
}

/// The window through which kernels read parameters by pointer.
void Machine::show_parameters(const LaunchConfig& config) {
  shown_parameters_ = config.params;
  shown_parameters_.resize(kMaxParameterBytes);
  if (parameter_region_ >= 0) return memory_->refill(parameter_region_);
  RegionSpec spec;
  spec.name = "parameters";
  spec.base = kParamWindow;
  spec.bytes = kMaxParameterBytes;
  spec.writable = false;
  spec.constant = true;
  spec.fill = [this](int64_t first, int64_t count, uint8_t* out) {
    std::memcpy(out, shown_parameters_.data() + first, static_cast<size_t>(count));
  };
  parameter_region_ = memory_->add(std::move(spec));
}

void Machine::report_stray_write(const Page& page, std::string message, std::string operand) {
  executor_->report_stray(page, std::move(message), std::move(operand));
}

RunStatus Machine::launch(const Code& code, const LaunchConfig& config) {
  if (code.points_to_parameters) show_parameters(config);
  return executor_->launch(code, config);
}

std::vector<Diagnostic>& Machine::diagnostics() { return executor_->diagnostics; }
int64_t Machine::lane_instructions() const { return executor_->lane_instructions; }
void Machine::observe(AccessObserver observer) { executor_->observer = std::move(observer); }

Coverage Machine::coverage() const {
  Coverage coverage;
  if (!executor_->wants_coverage()) return coverage;
  const auto& hits = executor_->block_hits;
  coverage.block_hits.reserve(hits.size());
  for (size_t i = 0; i + 1 < hits.size(); ++i) {
    coverage.block_hits.push_back(static_cast<uint8_t>(std::bit_width(hits[i])));
  }
  coverage.mask_states = executor_->mask_states;
  return coverage;
}

}  // namespace assay::ptx
