// Findings: their text, their source line, and one entry for each kind and line.
#include <cxxabi.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>

#include "devices/ptx/atomics.hpp"
#include "devices/ptx/executor.hpp"

namespace assay::ptx {

namespace {

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

/// Headers that come with the toolkit: the user's line is the one that inlined them.
bool is_toolkit_file(const std::string& path) {
  const auto has = [&](const char* part) { return path.find(part) != std::string::npos; };
  if (has("/cuda") || has("x86_64-linux/include") || has("/nvidia/") || has("/crt/")) return true;
  const size_t slash = path.rfind('/');
  const std::string base = slash == std::string::npos ? path : path.substr(slash + 1);
  return base.rfind("sm_", 0) == 0 || base.rfind("cuda_", 0) == 0 ||
         base.rfind("device_", 0) == 0 || base.rfind("math_functions", 0) == 0 ||
         base.rfind("libdevice", 0) == 0;
}

std::string base_name(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

/// A variable as the source names it: "tile" of "_ZZ3sumIfEvPT_E4tile".
std::string source_name(const std::string& name) {
  if (name.rfind("_Z", 0) != 0) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || text == nullptr) return name;
  const std::string whole = text.get();
  const size_t scope = whole.rfind("::");
  return scope == std::string::npos ? whole : whole.substr(scope + 2);
}

}  // namespace

SourceLine user_line(const Module& module, const Function& function,
                     const Instruction& instruction) {
  if (instruction.line < 0) return {};
  SourceLine line = function.lines[instruction.line];
  for (int depth = 0; depth < 64 && line.inlined_at >= 0; ++depth) {
    const auto file = module.files.find(line.file);
    const bool known = file != module.files.end();
    if (known && !is_toolkit_file(file->second)) break;
    line = function.lines[line.inlined_at];
  }
  return line;
}

namespace {

void add_registers(const std::vector<Value>& values, bool addresses, std::set<int32_t>& out) {
  for (const Value& value : values) {
    if (value.kind == Value::Kind::reg || (addresses && value.kind == Value::Kind::address))
      out.insert(value.index);
  }
}

std::set<int32_t> registers_read(const Instruction& ins) {
  std::set<int32_t> out;
  add_registers(ins.src, true, out);
  if (ins.guard >= 0) out.insert(ins.guard);
  return out;
}

std::set<int32_t> registers_set(const Instruction& ins) {
  std::set<int32_t> out;
  add_registers(ins.dst, false, out);
  if (ins.predicate_out >= 0) out.insert(ins.predicate_out);
  return out;
}

/// The line of the nearest instruction that has one, along the registers from one to those that
/// read what it sets, the first in the text, or back to those that set what it reads, the last.
SourceLine line_along(const Module& module, const Function& function, const Instruction& from,
                      bool forward) {
  std::vector<const Instruction*> wave{&from};
  std::set<const Instruction*> met{&from};
  while (!wave.empty()) {
    std::set<int32_t> wanted;
    for (const Instruction* ins : wave)
      wanted.merge(forward ? registers_set(*ins) : registers_read(*ins));
    wave.clear();
    for (const Instruction& ins : function.code) {
      const std::set<int32_t> has = forward ? registers_read(ins) : registers_set(ins);
      const bool touches = std::any_of(has.begin(), has.end(),
                                       [&](int32_t at) { return wanted.contains(at); });
      if (touches && met.insert(&ins).second) wave.push_back(&ins);
    }
    if (!forward) std::reverse(wave.begin(), wave.end());
    for (const Instruction* ins : wave) {
      const SourceLine line = user_line(module, function, *ins);
      if (line.line > 0) return line;
    }
  }
  return {};
}

}  // namespace

SourceLine named_line(const Module& module, const Function& function,
                      const Instruction& instruction) {
  const SourceLine own = user_line(module, function, instruction);
  if (own.line > 0 || instruction.line < 0) return own;
  for (const bool forward : {true, false}) {
    const SourceLine line = line_along(module, function, instruction, forward);
    if (line.line > 0) return line;
  }
  return own;
}

std::string Unsupported::text() const {
  if (line > 0) return what + " at " + base_name(file) + ":" + std::to_string(line);
  return ptx_line > 0 ? what + " at line " + std::to_string(ptx_line) + " of the PTX" : what;
}

SourceLine Executor::user_line(int32_t site) const {
  if (site < 0) return {};
  const Site& s = code_->sites[site];
  return ptx::user_line(*code_->module, *s.function, *s.instruction);
}

SourceLine Executor::named_line(int32_t site) const {
  const SourceLine own = user_line(site);
  if (own.line > 0 || site < 0) return own;
  const auto [at, fresh] = named_lines_.try_emplace({code_->serial, site});
  if (fresh) {
    const Site& s = code_->sites[site];
    at->second = ptx::named_line(*code_->module, *s.function, *s.instruction);
  }
  return at->second;
}

/// " at softmax.cu:12", or nothing.
std::string Executor::place(int32_t site) const {
  const SourceLine line = named_line(site);
  const auto file = code_->module->files.find(line.file);
  if (file == code_->module->files.end() || line.line == 0) return "";
  return " at " + base_name(file->second) + ":" + std::to_string(line.line);
}

Step step_of(const Module& module, const Function& function, const Instruction& instruction,
             std::string what) {
  Step step;
  step.what = std::move(what);
  const SourceLine line = named_line(module, function, instruction);
  if (const auto file = module.files.find(line.file); file != module.files.end()) {
    step.file = file->second;
    step.line = line.line;
  }
  step.ptx_line = instruction.ptx_line;
  step.instruction = instruction.spelling;
  return step;
}

Step Executor::step_at(int32_t site, std::string what) const {
  if (site >= 0) {
    const Site& s = code_->sites[site];
    return ptx::step_of(*code_->module, *s.function, *s.instruction, std::move(what));
  }
  Step step;
  step.what = std::move(what);
  return step;
}

std::array<int64_t, 3> Executor::thread_of(const WarpState& warp, int lane) const {
  const auto* rows = reinterpret_cast<const uint32_t*>(warp.constants);
  return {rows[lane], rows[kLanes + lane], rows[2 * kLanes + lane]};
}

Diagnostic& Executor::report(DiagnosticKind kind, int32_t site, int lane, std::string message,
                             std::string operand, bool note) {
  Diagnostic d;
  d.kind = kind;
  d.note = note;
  if (site >= 0) {
    const SourceLine line = named_line(site);
    const auto file = code_->module->files.find(line.file);
    if (file != code_->module->files.end()) d.file = file->second;
    d.line = line.line;
    d.ptx_line = code_->sites[site].instruction->ptx_line;
  }
  if (Diagnostic* const known = count_again(diagnostics, d)) return *known;
  d.message = std::move(message);
  d.operand = std::move(operand);
  d.block = warp_->block->at;
  d.thread = thread_of(*warp_, lane);
  diagnostics.push_back(std::move(d));
  return diagnostics.back();
}

namespace {

int64_t shared_offset(uint64_t address) {
  return static_cast<int64_t>(static_cast<int32_t>(address)) - kSharedStart;
}

}  // namespace

/// "tile + 12", of the shared variable at an address; "" where there is none. Its name goes to
/// `operand`.
std::string Executor::shared_name(uint64_t address, int bytes, std::string* operand) const {
  const int64_t offset = shared_offset(address);
  for (const SharedVariable& v : code_->shared) {
    const int64_t end = v.variable->bytes == 0 ? shared_bytes_ : v.offset + v.variable->bytes;
    if (offset < v.offset || offset > end + bytes) continue;
    *operand = source_name(v.variable->name);
    return *operand + " + " + std::to_string(offset - v.offset);
  }
  return "";
}

/// "operand x, element 1234 (12 past the end)".
std::string Executor::describe(Space space, uint64_t address, int bytes,
                               std::string* operand) const {
  if (space == Space::shared) {
    const std::string variable = shared_name(address, bytes, operand);
    return "shared memory, byte " + std::to_string(shared_offset(address)) + " of " +
           std::to_string(shared_bytes_) + (variable.empty() ? "" : " (" + variable + ")") +
           (shared_bytes_ == 0 ? ": the launch gives none; the contract's key is 'shared'" : "");
  }
  if (space == Space::local) {
    return "local memory, byte " + std::to_string(static_cast<int64_t>(address - kLocalStart)) +
           " of " + std::to_string(code_->local_bytes - kLocalStart);
  }
  const int index = memory_->nearest(address);
  if (index < 0) return "address " + hex(address);
  const RegionSpec& spec = memory_->regions()[index].spec;
  const int64_t unit = std::max(1, spec.element_bytes);
  const int64_t offset = static_cast<int64_t>(address - spec.base);
  const int64_t element = offset >= 0 ? offset / unit : -((-offset + unit - 1) / unit);
  const int64_t count = (spec.bytes + unit - 1) / unit;
  *operand = spec.name;
  std::string text = spec.name + ", element " + std::to_string(element);
  if (offset < 0) {
    text += " (" + std::to_string(-element) + " before the start)";
  } else if (element >= count) {
    text += " (" + std::to_string(element - count + 1) + " past the end)";
  } else if (offset + bytes > spec.bytes) {
    text += " (reaches past the end)";
  }
  return text;
}

void Executor::out_of_bounds(const MicroOp& op, Space space, int lane, uint64_t address, int bytes,
                             bool is_store) {
  std::string operand;
  const std::string where = describe(space, address, bytes, &operand);
  const std::string what = code_->sites[op.site].instruction->spelling;
  Diagnostic& d = report(DiagnosticKind::out_of_bounds, op.site, lane,
                         std::string(is_store ? "store" : "load") + " of " + std::to_string(bytes) +
                             " bytes out of bounds: " + where,
                         operand);
  if (d.details.empty()) d.details.push_back(what + " at address " + hex(address));
  throw Stop{RunStatus::fault};
}

void Executor::misaligned(const MicroOp& op, Space space, int lane, uint64_t address, int bytes) {
  std::string operand;
  const std::string where = describe(space, address, bytes, &operand);
  Diagnostic& d =
      report(DiagnosticKind::misaligned, op.site, lane,
             "access of " + std::to_string(bytes) + " bytes at an address that is " +
                 std::to_string(address % static_cast<uint64_t>(bytes)) + " bytes off: " + where,
             operand);
  const std::string what = code_->sites[op.site].instruction->spelling;
  if (d.details.empty()) d.details.push_back(what + " at address " + hex(address));
  throw Stop{RunStatus::fault};
}

/// A store to what the kernel may not write. Inputs: a finding, and the store is done, as on a GPU.
void Executor::stray_write(const MicroOp& op, int lane, uint64_t address, int bytes) {
  const Page* page = memory_->page(address);
  const RegionSpec& spec = memory_->regions()[page->region].spec;
  if (spec.writable) return;
  std::string operand;
  const std::string where = describe(Space::global, address, bytes, &operand);
  report(DiagnosticKind::stray_write, op.site, lane,
         (spec.constant ? "store to constant memory: " : "store to an input: ") + where, operand);
  if (spec.constant) throw Stop{RunStatus::fault};
}

/// __assertfail(message, file, line, function, character size).
void Executor::assert_failed(const MicroOp& op, uint32_t mask) {
  const CallInfo& call = code_->calls[op.target];
  const int lane = std::countr_zero(mask);
  const uint8_t* local = warp_->local + lane * code_->local_bytes;
  const auto argument = [&](size_t i) {
    uint64_t value = 0;
    if (i < call.argument_offsets.size()) {
      std::memcpy(&value, local + call.argument_offsets[i], i == 2 ? 4 : 8);
    }
    return value;
  };
  const auto text = [&](uint64_t address) {
    std::string result;
    for (int i = 0; i < 300; ++i, ++address) {
      const Page* page = memory_->page(address);
      if (page == nullptr) break;
      const char c = static_cast<char>(page->data[address & (kPageBytes - 1)]);
      if (c == 0) break;
      result += c;
    }
    return result;
  };
  Diagnostic& d =
      report(DiagnosticKind::trap, op.site, lane,
             "assertion failed: " + text(argument(0)) + " (" + base_name(text(argument(1))) + ":" +
                 std::to_string(argument(2)) + ")");
  d.details.push_back("in " + text(argument(3)));
  throw Stop{RunStatus::fault};
}

}  // namespace assay::ptx
