#include "devices/ptx/data_flow.hpp"

#include <algorithm>

#include "devices/ptx/cfg.hpp"

namespace assay::ptx {

namespace {

using Bits = std::vector<uint64_t>;

void set(Bits& bits, int32_t i) { bits[i >> 6] |= uint64_t{1} << (i & 63); }
void clear(Bits& bits, int32_t i) { bits[i >> 6] &= ~(uint64_t{1} << (i & 63)); }
bool test(const Bits& bits, int32_t i) { return (bits[i >> 6] >> (i & 63)) & 1; }

std::vector<std::vector<int32_t>> predecessors(const Function& function) {
  std::vector<std::vector<int32_t>> before(function.blocks.size());
  for (size_t b = 0; b < function.blocks.size(); ++b) {
    for (int32_t s : successors_of(function, function.blocks[b]))
      before[s].push_back(static_cast<int32_t>(b));
  }
  return before;
}

/// A definition of a register that has several: those alone need a fixpoint.
struct Definition {
  int32_t instruction = -1;
  int32_t reg = -1;
};

}  // namespace

DataFlow::DataFlow(const Function& function) : function_(&function) {
  first_.reserve(function.code.size());
  size_t operands = 0;
  for (const Instruction& ins : function.code) {
    first_.push_back(operands);
    operands += ins.src.size();
  }
  makers_.resize(operands);
  users_.resize(function.code.size());
  block_of_.assign(function.code.size(), -1);
  for (size_t b = 0; b < function.blocks.size(); ++b) {
    for (int32_t i = function.blocks[b].first; i < function.blocks[b].last; ++i)
      block_of_[i] = static_cast<int32_t>(b);
  }
  find_makers();
}

/// The usual forward fixpoint. A guarded write leaves the other lanes as they were, so it ends no
/// earlier definition.
void DataFlow::find_makers() {
  const Function& function = *function_;
  std::vector<std::vector<int32_t>> made(function.registers.size());  // instructions, by register
  for (size_t i = 0; i < function.code.size(); ++i) {
    for_each_result(function.code[i],
                    [&](int32_t r) { made[r].push_back(static_cast<int32_t>(i)); });
  }
  std::vector<Definition> several;
  std::vector<std::vector<int32_t>> numbers(function.registers.size());  // in `several`
  for (size_t r = 0; r < made.size(); ++r) {
    if (made[r].size() < 2) continue;
    for (int32_t i : made[r]) {
      numbers[r].push_back(static_cast<int32_t>(several.size()));
      several.push_back({i, static_cast<int32_t>(r)});
    }
  }
  const size_t words = (several.size() + 63) / 64;
  const size_t count = function.blocks.size();
  const auto define = [&](Bits& live, int32_t instruction, int32_t r) {
    if (numbers[r].empty()) return;
    for (int32_t n : numbers[r]) {
      if (several[n].instruction == instruction)
        set(live, n);
      else if (function.code[instruction].guard < 0)
        clear(live, n);
    }
  };
  const auto pass = [&](size_t b, Bits live) {
    for (int32_t i = function.blocks[b].first; i < function.blocks[b].last; ++i)
      for_each_result(function.code[i], [&](int32_t r) { define(live, i, r); });
    return live;
  };
  const auto before = predecessors(function);
  std::vector<Bits> in(count, Bits(words)), out(count, Bits(words));
  for (bool changed = words > 0; changed;) {
    changed = false;
    for (size_t b = 0; b < count; ++b) {
      std::fill(in[b].begin(), in[b].end(), 0);
      for (int32_t p : before[b]) {
        for (size_t w = 0; w < words; ++w) in[b][w] |= out[p][w];
      }
      Bits after = pass(b, in[b]);
      changed |= after != out[b];
      out[b] = std::move(after);
    }
  }
  for (size_t b = 0; b < count; ++b) {
    Bits live = in[b];
    for (int32_t i = function.blocks[b].first; i < function.blocks[b].last; ++i) {
      const Instruction& ins = function.code[i];
      for (size_t k = 0; k < ins.src.size(); ++k) {
        const Value& v = ins.src[k];
        if ((v.kind != Value::Kind::reg && v.kind != Value::Kind::address) || v.index < 0) continue;
        std::vector<int32_t>& to = makers_[first_[i] + k];
        if (numbers[v.index].empty()) {
          to = made[v.index];
        } else {
          for (int32_t n : numbers[v.index]) {
            if (test(live, n)) to.push_back(several[n].instruction);
          }
        }
        for (int32_t m : to) users_[m].push_back({i, static_cast<int32_t>(k)});
      }
      for_each_result(ins, [&](int32_t r) { define(live, i, r); });
    }
  }
}

}  // namespace assay::ptx
