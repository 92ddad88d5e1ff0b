#include "oracles/zero_signs.hpp"

#include <algorithm>
#include <cmath>

#include "oracles/walk.hpp"

namespace assay {

namespace {

/// The signs that a zero among what is compared leaves to the result: of max, +0 wherever one of
/// them may be +0, and -0 where all may be -0; of min mirrored.
uint8_t joined(uint8_t a, uint8_t b, bool largest) {
  const uint8_t wins = largest ? kPlusZero : kMinusZero;
  return static_cast<uint8_t>(((a | b) & wins) | (a & b & (kAnyZero & ~wins)));
}

}  // namespace

const std::vector<uint8_t>& ZeroSigns::signs(int id, bool compared) {
  const auto [at, fresh] = signs_.try_emplace({id, compared});
  std::vector<uint8_t>& out = at->second;
  if (!fresh) return out;
  const Node& node = graph_.nodes[static_cast<size_t>(id)];
  out.assign(static_cast<size_t>(grid(id).size), kAnyZero);
  switch (node.op) {
    case Op::max:
    case Op::min:
    case Op::max2:
    case Op::min2:
      if (!node.integral) extremum(node, out);
      break;
    case Op::where:
      choose(node, compared, out);
      break;
    case Op::settle:
      out = signs(node.args[0], compared);
      break;
    case Op::load:
    case Op::gather:
    case Op::literal:
      if (compared && !node.integral) load(id, out);
      break;
    case Op::to_real:
    case Op::abs:
      if (compared) std::fill(out.begin(), out.end(), kPlusZero);
      break;
    default:
      break;
  }
  return out;
}

void ZeroSigns::load(int id, std::vector<uint8_t>& out) {
  const Value& value = rows_.at(id, chunk_);
  for (size_t k = 0; k < out.size(); ++k)
    out[k] = std::signbit(value.v[k]) ? kMinusZero : kPlusZero;
}

/// Where a condition may go either way both branches count.
void ZeroSigns::choose(const Node& node, bool compared, std::vector<uint8_t>& out) {
  std::fill(out.begin(), out.end(), 0);
  for (const size_t branch : {1, 2}) {
    const int arg = node.args[branch];
    const std::vector<uint8_t>& from = signs(arg, compared);
    const Value& condition = rows_.at(node.args[0], chunk_);
    const Grid own = grid_of(node.dims, chunk_);
    const Grid other = grid(arg);
    for_runs<2>(own, {&condition.grid, &other},
                [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                  for (int64_t k = 0; k < n; ++k) {
                    const int64_t c = offset[0] + k * stride[0];
                    const bool known = condition.status == nullptr || condition.status[c] == kKnown;
                    if (!known || (condition.i[c] != 0) == (branch == 1))
                      out[static_cast<size_t>(done + k)] |=
                          from[static_cast<size_t>(offset[1] + k * stride[1])];
                  }
                });
  }
}

/// What is certainly no zero takes no part: the result would be that, or it is less than the zero.
void ZeroSigns::extremum(const Node& node, std::vector<uint8_t>& out) {
  const bool largest = node.op == Op::max || node.op == Op::max2;
  // What nothing has been joined to: the other zero gives way to any.
  std::fill(out.begin(), out.end(), largest ? kMinusZero : kPlusZero);
  std::vector<uint8_t> met(out.size(), 0);
  const Grid own = grid_of(node.dims, chunk_);
  for (const int arg : node.args) {
    const std::vector<uint8_t>& from = signs(arg, true);
    const Value& value = rows_.at(arg, chunk_);
    std::vector<int> dims = node.dims;
    for (const int dim : value.grid.dims)
      if (std::find(dims.begin(), dims.end(), dim) == dims.end()) dims.push_back(dim);
    for_runs<2>(grid_of(dims, chunk_), {&own, &value.grid},
                [&](int64_t, int64_t n, const auto& offset, const auto& stride) {
                  for (int64_t k = 0; k < n; ++k) {
                    const int64_t a = offset[1] + k * stride[1];
                    const bool exact = element(value.e, a) == 0 && element(value.lo, a) == 0 &&
                                       element(value.hi, a) == 0;
                    if (exact && value.v[a] != 0) continue;  // NaN, which the policy drops, too
                    const auto to = static_cast<size_t>(offset[0] + k * stride[0]);
                    const uint8_t sign = exact ? from[static_cast<size_t>(a)] : kAnyZero;
                    out[to] = joined(out[to], sign, largest);
                    met[to] = 1;
                  }
                });
  }
  for (size_t k = 0; k < out.size(); ++k)
    if (met[k] == 0) out[k] = kAnyZero;
}

}  // namespace assay
