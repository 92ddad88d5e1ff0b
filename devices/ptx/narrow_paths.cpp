// What narrow chains are told by: formats, places in the source, loops that were gone around, and
// the store that a sum reaches.
#include <algorithm>

#include "devices/ptx/cfg.hpp"
#include "devices/ptx/narrow_chains.hpp"

namespace assay::ptx {

int precision_of(Type type) {
  switch (type) {
    case Type::f64:
      return 53;
    case Type::f32:
      return 24;
    case Type::tf32:
    case Type::f16:
    case Type::f16x2:
      return 11;
    case Type::bf16:
    case Type::bf16x2:
      return 8;
    case Type::e4m3:
    case Type::e4m3x2:
      return 4;
    case Type::e5m2:
    case Type::e5m2x2:
      return 3;
    default:
      return 0;
  }
}

bool same_place(const Function& function, int32_t a, int32_t b) {
  int32_t x = function.code[a].line, y = function.code[b].line;
  while (x >= 0 && y >= 0 && x != y) {
    const SourceLine &p = function.lines[x], &q = function.lines[y];
    if (p.file != q.file || p.line != q.line || p.column != q.column) return false;
    x = p.inlined_at;
    y = q.inlined_at;
  }
  return x == y && function.code[a].line >= 0;
}

bool went_around(const Function& function, std::pair<int32_t, int32_t> loop,
                 const std::function<int64_t(int32_t)>& entries) {
  if (loop.first < 0) return false;
  const int32_t first = function.blocks[loop.first].order;
  const int32_t last = function.blocks[loop.second].order;
  int64_t from_before = 0;
  for (size_t b = 0; b < function.blocks.size(); ++b) {
    const int32_t order = function.blocks[b].order;
    if (order >= first && order <= last) continue;
    const std::vector<int32_t> next = successors_of(function, function.blocks[b]);
    if (std::find(next.begin(), next.end(), loop.first) != next.end())
      from_before += entries(static_cast<int32_t>(b));
  }
  return entries(loop.first) > from_before;
}

int32_t reached_store(const DataFlow& flow, int32_t from, const std::function<bool(int32_t)>& ran) {
  const std::vector<Instruction>& code = flow.function().code;
  std::vector<uint8_t> seen(code.size(), 0);
  std::vector<int32_t> open;
  bool in_memory = false;  // shared or local memory may hold it
  const auto reach = [&](int32_t i) {
    if (seen[i]) return;
    seen[i] = 1;
    open.push_back(i);
  };
  const auto writes = [](const Instruction& ins) {
    return ins.op == Op::st || ins.op == Op::atom || ins.op == Op::red || ins.op == Op::stmatrix ||
           ins.wmma == Wmma::store;
  };
  const auto loads = [](const Instruction& ins) {
    return ins.op == Op::ld || ins.op == Op::ldmatrix || ins.wmma == Wmma::load;
  };
  reach(from);
  while (!open.empty()) {
    const int32_t i = open.back();
    open.pop_back();
    if (!ran(i)) continue;
    if (writes(code[i])) {
      const Space space = code[i].space;
      if (space != Space::shared && space != Space::local && code[i].op != Op::stmatrix) return i;
      if (!in_memory) {
        for (size_t l = 0; l < code.size(); ++l) {
          if (loads(code[l]) && code[l].space != Space::global && code[l].space != Space::param)
            reach(static_cast<int32_t>(l));
        }
      }
      in_memory = true;
    }
    for (const DataFlow::Use& use : flow.users(i)) {
      const Instruction& user = code[use.instruction];
      const bool is_address = use.operand == 0 && (writes(user) || loads(user));
      if (!is_address) reach(use.instruction);
    }
  }
  return -1;
}

}  // namespace assay::ptx
