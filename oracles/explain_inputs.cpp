// The inputs that feed an element, those that matter most first.
#include <algorithm>
#include <cmath>

#include "oracles/explainer.hpp"
#include "oracles/number_text.hpp"
#include "oracles/walk.hpp"

namespace assay {
namespace {

constexpr size_t kInputsListed = 8;

uint64_t mask(DType type) {
  return bit_width(type) >= 64 ? ~uint64_t{0} : (uint64_t{1} << bit_width(type)) - 1;
}

}  // namespace

void Explainer::list_inputs() {
  std::vector<Feeding> found;
  const int top = root_->raw_node >= 0 ? root_->raw_node : root_->node;
  for (size_t id = 0; id < formula_.graph.nodes.size(); ++id) {
    const Node& n = formula_.graph.nodes[id];
    const bool reads =
        (n.op == Op::load || n.op == Op::gather) && (n.raw ? static_cast<int>(id) == top : true);
    if (reads && formula_.graph.feeds(static_cast<int>(id), top))
      list_operand(static_cast<int>(id), n, found);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Feeding& a, const Feeding& b) { return a.weight > b.weight; });
  for (size_t k = 0; k < std::min(found.size(), kInputsListed); ++k)
    report_.inputs.push_back({found[k].text});
}

void Explainer::list_operand(int id, const Node& n, std::vector<Feeding>& found) {
  const Tensor& tensor = instance_.tensors[static_cast<size_t>(n.operand)];
  const Value& value = rows_.at(id, whole_);
  const auto listed = static_cast<int64_t>(kInputsListed);
  std::vector<std::pair<double, int64_t>> order;
  const int64_t own = position_if_inside(value);
  for (int64_t k = 0; k < value.grid.size; ++k) {
    const double x = n.integral ? static_cast<double>(value.i[k]) : value.v[k];
    double weight = std::isfinite(x) ? std::fabs(x) : 1e308;
    if (k == own) weight = HUGE_VAL;
    order.push_back({weight, k});
  }
  const auto middle = order.begin() + std::min<int64_t>(listed, value.grid.size);
  std::partial_sort(order.begin(), middle, order.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  for (auto it = order.begin(); it != middle; ++it)
    found.push_back({it->first, input_text(n, tensor, value, it->second)});
}

int64_t Explainer::position_if_inside(const Value& value) const {
  const int64_t k = position(value);
  return k >= 0 && k < value.grid.size ? k : -1;
}

std::string Explainer::input_text(const Node& n, const Tensor& tensor, const Value& value,
                                  int64_t k) {
  std::vector<int64_t> place(value.grid.dims.size());
  int64_t rest = k;
  for (size_t d = place.size(); d-- > 0;) {
    place[d] = value.grid.low[d] + rest % value.grid.extent[d];
    rest /= value.grid.extent[d];
  }
  std::string text = tensor.spec->name;
  std::string inner;
  if (n.op == Op::load) {
    for (const int64_t c : place) inner += (inner.empty() ? "" : ",") + std::to_string(c);
  } else {
    for (size_t axis = 0; axis < tensor.dims.size(); ++axis) {
      const std::string at = gathered_at(n, tensor, value, place, static_cast<int>(axis));
      if (!at.empty()) inner += (inner.empty() ? "" : ",") + tensor.dims[axis] + "=" + at;
    }
  }
  if (!inner.empty()) text += "[" + inner + "]";
  const uint64_t bits = n.raw        ? static_cast<uint64_t>(value.i[k])
                        : n.integral ? static_cast<uint64_t>(value.i[k]) & mask(tensor.dtype)
                                     : round_to_bits(tensor.dtype, value.v[k]);
  text += " = " + element_text(tensor.dtype, bits) + " (" + hex(tensor.dtype, bits);
  return text + (tensor.spec->pack ? ": " + packed_text(*tensor.spec->pack, bits) : "") + ")";
}

std::string Explainer::gathered_at(const Node& n, const Tensor& tensor, const Value& value,
                                   const std::vector<int64_t>& place, int axis) {
  for (size_t a = 0; a < n.args.size(); ++a) {
    if (n.indexed[a] != axis) continue;
    const Value& index = rows_.at(n.args[a], whole_);
    int64_t offset = 0;
    for (size_t d = 0; d < place.size(); ++d)
      offset += (place[d] - value.grid.low[d]) * stride_along(index.grid, value.grid.dims[d]);
    return wide_text(index.i[offset]);
  }
  for (size_t d = 0; d < place.size(); ++d)
    if (dim_name(value.grid.dims[d]) == tensor.dims[static_cast<size_t>(axis)])
      return std::to_string(place[d]);
  return "";
}

}  // namespace assay
