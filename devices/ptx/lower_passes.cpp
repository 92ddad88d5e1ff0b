// Passes over lowered code: registers that may be read unset, and the backward slice of addresses.
#include <algorithm>

#include "devices/ptx/lower.hpp"

namespace assay::ptx {

namespace {

using Bits = std::vector<uint64_t>;

bool test(const Bits& bits, int32_t i) { return (bits[i >> 6] >> (i & 63)) & 1; }
void set(Bits& bits, int32_t i) { bits[i >> 6] |= uint64_t{1} << (i & 63); }

template <class F>
void for_each_source(const Instruction& ins, F use) {
  if (ins.guard >= 0) use(ins.guard);
  for (const Value& v : ins.src) {
    if ((v.kind == Value::Kind::reg || v.kind == Value::Kind::address) && v.index >= 0) {
      use(v.index);
    }
  }
}

template <class F>
void for_each_result(const Instruction& ins, F define) {
  for (const Value& v : ins.dst) {
    if (v.kind == Value::Kind::reg && v.index >= 0) define(v.index);
  }
  if (ins.predicate_out >= 0) define(ins.predicate_out);
}

}  // namespace

/// Liveness at the function's entry: a register that is live there is read on some path before it
/// is written. A guarded write does not end liveness: it leaves the other lanes as they were.
void Lowering::find_maybe_unset(int32_t f) {
  const Function& function = module_.functions[f];
  const size_t words = (function.registers.size() + 63) / 64;
  const size_t count = function.blocks.size();
  if (count == 0 || words == 0) return;
  std::vector<Bits> used(count, Bits(words)), killed(count, Bits(words)), live(count, Bits(words));
  std::vector<std::vector<int32_t>> successors(count);
  for (size_t b = 0; b < count; ++b) {
    const BasicBlock& block = function.blocks[b];
    for (int32_t s : block.successors) {
      if (s >= 0) successors[b].push_back(s);
    }
    for (int32_t i = block.first; i < block.last; ++i) {
      const Instruction& ins = function.code[i];
      successors[b].insert(successors[b].end(), ins.targets.begin(), ins.targets.end());
      for_each_source(ins, [&](int32_t r) {
        if (!test(killed[b], r)) set(used[b], r);
      });
      if (ins.guard < 0) for_each_result(ins, [&](int32_t r) { set(killed[b], r); });
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = count; b-- > 0;) {
      for (size_t w = 0; w < words; ++w) {
        uint64_t out = 0;
        for (int32_t s : successors[b]) out |= live[s][w];
        const uint64_t in = used[b][w] | (out & ~killed[b][w]);
        changed |= in != live[b][w];
        live[b][w] = in;
      }
    }
  }
  const FunctionPlaces& places = places_.at(f);
  for (size_t r = 0; r < function.registers.size(); ++r) {
    if (!test(live[0], static_cast<int32_t>(r))) continue;
    const Place& p = places.registers[r];
    code_->maybe_unset.push_back({p.slot, p.flag, p.width, f, function.registers[r].name});
  }
}

namespace {

/// Grows `wanted` to all registers whose exact value can flow into one that is wanted.
void close_backwards(Code& code, std::vector<uint8_t>& wanted) {
  const auto want = [&](uint32_t flag) {
    if (flag == 0 || wanted[flag]) return false;
    return wanted[flag] = true, true;
  };
  const auto carries = [&](const MicroOp& op) {
    const Space space = code.sites[op.site].space;
    return space == Space::shared || space == Space::local || space == Space::generic;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const MicroOp& op : code.ops) {
      if (op.kind == Kind::load && carries(op) && !code.memory_carries_wrap) {
        for (uint32_t flag : code.sites[op.site].flags) {
          if (flag != 0 && wanted[flag]) code.memory_carries_wrap = changed = true;
        }
      }
      if (op.kind == Kind::store && code.memory_carries_wrap && carries(op)) {
        for (uint32_t flag : code.sites[op.site].flags) changed |= want(flag);
      }
      if (op.wrap == WrapStep::none || op.fd == 0 || !wanted[op.fd]) continue;
      changed |= want(op.fa);
      if (op.kind == Kind::shuffle) continue;  // the lane number is no part of the value
      changed |= want(op.fb);
      changed |= want(op.fc);
    }
  }
}

}  // namespace

/// Only values that can flow into an address or a comparison carry exact values (ARCHITECTURE.md,
/// "Wrap"); other arithmetic costs nothing. Towards comparisons only products are watched: those
/// make the notes, and counters that run down to zero stay cheap.
void slice_addresses(Code& code) {
  std::vector<uint8_t> address(code.flag_count, 0);
  for (const MicroOp& op : code.ops) {
    if (has_address(op.kind) && op.fa != 0) address[op.fa] = 1;
  }
  close_backwards(code, address);
  std::vector<uint8_t> either = address;
  for (const MicroOp& op : code.ops) {
    const bool compares = op.kind == Kind::compute_pred && op.p1 != kNoSlot && op.d == kNoSlot;
    if (!compares) continue;
    for (uint32_t flag : {op.fa, op.fb}) {
      if (flag != 0) either[flag] = 1;
    }
  }
  close_backwards(code, either);
  code.wrap_rows.assign(code.flag_count, -1);
  for (uint32_t flag = 1; flag < code.flag_count; ++flag) {
    if (either[flag]) code.wrap_rows[flag] = code.wrap_row_count++;
  }
  for (MicroOp& op : code.ops) {
    if (op.fd == 0 || !either[op.fd]) op.wrap = WrapStep::none;
    const bool product = op.wrap == WrapStep::mul || op.wrap == WrapStep::mad;
    op.wrap_check = op.wrap != WrapStep::none && (product || address[op.fd]);
  }
}

}  // namespace assay::ptx
