// Between what averaged values lie (docs/judging/attention.md, "Hull").
#pragma once

#include <cmath>

#include "oracles/evaluate.hpp"

namespace assay {

struct Hull {
  double least = HUGE_VAL;
  double most = -HUGE_VAL;
  bool bounded = true;  ///< every weight that counts has a bound

  void add(const Value& w, int64_t kw, double low, double high) {
    if (certainly_zero(w, kw)) return;
    bounded &= !std::isnan(element(w.lo, kw)) && !std::isnan(element(w.hi, kw));
    least = low < least || std::isnan(low) ? low : least;
    most = high > most || std::isnan(high) ? high : most;
  }
};

/// Of the values t of one line whose weights w may not be 0; kw and kt are its first elements.
Hull hull_of_line(const Value& w, int64_t kw, const Value& t, int64_t kt, const Grid& reduced);

/// What takes a computed mean of n values beyond their hull: the sums' roundings, those that the
/// formula declares for the weights, underflow.
struct HullSlack {
  double relative = 0;  ///< of the largest of the hull
  double absolute = 0;
};
HullSlack hull_slack(const Node& node, const EvaluationSettings& settings, int64_t n);

}  // namespace assay
