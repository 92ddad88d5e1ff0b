// Private to generators: a relation of `owns` with its names resolved, evaluated in interval
// arithmetic (ownership.cpp solves it).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "generators/instance.hpp"

namespace assay::ownership {

/// Closed; ends beyond 2^100 count as infinite.
struct Interval {
  __int128 low = 0;
  __int128 high = 0;
  bool single() const { return low == high; }
};
inline bool surely(Interval a) { return a.low > 0 || a.high < 0; }
inline bool surely_not(Interval a) { return a.low == 0 && a.high == 0; }

/// An operation over coordinates.
struct Node {
  enum class Op {
    constant,
    coordinate,
    negate,
    logical_not,
    add,
    sub,
    mul,
    div,
    mod,
    shl,
    shr,
    eq,
    ne,
    lt,
    le,
    gt,
    ge,
    land,
    lor,
    choose,
    minimum,
    maximum,
    ceil_div,
    div_floor,
    mod_floor,
  };
  Op op = Op::constant;
  int64_t value = 0;  ///< constant, or the coordinate's number
  int a = -1, b = -1, c = -1;
};

using BlockIndex = std::array<int64_t, 3>;
/// Of a block's linear index in the case's only launch.
BlockIndex block_index(const Instance& instance, int64_t block);

/// Between an element's coordinates and a block's index; one of the two is given, the other is what
/// boxes range over. Parts without free coordinates become constants.
class Relation {
 public:
  /// What the block owns: over the output's dimensions.
  Relation(const Instance& instance, const Tensor& output, const Ownership& owner,
           const BlockIndex& block);
  /// Who owns the element: over block.x, block.y, block.z.
  Relation(const Instance& instance, const Tensor& output, const Ownership& owner,
           const std::vector<int64_t>& element);
  Relation(const Relation&) = delete;

  int root() const { return root_; }
  const Node& node(int index) const { return nodes_[index]; }
  Interval evaluate(int index, const Box& box) const;
  bool mentions(int index, int coordinate) const;

 private:
  void resolve();
  int free_coordinate(const Expr& node) const;
  int dimension_of(const Expr& node) const;
  bool has_coordinates(const Expr& node) const;
  int compile(const Expr& node);
  int add(Node node) {
    nodes_.push_back(node);
    return static_cast<int>(nodes_.size()) - 1;
  }
  [[noreturn]] void fail(const Expr& node) const;

  const Instance& instance_;
  const Tensor& output_;
  const Ownership& owner_;
  const std::optional<BlockIndex> block_;
  const std::vector<int64_t> element_;  ///< used where there is no block_
  IntegerScope scope_;
  std::vector<Node> nodes_;
  int root_ = -1;
};

}  // namespace assay::ownership
