#include "devices/ptx/cfg.hpp"

#include <algorithm>

namespace assay::ptx {
namespace {

bool ends_block(const Instruction& instruction) {
  switch (instruction.op) {
    case Op::bra:
    case Op::brx:
    case Op::ret:
    case Op::exit:
    case Op::trap:
      return true;
    default:
      return false;
  }
}

/// The block that starts at each instruction, -1 for none.
std::vector<int32_t> mark_leaders(const Function& function) {
  const auto size = static_cast<int32_t>(function.code.size());
  std::vector<int32_t> leader(size, -1);
  const auto mark = [&](int32_t at) {
    if (at >= 0 && at < size) leader[at] = 0;
  };
  mark(0);
  for (int32_t i = 0; i < size; ++i) {
    const Instruction& instruction = function.code[i];
    if (instruction.op == Op::bra) mark(instruction.target);
    for (const int32_t target : instruction.targets) mark(target);
    if (ends_block(instruction)) mark(i + 1);
  }
  int32_t next = 0;
  for (int32_t& number : leader) {
    if (number == 0) number = next++;
  }
  return leader;
}

/// Strongly connected components of the blocks in `nodes`, by Tarjan's algorithm without recursion,
/// entered at `entry` first; returned in reverse topological order. Edges into blocks outside
/// `region` (by its number) are ignored.
class Components {
 public:
  Components(const Graph& graph, const std::vector<int32_t>& region)
      : graph_(graph),
        region_(region),
        index_(graph.size(), -1),
        low_(graph.size()),
        on_stack_(graph.size()) {}

  void run(int32_t entry, int32_t region, int32_t cut, std::vector<std::vector<int32_t>>& out) {
    enter(entry);
    while (!calls_.empty()) {
      const int32_t node = calls_.back().first;
      size_t& next = calls_.back().second;
      if (next < graph_[node].size()) {
        const int32_t to = graph_[node][next++];
        if (region_[to] != region || to == cut) continue;
        if (index_[to] < 0) {
          enter(to);
        } else if (on_stack_[to]) {
          low_[node] = std::min(low_[node], index_[to]);
        }
        continue;
      }
      calls_.pop_back();
      if (!calls_.empty()) {
        int32_t& low = low_[calls_.back().first];
        low = std::min(low, low_[node]);
      }
      if (low_[node] == index_[node]) out.push_back(pop_component(node));
    }
  }
  bool visited(int32_t node) const { return index_[node] >= 0; }
  void forget(const std::vector<int32_t>& nodes) {
    for (const int32_t node : nodes) index_[node] = -1;
  }

 private:
  void enter(int32_t node) {
    index_[node] = low_[node] = counter_++;
    on_stack_[node] = 1;
    stack_.push_back(node);
    calls_.emplace_back(node, 0);
  }
  /// The component's root first.
  std::vector<int32_t> pop_component(int32_t root) {
    std::vector<int32_t> component;
    int32_t node;
    do {
      node = stack_.back();
      stack_.pop_back();
      on_stack_[node] = 0;
      component.push_back(node);
    } while (node != root);
    std::reverse(component.begin(), component.end());
    return component;
  }

  const Graph& graph_;
  const std::vector<int32_t>& region_;
  std::vector<int32_t> index_, low_;
  std::vector<uint8_t> on_stack_;
  std::vector<int32_t> stack_;
  std::vector<std::pair<int32_t, size_t>> calls_;
  int32_t counter_ = 0;
};

/// Position of each block in plain reverse post-order; blocks that are not reached keep 0.
std::vector<int32_t> reverse_post_order(const Graph& graph) {
  std::vector<int32_t> position(graph.size(), 0);
  std::vector<uint8_t> seen(graph.size(), 0);
  std::vector<std::pair<int32_t, size_t>> calls{{0, 0}};
  seen[0] = 1;
  auto next = static_cast<int32_t>(graph.size());
  while (!calls.empty()) {
    const int32_t node = calls.back().first;
    if (calls.back().second == graph[node].size()) {
      position[node] = --next;
      calls.pop_back();
      continue;
    }
    const int32_t to = graph[node][calls.back().second++];
    if (!seen[to]) {
      seen[to] = 1;
      calls.emplace_back(to, 0);
    }
  }
  return position;
}

/// Bourdoncle's weak topological order (Formal Methods in Programming and Their Applications, LNCS
/// 735, 1993), with an explicit stack. Components are laid out in topological order; a component of
/// several blocks is its entry, then the same again for the rest of it without the edges back to
/// the entry. Loops that are nested more than kMaxNesting deep keep plain reverse post-order, which
/// bounds the time by blocks times kMaxNesting.
std::vector<int32_t> loop_order(const Graph& graph) {
  constexpr int kMaxNesting = 64;
  struct Pending {
    std::vector<int32_t> component;
    int nesting;
  };
  std::vector<int32_t> region(graph.size(), 0), order;
  const std::vector<int32_t> position = reverse_post_order(graph);
  Components components(graph, region);
  int32_t regions = 1;
  std::vector<Pending> pending;
  std::vector<std::vector<int32_t>> found;
  const auto push = [&](int nesting) {
    // Tarjan's order is reversed, which is what a stack wants: the topologically first on top.
    for (auto& component : found) pending.push_back({std::move(component), nesting});
    found.clear();
  };
  components.run(0, 0, -1, found);
  push(0);
  while (!pending.empty()) {
    auto [component, nesting] = std::move(pending.back());
    pending.pop_back();
    if (nesting == kMaxNesting) {
      std::sort(component.begin(), component.end(),
                [&](int32_t a, int32_t b) { return position[a] < position[b]; });
      order.insert(order.end(), component.begin(), component.end());
      continue;
    }
    const int32_t entry = component[0];
    order.push_back(entry);
    if (component.size() == 1) continue;
    for (const int32_t node : component) region[node] = regions;
    components.forget(component);
    // Reaching the rest from the entry's successors visits all: the component is connected.
    for (const int32_t to : graph[entry]) {
      if (region[to] == regions && to != entry && !components.visited(to)) {
        components.run(to, regions, entry, found);
      }
    }
    ++regions;
    push(nesting + 1);
  }
  return order;
}

void set_orders(Function& function) {
  const auto count = static_cast<int32_t>(function.blocks.size());
  Graph graph(count);
  for (int32_t i = 0; i < count; ++i) {
    // The taken side first: then the fall-through comes out first in reverse post-order.
    graph[i] = successors_of(function, function.blocks[i]);
    std::reverse(graph[i].begin(), graph[i].end());
  }
  int32_t next = 0;
  for (BasicBlock& block : function.blocks) block.order = -1;
  for (const int32_t block : loop_order(graph)) function.blocks[block].order = next++;
  for (BasicBlock& block : function.blocks) {
    if (block.order < 0) block.order = next++;
  }
  for (int32_t i = 0; i < count; ++i) {
    for (const int32_t to : graph[i]) {
      function.blocks[i].back_edge |= function.blocks[to].order <= function.blocks[i].order;
    }
  }
}

}  // namespace

std::vector<int32_t> successors_of(const Function& function, const BasicBlock& block) {
  std::vector<int32_t> result;
  for (const int32_t successor : block.successors) {
    if (successor >= 0) result.push_back(successor);
  }
  const Instruction& last = function.code[block.last - 1];
  result.insert(result.end(), last.targets.begin(), last.targets.end());
  return result;
}

std::vector<std::vector<int32_t>> strongly_connected(const Graph& graph) {
  const std::vector<int32_t> region(graph.size(), 0);
  Components components(graph, region);
  std::vector<std::vector<int32_t>> out;
  for (size_t node = 0; node < graph.size(); ++node) {
    if (!components.visited(static_cast<int32_t>(node)))
      components.run(static_cast<int32_t>(node), 0, -1, out);
  }
  return out;
}

bool falls_through(const Instruction& instruction) {
  return instruction.guard >= 0 || !ends_block(instruction);
}

void build_blocks(Function& function) {
  if (function.code.empty()) return;
  const auto leader = mark_leaders(function);
  const auto size = static_cast<int32_t>(function.code.size());
  for (int32_t i = 0; i < size; ++i) {
    if (leader[i] >= 0) {
      if (!function.blocks.empty()) function.blocks.back().last = i;
      function.blocks.push_back({i, size});
    }
    Instruction& instruction = function.code[i];
    if (instruction.op == Op::bra && instruction.target >= 0) {
      instruction.target = leader[instruction.target];
    }
    for (int32_t& target : instruction.targets) target = leader[target];
  }
  for (size_t i = 0; i < function.blocks.size(); ++i) {
    BasicBlock& block = function.blocks[i];
    const Instruction& last = function.code[block.last - 1];
    if (falls_through(last) && i + 1 < function.blocks.size()) {
      block.successors[0] = static_cast<int32_t>(i) + 1;
    }
    if (last.op == Op::bra) block.successors[1] = last.target;
  }
  set_orders(function);
}

}  // namespace assay::ptx
