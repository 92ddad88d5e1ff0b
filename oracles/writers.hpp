// Who writes what: the points of a scatter's index nodes, and the places that they name.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "oracles/case_judge.hpp"

namespace assay {

/// A *writer* is a point of the index nodes' dimensions. It names a *slot*, one choice of the
/// output's axes that are indexed or that the writer's dimensions fix; the other axes are the
/// slot's *row*.
class Writers {
 public:
  /// What an explanation accepts of a slot in doubt.
  static constexpr const char* kAnything = "anything: a correct kernel may find another index";

  Writers(CaseState& state, const FormulaRoot& root, const Tensor& output);

  int64_t count() const { return static_cast<int64_t>(slots_.size()); }
  /// The slot that a writer names; -1: none.
  int64_t slot(int64_t writer) const { return slots_[static_cast<size_t>(writer)]; }
  /// Slots that some writer names, ascending.
  const std::vector<int64_t>& named() const { return named_; }
  /// Position of a slot in named(); -1 when nobody names it.
  int64_t find(int64_t slot) const;
  /// Whether some writer whose index is not known may name the slot: it may hold that one's value.
  bool in_doubt(int64_t slot) const;
  bool may_be_named(int64_t slot) const;
  /// Slots in doubt that some writer names or is known to reach, ascending; any slot may be in
  /// doubt besides (in_doubt).
  const std::vector<int64_t>& doubtful() const { return doubtful_; }
  /// How many writers name named()[k].
  int64_t writers_of(int64_t k) const { return counts_[static_cast<size_t>(k)]; }

  int64_t row_size() const { return row_size_; }
  /// Logical index of element `k` of the row of a slot.
  int64_t logical(int64_t slot, int64_t k) const;
  /// The slot and the place in its row of a logical index.
  std::pair<int64_t, int64_t> place(int64_t logical) const;

  /// Calls visit(value, writer, k, at): `value` is node's array over a slice of writers, `at` the
  /// place in it of writer's element k of the row. Writers that name nothing are left out. Nothing
  /// else may be evaluated meanwhile.
  using Visit = std::function<void(const Value& value, int64_t writer, int64_t k, int64_t at)>;
  void each_value(int node, const Visit& visit);

  /// The chunk that fixes one writer and one element of its row.
  Chunk single(int64_t writer, int64_t k) const;

 private:
  struct Axis {
    int64_t extent = 1;
    int dim = -1;  ///< of the graph; -1: unnamed, or indexed
    int64_t step = 1;
  };
  Chunk writer_chunk() const;  ///< every dimension in full
  void find_axes(const FormulaRoot& root);
  void find_slots(const FormulaRoot& root);
  void add(int64_t writer, int64_t offset);
  void gather_slots();
  /// The writer's index on an axis lies in the range.
  void doubt(int64_t writer, const WideRange& range, int64_t extent, int64_t step);

  CaseState& state_;
  const Graph& graph_;
  const Tensor& output_;
  std::vector<int> dims_;             ///< of a writer
  std::vector<int64_t> dim_extents_;  ///< of these
  std::vector<Axis> axes_;            ///< of the output
  std::vector<int> slot_axes_;
  std::vector<int> row_axes_;
  int64_t row_size_ = 1;
  std::vector<int64_t> slots_;
  std::vector<int64_t> named_;
  std::vector<int64_t> counts_;
  std::map<int64_t, std::vector<int64_t>> possible_;  ///< by writer: slots that it may name
  std::set<int64_t> anywhere_;                        ///< writers that may name any
  std::vector<int64_t> doubtful_;
};

}  // namespace assay
