#include "devices/ptx/joins.hpp"

#include <algorithm>

namespace assay::ptx {

Joins::Joins(const Code& code)
    : block_of_(code.ops.size()), nodes_(code.blocks.size()), behind_(code.blocks.size()) {
  for (size_t b = 0; b < code.blocks.size(); ++b) {
    starts_.emplace_back(code.blocks[b].pc, static_cast<int32_t>(b));
  }
  std::sort(starts_.begin(), starts_.end());
  for (size_t i = 0; i < starts_.size(); ++i) {
    Node& node = nodes_[static_cast<size_t>(starts_[i].second)];
    const auto leads = [&](int32_t to, int32_t edge) {
      node.next.push_back(to);
      nodes_[static_cast<size_t>(to)].entered_by.push_back(edge);
    };
    const int32_t end = i + 1 < starts_.size() ? starts_[i + 1].first
                                               : static_cast<int32_t>(code.ops.size());
    for (int32_t pc = starts_[i].first; pc < end; ++pc) {
      block_of_[static_cast<size_t>(pc)] = starts_[i].second;
      const MicroOp& op = code.ops[static_cast<size_t>(pc)];
      switch (op.kind) {
        case Kind::nop:
          break;
        case Kind::jump:
          leads(op.target, op.counter);
          break;
        case Kind::branch:
          leads(op.target, op.counter);
          leads(op.other, op.counter - 1);
          node.last_work = pc;
          break;
        case Kind::branch_index: {
          const auto& targets = code.sites[static_cast<size_t>(op.site)].targets;
          for (size_t t = 0; t < targets.size(); ++t) {
            leads(targets[t], op.counter + static_cast<int32_t>(t));
          }
          node.last_work = pc;
          break;
        }
        case Kind::ret:
        case Kind::exit:
          node.ends = true;
          break;
        default:
          node.last_work = pc;
          break;
      }
    }
  }
}

/// Whether every way from the end of `from` to the end of the function enters `to`. A trap is no
/// end.
bool Joins::leads_through(int32_t from, int32_t to) const {
  std::vector<uint8_t> seen(nodes_.size(), 0);
  std::vector<int32_t> open{from};
  bool entered = false;
  seen[static_cast<size_t>(from)] = 1;
  while (!open.empty()) {
    const Node& node = nodes_[static_cast<size_t>(open.back())];
    open.pop_back();
    if (node.ends) return false;
    for (int32_t next : node.next) {
      entered |= next == to;
      if (next == to || seen[static_cast<size_t>(next)] != 0) continue;
      seen[static_cast<size_t>(next)] = 1;
      open.push_back(next);
    }
  }
  return entered;
}

bool Joins::reaches(int32_t from, int32_t to) const {
  std::vector<uint8_t> seen(nodes_.size(), 0);
  std::vector<int32_t> open{from};
  while (!open.empty()) {
    const Node& node = nodes_[static_cast<size_t>(open.back())];
    open.pop_back();
    for (int32_t next : node.next) {
      if (next == to) return true;
      if (seen[static_cast<size_t>(next)] != 0) continue;
      seen[static_cast<size_t>(next)] = 1;
      open.push_back(next);
    }
  }
  return false;
}

bool Joins::passed(int32_t here, int32_t there) {
  const int32_t from = block_of_[static_cast<size_t>(here)];
  const int32_t to = block_of_[static_cast<size_t>(there)];
  if (nodes_[static_cast<size_t>(to)].last_work < there) return false;
  if (from == to && there <= here) return false;
  const uint64_t key = static_cast<uint64_t>(from) << 32 | static_cast<uint32_t>(to);
  const auto known = answers_.find(key);
  if (known != answers_.end()) return known->second;
  const bool answer = (from == to || leads_through(from, to)) && !reaches(to, from);
  answers_.emplace(key, answer);
  return answer;
}

uint32_t Joins::entries(int32_t block, const std::vector<uint32_t>& edges) const {
  uint32_t sum = 0;
  for (int32_t edge : nodes_[static_cast<size_t>(block)].entered_by) {
    sum += edges[static_cast<size_t>(edge)];
  }
  return sum;
}

const std::vector<int32_t>& Joins::behind(int32_t here) {
  const int32_t from = block_of_[static_cast<size_t>(here)];
  auto& known = behind_[static_cast<size_t>(from)];
  if (known != nullptr) return *known;
  std::vector<int32_t> blocks;
  for (const auto& [pc, block] : starts_) {
    const bool room = blocks.size() < kMostBehind;
    if (room && block != from && passed(here, pc)) blocks.push_back(block);
  }
  known = std::make_unique<const std::vector<int32_t>>(std::move(blocks));
  return *known;
}

}  // namespace assay::ptx
