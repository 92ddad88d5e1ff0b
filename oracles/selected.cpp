#include "oracles/selected.hpp"

#include <algorithm>
#include <vector>

#include "oracles/walk.hpp"

namespace assay {
namespace {

/// Marks what reaches some elements, from their node down to the operands.
class Selection {
 public:
  Selection(const Graph& graph, RowEvaluator& rows, const Chunk& chunk, int top)
      : graph_(graph), rows_(rows), chunk_(chunk), marks_(static_cast<size_t>(top) + 1) {}

  bool any(int top, std::span<const int64_t> positions, const std::function<bool(double)>& holds) {
    for (const int64_t position : positions) of(top)[static_cast<size_t>(position)] = 1;
    for (int id = top; id >= 0; --id) {
      const Node& node = graph_.nodes[static_cast<size_t>(id)];
      if (marks_[static_cast<size_t>(id)].empty()) continue;
      if (node.op == Op::load || node.op == Op::gather) {
        if (any_marked(id, holds)) return true;
      } else if (node.op == Op::where) {
        branch(id, node, 1);
        branch(id, node, 2);
      } else if (node.op == Op::hull || node.op == Op::rescaled || node.op == Op::sum) {
        pass(id, node.args[0], -1, false);  // the others, without their masks, are there for bounds
      } else {
        for (const int arg : node.args) pass(id, arg, -1, false);
      }
    }
    return false;
  }

 private:
  Grid grid(int id) const { return grid_of(graph_.nodes[static_cast<size_t>(id)].dims, chunk_); }

  std::vector<uint8_t>& of(int id) {
    std::vector<uint8_t>& marks = marks_[static_cast<size_t>(id)];
    if (marks.empty()) marks.assign(static_cast<size_t>(grid(id).size), 0);
    return marks;
  }

  bool any_marked(int id, const std::function<bool(double)>& holds) {
    const Value& value = rows_.at(id, chunk_);
    const std::vector<uint8_t>& marks = of(id);
    for (size_t k = 0; k < marks.size(); ++k)
      if (marks[k] != 0 && holds(value.v[k])) return true;
    return false;
  }

  void branch(int id, const Node& node, size_t which) {
    pass(id, node.args[which], node.args[0], which == 1);
  }

  /// Passes the marks of a node on to an argument: elements beside each other, and of dimensions
  /// that the node reduces every one. With a condition only where that may have this value.
  void pass(int id, int arg, int condition, bool wanted) {
    const Node& argument = graph_.nodes[static_cast<size_t>(arg)];
    if (argument.integral) return;  // no NaN and no infinity comes of integers
    std::vector<int> dims = graph_.nodes[static_cast<size_t>(id)].dims;
    for (const int dim : argument.dims)
      if (std::find(dims.begin(), dims.end(), dim) == dims.end()) dims.push_back(dim);
    const Value* chooses = condition < 0 ? nullptr : &rows_.at(condition, chunk_);
    const auto taken = [&](int64_t k) {
      if (chooses == nullptr) return true;
      const bool known = chooses->status == nullptr || chooses->status[k] == kKnown;
      return !known || (chooses->i[k] != 0) == wanted;
    };
    const std::vector<uint8_t>& from = of(id);
    std::vector<uint8_t>& to = of(arg);
    const Grid own = grid(id);
    const Grid others = grid(arg);
    const Grid conditions = condition < 0 ? Grid{} : grid(condition);
    for_runs<3>(grid_of(dims, chunk_), {&own, &others, &conditions},
                [&](int64_t, int64_t n, const auto& offset, const auto& stride) {
                  for (int64_t k = 0; k < n; ++k)
                    if (from[static_cast<size_t>(offset[0] + k * stride[0])] != 0 &&
                        taken(offset[2] + k * stride[2]))
                      to[static_cast<size_t>(offset[1] + k * stride[1])] = 1;
                });
  }

  const Graph& graph_;
  RowEvaluator& rows_;
  const Chunk& chunk_;
  std::vector<std::vector<uint8_t>> marks_;
};

}  // namespace

bool any_selected(const Graph& graph, RowEvaluator& rows, const Chunk& chunk, int top,
                  std::span<const int64_t> positions, const std::function<bool(double)>& holds) {
  return Selection(graph, rows, chunk, top).any(top, positions, holds);
}

}  // namespace assay
