// Walks a case's outputs box by box, and keeps its verdict.
#include "oracles/case_judge.hpp"

#include <algorithm>
#include <utility>

namespace assay {
namespace {

constexpr size_t kWrongListed = 4096;
/// Elements of a chunk's largest array: its rows stay within the second-level cache.
constexpr int64_t kChunkElements = 4096;

}  // namespace

Verdict CaseJudge::run() {
  rows_.start(instance_, &outputs_, settings_);
  for (const Tensor& tensor : instance_.tensors)
    if (tensor.present && tensor.is_judged()) judge_output(tensor);
  conclude();
  return std::move(verdict_);
}

void CaseJudge::judge_output(const Tensor& tensor) {
  root_ = nullptr;
  for (const FormulaRoot& root : formula_.graph.roots)
    if (root.operand == tensor.position) root_ = &root;
  output_ = &tensor;
  for (const Box& box : owned_elements(instance_, tensor)) {
    std::vector<int64_t> low;
    std::vector<int64_t> extent;
    for (const auto& [first, last] : box.ranges) {
      low.push_back(first);
      extent.push_back(last - first);
    }
    if (box.elements() > 0) split(low, extent);
  }
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
  verdict_.unwritten += missing;
  if (missing > 0) list_unwritten();
  if (root_ == nullptr) return;
  chunk_ = chunk_for(formula_.graph, rows_, *output_, low, extent);
  verdict_.judged += count_ - missing;
  if (root_->raw_node >= 0)
    judge_bits();
  else if (is_floating(output_->dtype))
    judge_reals();
  else
    judge_integers();
  if (rows_.saw_undecided_nan()) ask(kAskNan);
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

void CaseJudge::ask(const char* line) {
  auto& lines = verdict_.missing_policies;
  if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.emplace_back(line);
}

void CaseJudge::list_unwritten() {
  if (!verdict_.first_output.empty() && verdict_.first_output != output_->spec->name) return;
  if (verdict_.rule.empty()) {
    verdict_.rule = "R1";
    verdict_.first_output = output_->spec->name;
  }
  for (int64_t k = 0; k < count_ && verdict_.wrong_elements.size() < kWrongListed; ++k)
    if (written_[static_cast<size_t>(k)] == 0) list(k);
}

void CaseJudge::list(int64_t place) {
  if (verdict_.first_output == output_->spec->name && verdict_.wrong_elements.size() < kWrongListed)
    verdict_.wrong_elements.push_back(output_->linear(coordinates(place)));
}

void CaseJudge::wrong(int64_t place, const char* rule, double times) {
  ++verdict_.wrong;
  if (verdict_.rule.empty() || verdict_.rule == "R1") {
    // A wrong value goes before elements of another output that nothing was stored to.
    if (verdict_.first_output != output_->spec->name) verdict_.wrong_elements.clear();
    verdict_.first_output = output_->spec->name;
    verdict_.rule = rule;
  }
  list(place);
  if (verdict_.worst_element >= 0 && !(times > verdict_.worst_times)) return;
  verdict_.worst_times = times;
  verdict_.worst_output = output_->spec->name;
  verdict_.worst_element = output_->linear(coordinates(place));
}

void CaseJudge::conclude() {
  Verdict& v = verdict_;
  if (v.wrong > 0) {
    v.outcome = Outcome::mismatch;
    v.message = v.first_output + ": " + std::to_string(v.wrong) + " of " +
                std::to_string(v.judged) + " elements wrong";
    if (v.unwritten > 0) v.message += ", " + std::to_string(v.unwritten) + " unwritten";
  } else if (v.unwritten > 0) {
    v.outcome = Outcome::mismatch;
    v.rule = "R1";
    v.message = v.first_output + ": " + (v.judged == 0 ? "all " : "") +
                std::to_string(v.unwritten) + " elements unwritten";
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
  for (const Tensor& tensor : instance_.tensors)
    if (tensor.present && tensor.is_judged())
      for (const Box& box : owned_elements(instance_, tensor))
        if (box.elements() > 0) return true;
  return false;
}

}  // namespace assay
