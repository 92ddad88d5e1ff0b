// Walks a case's outputs box by box, and keeps its verdict.
#include "oracles/case_judge.hpp"

#include <algorithm>
#include <utility>

#include "generators/unowned.hpp"
#include "oracles/relations/relation.hpp"
#include "oracles/scatter.hpp"
#include "oracles/untouched.hpp"

namespace assay {
namespace {

/// Elements of a chunk's largest array: its rows stay within the second-level cache.
constexpr int64_t kChunkElements = 4096;

/// "y: 2 of 9 elements wrong, 1 unwritten; s: all 4 elements unwritten", the output of the first
/// wrong element first.
std::string counts_text(const Verdict& verdict) {
  std::string first;
  std::string rest;
  for (const OutputCounts& o : verdict.outputs) {
    std::string text;
    const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
    if (o.wrong > 0)
      add(std::to_string(o.wrong) + " of " + std::to_string(o.judged) + " elements wrong");
    const auto elements = [&text](int64_t count) {
      const char* unit = count == 1 ? " element" : " elements";
      return std::to_string(count) + (text.empty() ? unit : "");
    };
    if (o.disturbed > 0) add(elements(o.disturbed) + " stored to that had to keep their bits");
    if (o.unwritten > 0)
      add((o.judged == 0 ? "all " : "") + elements(o.unwritten) + " unwritten");
    if (text.empty()) continue;
    (o.output == verdict.first_output ? first : rest) += "; " + o.output + ": " + text;
  }
  return (first + rest).substr(2);
}

Box box_of(const std::vector<int64_t>& at) {
  Box box;
  for (const int64_t coordinate : at) box.ranges.emplace_back(coordinate, coordinate + 1);
  return box;
}

}  // namespace

Verdict judge_case(CaseState& state) {
  CaseJudge(state).run();
  return std::move(state.tally.verdict);
}

void CaseJudge::run() {
  rows_.start(instance_, &outputs_, settings_);
  for (const Tensor& tensor : instance_.tensors)
    if (tensor.present && tensor.is_judged()) judge_output(tensor);
  for (const RelationRoot& relation : formula_.graph.relations) judge_relation(state_, relation);
  conclude();
}

void CaseJudge::judge_output(const Tensor& tensor) {
  if (judged_by_relation(contract_, tensor)) return;
  root_ = nullptr;
  for (const FormulaRoot& root : formula_.graph.roots)
    if (root.operand == tensor.position) root_ = &root;
  output_ = &tensor;
  if (root_ != nullptr && root_->scatters) return judge_scatter(state_, *root_, tensor);
  share_ = 0;
  const Box valid = valid_box(instance_, outputs_, tensor);
  std::vector<Box> boxes = owned_elements(instance_, tensor);
  // What no block of the grid owns stays as it was, whichever blocks run: one element tells.
  if (!instance_.the_case.blocks.empty()) {
    if (const auto at = unowned_element(instance_, tensor)) boxes.push_back(box_of(*at));
  }
  for (const Box& box : boxes) {
    std::vector<int64_t> low;
    std::vector<int64_t> extent;
    for (const auto& [first, last] : intersection(box, valid).ranges) {
      low.push_back(first);
      extent.push_back(last - first);
    }
    if (intersection(box, valid).elements() > 0) split(low, extent);
  }
  if (share_ > 0) state_.tally.used(tensor, share_);
  if (!tensor.spec->valid.empty())
    judge_untouched(state_, tensor, "R18", "it lies outside of what is valid",
                    [&](int64_t logical) { return valid.holds(tensor.coordinates(logical)); });
}

void CaseJudge::split(std::vector<int64_t> low, std::vector<int64_t> extent) {
  if (largest_array(low, extent) > kChunkElements) {
    for (size_t k = 0; k < extent.size(); ++k) {
      if (extent[k] <= 1 || fixed_whole(k)) continue;
      const int64_t half = extent[k] / 2;
      auto low_right = low;
      auto right = extent;
      low_right[k] += half;
      right[k] -= half;
      extent[k] = half;
      split(low, extent);
      split(std::move(low_right), std::move(right));
      return;
    }
  }
  judge_chunk(low, extent);
}

bool CaseJudge::fixed_whole(size_t axis) const {
  if (root_ == nullptr) return false;
  const auto& dims = formula_.graph.dims;
  const auto found = std::find(dims.begin(), dims.end(), output_->dims[axis]);
  return found != dims.end() && formula_.graph.reduced_dim(static_cast<int>(found - dims.begin()));
}

int64_t CaseJudge::largest_array(const std::vector<int64_t>& low,
                                 const std::vector<int64_t>& extent) const {
  int64_t most = 1;
  for (const int64_t e : extent) most *= e;
  if (root_ == nullptr || root_->raw_node >= 0) return most / 16;
  const Chunk chunk = chunk_for(formula_.graph, rows_, *output_, low, extent);
  for (const Node& node : formula_.graph.nodes) {
    int64_t size = 1;
    for (const int dim : node.dims) size *= chunk.extent[static_cast<size_t>(dim)];
    if (node.op != Op::load) most = std::max(most, size);
  }
  return most;
}

void CaseJudge::judge_chunk(const std::vector<int64_t>& low, const std::vector<int64_t>& extent) {
  low_ = &low;
  extent_ = &extent;
  count_ = 1;
  for (const int64_t e : extent) count_ *= e;
  bits_.resize(static_cast<size_t>(count_ * byte_size(output_->dtype)));
  written_.assign(static_cast<size_t>(count_), 0);
  read_box(instance_, &outputs_, *output_, low, extent, bits_.data(), written_.data());
  const int64_t missing = std::count(written_.begin(), written_.end(), uint8_t{0});
  if (missing > 0) list_unwritten();
  if (root_ == nullptr) return;
  chunk_ = chunk_for(formula_.graph, rows_, *output_, low, extent);
  state_.tally.judged(*output_, count_ - missing);
  if (root_->raw_node >= 0)
    judge_bits();
  else if (is_floating(output_->dtype))
    judge_reals();
  else
    judge_integers();
  if (rows_.saw_undecided_nan() && !contract_.policy.nan) ask(kAskNan);
}

std::vector<int64_t> CaseJudge::coordinates(int64_t place) const {
  std::vector<int64_t> at(extent_->size());
  for (size_t k = at.size(); k-- > 0;) {
    at[k] = (*low_)[k] + place % (*extent_)[k];
    place /= (*extent_)[k];
  }
  return at;
}

Grid CaseJudge::output_grid() const {
  Grid grid;
  const auto& dims = formula_.graph.dims;
  for (size_t k = 0; k < extent_->size(); ++k) {
    const auto found = std::find(dims.begin(), dims.end(), output_->dims[k]);
    grid.dims.push_back(found == dims.end() ? -1 - static_cast<int>(k)
                                            : static_cast<int>(found - dims.begin()));
    grid.low.push_back((*low_)[k]);
    grid.extent.push_back((*extent_)[k]);
    grid.size *= (*extent_)[k];
  }
  return grid;
}

void CaseJudge::list_unwritten() {
  for (int64_t k = 0; k < count_; ++k)
    if (written_[static_cast<size_t>(k)] == 0)
      state_.tally.unwritten(*output_, output_->linear(coordinates(k)));
}

void CaseJudge::conclude() {
  Verdict& v = verdict_;
  if (v.wrong > 0 || v.unwritten > 0) {
    v.outcome = Outcome::mismatch;
    if (v.wrong > 0) state_.tally.withdraw(kAskSubnormals);
    if (v.wrong == 0) v.rule = "R1";
    v.message = counts_text(v);
  } else if (v.undecided > 0) {
    v.outcome = Outcome::undecided;
    v.rule = "R6";
    v.message = std::to_string(v.undecided) + " elements undecided in the last tier";
  } else if (v.judged > 0 && v.no_bound == v.judged) {
    v.outcome = Outcome::skipped;
    v.rule = "R10";
    v.message = "no documented bound for any element (R10)";
  } else if (v.judged == 0 && owned_without_formula()) {
    v.outcome = Outcome::skipped;
    v.message = "no formula for any output";
  }
}

bool CaseJudge::owned_without_formula() const {
  const auto may_name_nothing = [this](const Tensor& tensor) {
    const auto& roots = formula_.graph.roots;
    const bool scatters = std::any_of(roots.begin(), roots.end(), [&](const FormulaRoot& root) {
      return root.operand == tensor.position && root.scatters;
    });
    return scatters || !tensor.spec->valid.empty() || judged_by_relation(contract_, tensor);
  };
  for (const Tensor& tensor : instance_.tensors)
    if (tensor.present && tensor.is_judged() && !may_name_nothing(tensor))
      for (const Box& box : owned_elements(instance_, tensor))
        if (box.elements() > 0) return true;
  return false;
}

}  // namespace assay
