// What a correct kernel's elements may hold where an operation of the declared form has overflowed
// (rule R7; derived in docs/judging/overflow.md).
//
// The first tier's widened reading says that an end may be infinite; what lies between the exact
// value and that infinity is not right for it. Here each node has two sets: what it holds when
// nothing has overflowed (the plain reading's enclosure), and what it may hold after some overflow
// below it or in it. Only elements that the plain reading rejects and the widened one accepts are
// looked at.
#pragma once

#include <array>
#include <vector>

#include "oracles/evaluate.hpp"
#include "oracles/overflow_set.hpp"

namespace assay {

/// set_of, and what overflow_of takes, of an element of a node's arrays.
inline OverflowSet element_set(const Value& x, int64_t k) {
  return set_of(x.v[k], element(x.e, k), element(x.lo, k), element(x.hi, k));
}

inline Deviations deviations(const Value& x, int64_t k) {
  return {element(x.lo, k), element(x.hi, k)};
}

class Overflows {
 public:
  explicit Overflows(const Graph& graph);

  /// Begins a case, or another reading of it (`settings.widen` is on), unless it is under way
  /// already. The references must live as long as the case.
  void start(int64_t case_number, const Instance& instance, const OutputReader* outputs,
             const EvaluationSettings& settings);

  /// The second set of each element of `node`, in its array over the chunk; empty where nothing
  /// that it is made of can have overflowed.
  const std::vector<OverflowSet>& at(int node, const Chunk& chunk);

 private:
  /// What an argument holds in one of the ways that it may turn out.
  enum Part { kWithout, kReals, kUp, kDown, kNan, kParts };
  /// One argument of a node; the same node twice is one argument.
  struct Argument {
    int node = -1;
    const Value* plain = nullptr;
    const std::vector<OverflowSet>* sets = nullptr;
    std::vector<int64_t> at;  ///< its element of each element of the result
    std::array<bool, kParts> has{};
  };
  /// Arrays in place of a node's own.
  struct Arrays {
    std::vector<double> v, e, lo, hi;
    void resize(size_t n) {
      for (auto* array : {&v, &e, &lo, &hi}) array->assign(n, 0.0);
    }
    void put(size_t k, const OverflowSet& set);
  };

  void evaluate(int id);
  const Value& plain(int id) { return plain_.at(id, chunk_); }
  std::vector<OverflowSet>& sets(int id) { return sets_[static_cast<size_t>(id)]; }
  bool any(int id) const { return !sets_[static_cast<size_t>(id)].empty(); }

  // overflow.cpp
  void elementwise(int id);
  std::vector<Argument> arguments_of(const Node& node, const Grid& grid);
  void combine(int id, std::vector<Argument>& arguments, std::vector<Part>& chosen);
  void one_combination(int id, const std::vector<Argument>& arguments,
                       const std::vector<Part>& chosen);
  void place(const Argument& argument, Part part, Arrays& arrays);
  void place_plain(int node);
  void apply(int id, bool widen, Value& out);

  // overflow_reductions.cpp
  void choice(int id);
  void sum(int id);
  void extremum(int id);
  void variance(int id);
  void forms(int id);
  void total(int id);
  void rescaled(int id);
  void hull(int id);
  /// All that the widened reading holds, or where no argument has overflowed what is new in it.
  void whole(int id);
  void drop_if_empty(int id);

  const Graph& graph_;
  EvaluationSettings settings_;  ///< of the widened reading
  EvaluationSettings before_;    ///< the same without `widen`
  RowEvaluator plain_;
  RowEvaluator widened_;
  RowEvaluator scratch_;  ///< of nodes whose arguments are put in place one by one
  Chunk chunk_;
  std::vector<std::vector<OverflowSet>> sets_;  ///< one a node; empty: no element has any
  std::vector<bool> evaluated_;                 ///< likewise: those are of this chunk
  std::vector<Arrays> arrays_;
  int64_t case_ = -1;
};

}  // namespace assay
