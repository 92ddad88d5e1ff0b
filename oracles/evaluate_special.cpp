// Values that bounds alone do not describe: NaN, the sign of a 0, exponentials that are at most 1.
#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/node_work.hpp"

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

/// nan = "ignore" drops a NaN, but not one in whose place a correct kernel may have any number. The
/// maximum of a row of NaN alone is NaN, -inf or 0 in it (rule R9), which beside what is not
/// negative are the same.
void NodeWork::keep_unbounded_nan() {
  if (evaluator_.settings_.nan != rows::NanMode::ignore || out_.lo == nullptr) return;
  const double sign = node_.op == Op::max2 ? 1 : -1;
  double* lo = out_.own_lo.get(1);
  double* hi = out_.own_hi.get(1);
  for (const size_t which : {0, 1}) {
    const Value& x = argument(which);
    const Value& other = argument(1 - which);
    const bool of_row = argument_node(which).op == (sign > 0 ? Op::max : Op::min);
    if (x.lo == nullptr) continue;
    for_runs<2>(out_.grid, {&x.grid, &other.grid},
                [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                  for (int64_t k = 0; k < n; ++k) {
                    const int64_t at = offset[0] + k * stride[0];
                    if (!std::isnan(x.v[at]) || !std::isnan(x.lo[at])) continue;
                    if (of_row && sign * other.v[offset[1] + k * stride[1]] >= 0) continue;
                    lo[done + k] = hi[done + k] = kNan;
                  }
                });
  }
}

/// Below roundings, and below square roots where these keep what is asked for.
int NodeWork::source_of(size_t which, bool below_roots) const {
  int id = node_.args[which];
  const auto passes = [&](const Node& n) {
    return n.op == Op::settle || (below_roots && n.op == Op::function && n.text == "sqrt");
  };
  while (passes(evaluator_.graph_.nodes[static_cast<size_t>(id)]))
    id = evaluator_.graph_.nodes[static_cast<size_t>(id)].args[0];
  return id;
}

bool NodeWork::is_computed(size_t which) const { return computes(source_of(which, false)); }

bool NodeWork::computes(int id) const {
  const Op op = evaluator_.graph_.nodes[static_cast<size_t>(id)].op;
  return op != Op::load && op != Op::gather && op != Op::literal && op != Op::named;
}

/// The order of operations decides the sign of a 0 that is computed: not of an operand's element,
/// nor of a sum of squares, which is +0. The root of -0 is -0.
bool NodeWork::sign_is_open(size_t which) const {
  const int id = source_of(which, true);
  return computes(id) && evaluator_.argument(id).least < 0;
}

/// Division by a computed 0: either infinity.
void NodeWork::free_zero_signs(size_t divisor) {
  if (!sign_is_open(divisor)) return;
  const Value& by = argument(divisor);
  if (std::none_of(by.v, by.v + by.grid.size, [](double v) { return v == 0; })) return;
  double* lo = out_.own_lo.get(1);
  double* hi = out_.own_hi.get(1);
  if (out_.lo == nullptr) std::fill_n(lo, out_.grid.size, 0.0);
  if (out_.hi == nullptr) std::fill_n(hi, out_.grid.size, 0.0);
  for_runs<1>(out_.grid, {&by.grid},
              [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                for (int64_t k = 0; k < n; ++k)
                  if (by.v[offset[0] + k * stride[0]] == 0 && std::isinf(out_.v[done + k]))
                    lo[done + k] = hi[done + k] = kNan;
              });
  out_.lo = lo;
  out_.hi = hi;
}

/// e^(x - max(x)), exactly, lies in [0, 1], however little is known of x; the kernel's is not below
/// 0.
void NodeWork::at_most_one() {
  double* e = out_.own_e.get(1);
  double* lo = out_.own_lo.get(1);
  if (out_.e == nullptr) return;
  for (int64_t k = 0; k < out_.grid.size; ++k) {
    if (!std::isfinite(out_.v[k]) || e[k] <= 0x1p-20) continue;
    e[k] = std::min(e[k], std::max(out_.v[k], 1 - out_.v[k]) * rows::kOutward);
    if (out_.lo != nullptr && lo[k] > 1) lo[k] = 1;
  }
}

}  // namespace assay
