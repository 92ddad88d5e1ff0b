// Memory and dispatch of the first tier; each kind of operation has a file of its own
// (node_work.hpp).
#include "oracles/evaluate.hpp"

#include <algorithm>
#include <cmath>

#include "oracles/node_work.hpp"

namespace assay {

Grid grid_of(const std::vector<int>& dims, const Chunk& chunk) {
  Grid grid;
  grid.dims = dims;
  for (const int dim : dims) {
    grid.low.push_back(chunk.low[static_cast<size_t>(dim)]);
    grid.extent.push_back(chunk.extent[static_cast<size_t>(dim)]);
    grid.size *= grid.extent.back();
  }
  return grid;
}

RowEvaluator::RowEvaluator(const Graph& graph)
    : graph_(graph), values_(graph.nodes.size()), buffers_(std::make_unique<Buffers>()) {}
RowEvaluator::~RowEvaluator() = default;

void RowEvaluator::start(const Instance& instance, const OutputReader* outputs,
                         const EvaluationSettings& settings) {
  instance_ = &instance;
  outputs_ = outputs;
  ++case_number_;
  find_extents();
  whole_.resize(instance.tensors.size());
  for (WholeOperand& whole : whole_) {
    whole.loaded = false;
    whole.asked = 0;
  }
  restart(settings);
}

void RowEvaluator::restart(const EvaluationSettings& settings) {
  settings_ = settings;
  kernels_ = settings.kernels != nullptr ? settings.kernels : &rows::kernels();
  saw_undecided_nan_ = false;
  ++reading_number_;
  for (Value& value : values_) value.valid = false;
}

RowEvaluator& RowEvaluator::beside() {
  if (beside_ == nullptr) beside_ = std::make_unique<RowEvaluator>(graph_);
  if (reading_beside_ != reading_number_) beside_->start(*instance_, outputs_, settings_);
  reading_beside_ = reading_number_;
  return *beside_;
}

void RowEvaluator::find_extents() {
  extents_.assign(graph_.dims.size(), -1);
  for (size_t d = 0; d < graph_.dims.size(); ++d) {
    for (const Tensor& tensor : instance_->tensors)
      for (size_t axis = 0; axis < tensor.dims.size() && tensor.present; ++axis)
        if (tensor.dims[axis] == graph_.dims[d]) extents_[d] = tensor.shape[axis];
    if (extents_[d] >= 0) continue;
    const auto size = instance_->names.find(graph_.dims[d]);
    extents_[d] = size == instance_->names.end() ? 1 : size->second;
  }
}

const Value& RowEvaluator::at(int id, const Chunk& chunk) {
  const Node& node = graph_.nodes[static_cast<size_t>(id)];
  Value& value = values_[static_cast<size_t>(id)];
  if (value.valid && value.grid == grid_of(node.dims, chunk)) {
    // These share arrays with their first argument.
    if (node.op != Op::settle && node.op != Op::rescaled && node.op != Op::hull &&
        node.op != Op::total && node.op != Op::forms)
      return value;
    const Value& source = at(node.args[0], chunk);
    if (source.generation == value.source_generation) return value;
  }
  // Arguments first: they may hold the same buffers only through settle, which keeps their arrays.
  for (const int arg : node.args) at(arg, chunk);
  evaluate(node, chunk, value);
  value.valid = true;
  ++value.generation;
  return value;
}

void RowEvaluator::evaluate(const Node& node, const Chunk& chunk, Value& out) {
  out.grid = grid_of(node.dims, chunk);
  out.v = out.e = out.lo = out.hi = nullptr;
  out.i = nullptr;
  out.status = nullptr;
  out.i_high = nullptr;
  out.settled = nullptr;
  out.least = -HUGE_VAL;
  out.joining.clear();
  NodeWork(*this, node, out, chunk).evaluate();
  out.of_settled = out.settled != nullptr;
  for (const int arg : node.args) out.of_settled |= values_[static_cast<size_t>(arg)].of_settled;
}

void RowEvaluator::apply(int id, const Chunk& chunk, const EvaluationSettings& settings,
                         Value& out) {
  settings_ = settings;
  evaluate(graph_.nodes[static_cast<size_t>(id)], chunk, out);
}

const Value& NodeWork::argument(size_t k) const {
  return evaluator_.values_[static_cast<size_t>(node_.args[k])];
}

const Node& NodeWork::argument_node(size_t k) const {
  return evaluator_.graph_.nodes[static_cast<size_t>(node_.args[k])];
}

bool NodeWork::errs() const {
  return &node_ - evaluator_.graph_.nodes.data() < evaluator_.settings_.erring;
}

void NodeWork::evaluate() {
  switch (node_.op) {
    case Op::literal:
    case Op::named:
    case Op::extent:
      return constant();
    case Op::dim_index:
      return dim_index();
    case Op::load:
    case Op::gather:
      return load();
    case Op::sum:
    case Op::max:
    case Op::min:
    case Op::mean:
    case Op::var:
      return node_.integral ? integer_reduction() : reduction();
    case Op::argmax:
    case Op::argmin:
      return index_of_extremum();
    case Op::cumsum:
      return node_.integral ? integer_scan() : scan();
    case Op::cast:
      return argument_node(0).integral ? integer_conversion() : conversion();
    case Op::less:
    case Op::less_equal:
    case Op::equal:
    case Op::not_equal:
      return argument_node(0).integral ? integers() : comparison();
    case Op::where:
      return node_.integral ? integers() : choice();
    case Op::to_real:
      return from_integers();
    case Op::settle:
      return settle();
    case Op::rescaled:
      return rescaled();
    case Op::hull:
      return hull();
    case Op::total:
      return total();
    case Op::forms:
      return forms();
    case Op::function:
      return node_.integral ? special_value() : function();
    default:
      return node_.integral ? integers() : elementwise();
  }
}

void NodeWork::flags(int seen) {
  if ((seen & rows::kAnyError) == 0) out_.e = nullptr;
  if ((seen & rows::kAnyAllowance) == 0) out_.lo = out_.hi = nullptr;
}

rows::Out NodeWork::arrays() {
  const int64_t size = std::max<int64_t>(out_.grid.size, 1);
  rows::Out out{out_.own_v.get(size), out_.own_e.get(size), out_.own_lo.get(size),
                out_.own_hi.get(size)};
  out_.v = out.v;
  out_.e = out.e;
  out_.lo = out.lo;
  out_.hi = out.hi;
  return out;
}

}  // namespace assay
