// Named functions that kernels compute in several usual ways: the hull of what each may give
// (docs/judging/elementwise.md, "Usual forms").
#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/node_work.hpp"

namespace assay {

void NodeWork::forms() {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const Value& first = argument(0);
  pass_through(first);
  const int64_t size = std::max<int64_t>(out_.grid.size, 1);
  double* lo = out_.own_lo.get(size);
  double* hi = out_.own_hi.get(size);
  const bool counts = node_.text.front() != '.';
  for (int64_t k = 0; k < out_.grid.size; ++k) {
    lo[k] = counts ? element(first.lo, k) : 0;
    hi[k] = counts ? element(first.hi, k) : 0;
  }
  for (size_t form = 1; form < node_.args.size(); ++form) {
    const Value& other = argument(form);
    out_.least = std::min(out_.least, other.least);
    const bool near = node_.text[form] == '~';
    // What is settled stands for another number in each form.
    const bool differs = near || first.of_settled || other.of_settled;
    for (int64_t k = 0; k < out_.grid.size; ++k) {
      const double v = first.v[k];
      const bool same_kind = std::isfinite(v)
                                 ? std::isfinite(other.v[k])
                                 : v == other.v[k] || (std::isnan(v) && std::isnan(other.v[k]));
      // Limits of one number, which each form knows in its own way.
      const bool one_limit = v == other.v[k] || (std::isfinite(element(first.e, k)) &&
                                                 std::isfinite(element(other.e, k)));
      double away = 0;  // of the form's own value
      double slack = 0;
      if (differs && errs() && std::isfinite(v) && std::isfinite(other.v[k])) {
        away = other.v[k] - v;
        slack = std::fabs(away) * 0x1p-50 + element(first.e, k) + element(other.e, k);
      }
      const double below = element(other.lo, k) - away + slack;
      const double above = element(other.hi, k) + away + slack;
      const bool bounded = same_kind && (near || one_limit) && !std::isnan(below) &&
                           !std::isnan(above) && !std::isnan(lo[k]) && !std::isnan(hi[k]);
      lo[k] = bounded ? std::max(lo[k], below) : none;
      hi[k] = bounded ? std::max(hi[k], above) : none;
    }
  }
  out_.lo = lo;
  out_.hi = hi;
}

}  // namespace assay
