// Exceptional arithmetic, traced through the registers and the memory of the block that stored a
// watched value. For runs that explain a failure: each instruction costs some hundred times more.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "devices/ptx/executor.hpp"

namespace assay::ptx {

namespace {

uint64_t bits_at(const uint8_t* row, int lane, int width) {
  uint64_t bits = 0;
  std::memcpy(&bits, row + lane * width, static_cast<size_t>(width));
  return bits;
}

std::string number_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

/// What a lane's bits are read as.
bool number_type(Type type) {
  return type == Type::f64 || type == Type::f32 || type == Type::f16 || type == Type::bf16 ||
         type == Type::tf32 || type == Type::e4m3 || type == Type::e5m2;
}

/// "of 3e38, 2: inf".
std::string value_text(const Operation& o) {
  std::string text;
  for (int i = 0; i < o.count; ++i)
    text += (i == 0 ? "of " : ", ") + number_text(o.operands[static_cast<size_t>(i)]);
  return text + (text.empty() ? "" : ": ") + number_text(o.result);
}

}  // namespace

bool Executor::is_traced() const {
  const auto& only = options_.watch.block;
  return only[0] < 0 || warp_->block->at == only;
}

CauseRow& Executor::causes(uint32_t flag) {
  return trace_->row(warp_->block->linear, warp_->index, flag);
}

/// Where the causes of memory are kept: shared memory by block, local by thread, global by address.
uint64_t Executor::traced_place(Space space, int lane, uint64_t address) const {
  const auto block = static_cast<uint64_t>(warp_->block->linear) + 1;
  const auto thread = static_cast<uint64_t>(warp_->index * kLanes + lane) + 1;
  if (space == Space::shared) return address ^ (block << 24);
  if (space == Space::local) return address ^ (block << 34) ^ (thread << 24) ^ (uint64_t{1} << 63);
  return address;
}

void Executor::trace_before(const MicroOp& op) {
  const Slot slots[] = {op.a, op.b, op.c};
  const auto width = static_cast<size_t>(op.source_width == 0 ? op.width : op.source_width);
  for (size_t k = 0; k < 3; ++k) {
    if (slots[k] != kNoSlot) std::memcpy(trace_->before[k].data(), row(slots[k]), width * kLanes);
  }
}

/// What the lanes of `mask` made, and what they carry on.
void Executor::trace_after(const MicroOp& op, uint32_t mask) {
  if (op.d == kNoSlot || op.fd == 0 || !is_traced()) return;
  const Instruction& ins = *code_->sites[op.site].instruction;
  const uint32_t flags[] = {op.fa, op.fb, op.fc};
  const Slot slots[] = {op.a, op.b, op.c};
  const int width = op.source_width == 0 ? op.width : op.source_width;
  CauseRow made;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const uint64_t result = bits_at(frame_row(op.d), lane, op.width);
    Cause cause;
    for (size_t k = 0; k < 3; ++k) {
      if (slots[k] == kNoSlot || flags[k] == 0) continue;
      // A selection carries on what was selected.
      const bool selects = ins.op == Op::selp || ins.op == Op::min || ins.op == Op::max;
      if (selects && bits_at(trace_->before[k].data(), lane, width) != result) continue;
      cause.join(causes(flags[k])[static_cast<size_t>(lane)]);
    }
    if (number_type(element_of(ins.type))) trace_numbers(op, ins, lane, result, cause);
    made[static_cast<size_t>(lane)] = cause;
  }
  CauseRow& to = causes(op.fd);
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<size_t>(std::countr_zero(left));
    to[lane] = made[lane];
  }
}

/// The arithmetic of one lane, half by half where it is packed.
void Executor::trace_numbers(const MicroOp& op, const Instruction& ins, int lane, uint64_t result,
                             Cause& cause) {
  static constexpr Op kMoves[] = {Op::mov, Op::selp, Op::prmt, Op::shfl, Op::slct};
  for (Op moves : kMoves) {
    if (ins.op == moves) return;
  }
  const Type type = element_of(ins.type);
  const int halves = type == ins.type ? 1 : 2;
  const int bits = halves == 1 ? 64 : 8 * bytes_of(ins.type) / 2;
  const uint64_t kept = halves == 1 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const int width = op.source_width == 0 ? op.width : op.source_width;
  const bool converts = ins.op == Op::cvt;
  const bool packs = converts && halves == 2 && element_of(ins.source_type) == ins.source_type;
  const Type source = element_of(converts ? ins.source_type : ins.type);
  const bool was_rounded = cause.rounded;
  for (int half = 0; half < halves; ++half) {
    Operation o;
    o.op = ins.op;
    o.type = type;
    for (size_t k = 0; k < std::min<size_t>(3, ins.src.size()) && number_type(source); ++k) {
      if (packs && k != static_cast<size_t>(1 - half)) continue;  // {a, b}: a is the upper half
      uint64_t operand = bits_at(trace_->before[k].data(), lane, width);
      if (!packs) operand = (operand >> (half * bits % 64)) & kept;
      if (ins.src[k].kind == Value::Kind::immediate) o.constants |= 1 << o.count;
      o.operands[static_cast<size_t>(o.count++)] = number_of(source, operand);
    }
    o.result = number_of(type, (result >> (half * bits % 64)) & kept);
    // Sums that are back where they were before a cancellation, or far above what underflowed, have
    // lost nothing by it.
    const bool adds = ins.op == Op::add || ins.op == Op::sub || ins.op == Op::fma;
    if (adds && halves == 1 && std::isnormal(o.result)) {
      if (std::fabs(o.result) > 0x1p-100) cause.underflow = 0;
      if (cause.cancellation != 0) {
        const Operation& past = trace_->event(cause.cancellation).operation;
        if (std::fabs(o.result) >= std::fabs(past.operands[past.count == 3 ? 2 : 0]))
          cause.cancellation = 0;
      }
    }
    cause.rounded |= rounds(o);
    const auto exception = exception_of(o, was_rounded);
    if (!exception) continue;
    uint32_t& known = *exception == Exception::cancellation ? cause.cancellation
                      : *exception == Exception::underflow  ? cause.underflow
                                                            : cause.nonfinite;
    if (known != 0) continue;
    known = trace_->add({*exception, o, code_, op.site, warp_->block->at, thread_of(*warp_, lane)});
  }
}

/// pack and unpack: parts of a register.
void Executor::trace_parts(const MicroOp& op, uint32_t mask) {
  if (!is_traced()) return;
  const Site& site = code_->sites[op.site];
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<size_t>(std::countr_zero(left));
    Cause cause;
    if (op.kind == Kind::unpack) {
      if (op.fa != 0) cause = causes(op.fa)[lane];
      for (uint32_t flag : site.flags) {
        if (flag != 0) causes(flag)[lane] = cause;
      }
      continue;
    }
    for (uint32_t flag : site.flags) {
      if (flag != 0) cause.join(causes(flag)[lane]);
    }
    if (op.fd != 0) causes(op.fd)[lane] = cause;
  }
}

/// Loads take up what lies in memory, stores leave it there, atomics do both.
void Executor::trace_access(const MicroOp& op, uint32_t mask, Space space, Access access,
                            int bytes) {
  if (!is_traced()) return;
  if (op.kind == Kind::tensor) return trace_matrix_access(op, mask, space, access, bytes);
  if (op.kind != Kind::load && op.kind != Kind::store && op.kind != Kind::atomic) return;
  const Site& site = code_->sites[op.site];
  const uint64_t first = config_->watched_address;
  const uint64_t last = first + static_cast<uint64_t>(options_.watch.bytes);
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const auto at_lane = static_cast<size_t>(lane);
    const size_t count = access == Access::atomic ? 1 : site.flags.size();
    for (size_t k = 0; k < count; ++k) {
      const uint64_t address = address_[lane] + k * site.element_bytes;
      const uint64_t place = traced_place(space, lane, address);
      const uint32_t flag = site.flags.size() > k ? site.flags[k] : 0;
      if (access == Access::read) {
        if (flag != 0) causes(flag)[at_lane] = trace_->at(space, place);
        continue;
      }
      Cause cause = flag == 0 ? Cause{} : causes(flag)[at_lane];
      if (access == Access::atomic) {
        const Cause old = trace_->at(space, place);
        cause.join(old);
        if (op.fd != 0) causes(op.fd)[at_lane] = old;
      }
      trace_->put(space, place, cause);
      const bool hits =
          space == Space::global && address < last && address + site.element_bytes > first;
      if (hits) trace_->watched = cause;
    }
  }
}

/// Rows of a matrix: what is stored may hold whatever any of its registers carries; what is loaded
/// counts as ordinary.
void Executor::trace_matrix_access(const MicroOp& op, uint32_t mask, Space space, Access access,
                                   int bytes) {
  constexpr uint64_t kElement = 2;  // bytes of the smallest that wmma and stmatrix store
  const FragmentRows& registers = code_->fragments[op.target];
  Cause cause;
  for (uint32_t flag : registers.flags) {
    if (flag == 0) continue;
    if (access == Access::read) causes(flag).fill({});
    for (const Cause& of_lane : causes(flag)) cause.join(of_lane);
  }
  for (uint32_t left = mask; access == Access::write && left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    for (uint64_t at = 0; at < static_cast<uint64_t>(bytes); at += kElement)
      trace_->put(space, traced_place(space, lane, address_[lane] + at), cause);
  }
}

void Executor::trace_shuffle(const MicroOp& op, uint32_t mask, const int* sources) {
  if (op.fd == 0 || !is_traced()) return;
  const CauseRow from = op.fa == 0 ? CauseRow{} : causes(op.fa);
  CauseRow& to = causes(op.fd);
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    to[static_cast<size_t>(lane)] = from[static_cast<size_t>(sources[lane])];
  }
}

/// Lanes of a register that hold a NaN or an infinity.
uint32_t Executor::nonfinite_lanes(Slot slot, Type type) const {
  uint32_t lanes = 0;
  const int halves = bytes_of(type) == 2 ? 2 : 1;
  for (int lane = 0; lane < kLanes && number_type(type); ++lane) {
    for (int half = 0; half < halves; ++half) {
      const uint64_t bits = bits_at(row(slot), lane, 4) >> (16 * half);
      if (!std::isfinite(number_of(type, halves == 2 ? bits & 0xffff : bits)))
        lanes |= uint32_t{1} << lane;
    }
  }
  return lanes;
}

/// A matrix product, whose results are written. `ordinary`: no operand held a NaN or an infinity.
/// Whatever any lane's registers carry may be in any result.
void Executor::trace_product(const MicroOp& op, const Instruction& ins, bool ordinary) {
  if (!is_traced()) return;
  const FragmentRows& registers = code_->fragments[op.target];
  Cause cause;
  for (size_t k = registers.results; k < registers.flags.size(); ++k) {
    if (registers.flags[k] == 0) continue;
    for (const Cause& of_lane : causes(registers.flags[k])) cause.join(of_lane);
  }
  cause.rounded = true;
  for (size_t k = 0; k < registers.results; ++k) {
    if (registers.flags[k] == 0) continue;
    CauseRow& to = causes(registers.flags[k]);
    to.fill(cause);
    uint32_t lanes = ordinary ? nonfinite_lanes(registers.rows[k], ins.type) : 0;
    for (; lanes != 0; lanes &= lanes - 1) {
      const int lane = std::countr_zero(lanes);
      Operation o;
      o.op = ins.op;
      o.type = ins.type;
      o.result = INFINITY;
      to[static_cast<size_t>(lane)].nonfinite = trace_->add(
          {Exception::infinity, o, code_, op.site, warp_->block->at, thread_of(*warp_, lane)});
    }
  }
}

/// Says what flowed into the watched value, if anything exceptional did.
void Executor::tell_exceptional() {
  const uint32_t number = trace_->watched.worst();
  if (number == 0) return;
  const ExceptionEvent& event = trace_->event(number);
  const Site& site = event.code->sites[event.site];
  Step step =
      ptx::step_of(*event.code->module, *site.function, *site.instruction, text_of(event.kind));
  step.block = event.block;
  step.thread = event.thread;
  step.value = value_text(event.operation);
  Diagnostic d;
  d.kind = DiagnosticKind::exceptional;
  d.note = true;
  d.message = step.text();
  d.file = step.file;
  d.line = step.line;
  d.ptx_line = step.ptx_line;
  d.block = step.block;
  d.thread = step.thread;
  d.steps.push_back(std::move(step));
  diagnostics.push_back(std::move(d));
}

}  // namespace assay::ptx
