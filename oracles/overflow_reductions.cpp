// After an overflow: choices, reductions, and what stands for several ways of computing a number.
#include <algorithm>
#include <cmath>

#include "oracles/extrema.hpp"
#include "oracles/hull.hpp"
#include "oracles/overflow.hpp"
#include "oracles/walk.hpp"

namespace assay {

void Overflows::choice(int id) {
  const Node& node = graph_.nodes[static_cast<size_t>(id)];
  const Value& c = plain(node.args[0]);
  const Value& wide = widened_.at(node.args[0], chunk_);
  const Value& a = plain(node.args[1]);
  const Value& b = plain(node.args[2]);
  const auto join_sets = [&](OverflowSet& out, int arg, int64_t k) {
    if (any(arg)) out.join(sets(arg)[static_cast<size_t>(k)]);
  };
  const auto one = [&](int64_t k, int64_t kc, int64_t ka, int64_t kb) {
    OverflowSet& out = sets(id)[static_cast<size_t>(k)];
    const uint8_t status = status_of(c, kc);
    const bool same = status == status_of(wide, kc) && c.i[kc] == wide.i[kc];
    const bool known = same && status == kKnown;
    if (!known || c.i[kc] != 0) join_sets(out, node.args[1], ka);
    if (!known || c.i[kc] == 0) join_sets(out, node.args[2], kb);
    if (same) return;
    if (status_of(wide, kc) == kUndefined) out.join(OverflowSet::anything());
    out.join(element_set(a, ka));
    out.join(element_set(b, kb));
  };
  for_runs<3>(plain(id).grid, {&c.grid, &a.grid, &b.grid},
              [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                for (int64_t k = 0; k < n; ++k)
                  one(done + k, offset[0] + k * stride[0], offset[1] + k * stride[1],
                      offset[2] + k * stride[2]);
              });
}

namespace {

/// Calls visit(element of the result, element of the argument) for every term.
template <typename Visit>
void each_term(const Grid& out, const Grid& reduced, const Grid& argument, Visit visit) {
  for_runs<1>(out, {&argument},
              [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                for (int64_t k = 0; k < n; ++k)
                  for_runs<1>(reduced, {&argument},
                              [&](int64_t, int64_t m, const auto& first, const auto& step) {
                                for (int64_t j = 0; j < m; ++j)
                                  visit(static_cast<size_t>(done + k),
                                        offset[0] + k * stride[0] + first[0] + j * step[0]);
                              });
              });
}

/// Of terms of which some have no end: their infinities, and NaN where both meet. Rounding keeps
/// order, so that a sum is no less than that of its largest term and those of the other sign alone,
/// which where these are small is at least half of it. A mean is divided, and may be off.
struct Endless {
  OverflowSet met;
  bool reals = true;
  double far_low = 0;  ///< the greatest lower end, and the least upper one
  double far_high = 0;
  double below = 0;  ///< sums of the lower ends below 0, and of the upper ones above
  double above = 0;

  void add(const OverflowSet& term) {
    met.join(term.flags());
    reals = reals && term.reals();
    far_low = std::max(far_low, term.low);
    far_high = std::min(far_high, term.high);
    below += std::max(0.0, -term.low);
    above += std::max(0.0, term.high);
  }
  /// `finite`: what partial sums of finite terms make.
  OverflowSet total(const OverflowSet& finite, double divisor, bool rounds_little) const {
    OverflowSet out = met;
    out.join(finite.flags());
    if (out.up && out.down)
      out.add_nan(out.tells(OverflowSet::kUp) && out.tells(OverflowSet::kDown));
    if (!reals) return out;
    const bool grows = rounds_little && far_low >= 1 && below <= far_low / 4;
    const bool falls = rounds_little && far_high <= -1 && above <= -far_high / 4;
    out.low = grows ? far_low / 2 / divisor : -HUGE_VAL;
    out.high = falls ? far_high / 2 / divisor : HUGE_VAL;
    return out;
  }
};

}  // namespace

/// Of the terms each may turn out for itself: all that lies between the sums of the least and of
/// the largest. What has become infinite stays so, or is NaN; beside a term that is infinite
/// whatever has overflowed, that infinity or NaN is left, and beside one that is NaN, NaN.
void Overflows::sum(int id) {
  const Node& node = graph_.nodes[static_cast<size_t>(id)];
  const int from = node.args[0];
  for (const int arg : node.args) place_plain(arg);
  if (node.mma_products > 0)  // how they are aligned depends on the factors
    for (const int factor : graph_.nodes[static_cast<size_t>(node.mma_product)].args)
      place_plain(factor);
  const Value& before = plain(id);
  const Value& a = plain(from);
  Value kept;
  Value wide;
  apply(id, true, wide);
  std::vector<OverflowSet>& result = sets(id);
  for (size_t k = 0; k < result.size(); ++k) {
    const auto at = static_cast<int64_t>(k);
    result[k] = overflow_of(before.v[at], element(before.e, at), deviations(before, at),
                            deviations(wide, at), true);
  }
  const Grid reduced = grid_of(node.reduced, chunk_);
  if (!any(from)) {
    each_term(before.grid, reduced, a.grid,
              [&](size_t k, int64_t term) { result[k].add_term(element_set(a, term)); });
    return;
  }
  const std::vector<OverflowSet>& terms = sets(from);
  Arrays& arrays = arrays_[static_cast<size_t>(from)];
  arrays.resize(terms.size());
  for (size_t k = 0; k < terms.size(); ++k) {
    OverflowSet all = element_set(a, static_cast<int64_t>(k));
    if (terms[k].reals()) all.join(terms[k]);
    if (all.reals()) arrays.put(k, all);
  }
  Value& to = scratch_.argument(from);
  to.v = arrays.v.data();
  to.e = arrays.e.data();
  to.lo = arrays.lo.data();
  to.hi = arrays.hi.data();
  to.least = -HUGE_VAL;
  apply(id, false, kept);
  apply(id, true, wide);
  std::vector<OverflowSet> seen(result.size());  // of the terms
  std::vector<bool> moved(result.size(), false);
  std::vector<bool> infinite(result.size(), false);
  std::vector<Endless> endless(result.size());
  each_term(before.grid, reduced, a.grid, [&](size_t k, int64_t term) {
    const OverflowSet& set = terms[static_cast<size_t>(term)];
    moved[k] = moved[k] || set.reals();
    seen[k].join(set.flags());
    const OverflowSet own = element_set(a, term);
    infinite[k] = infinite[k] || own.up || own.down || own.nan;
    OverflowSet all = own;
    all.join(set);
    endless[k].add(all);
  });
  const auto count = static_cast<double>(reduced.size);
  const double divisor = node.op == Op::mean ? 2 * count : 1;
  const bool rounds_little = count * format_of(settings_.accumulate).unit_roundoff() < 0.125;
  for (size_t k = 0; k < result.size(); ++k) {
    const auto at = static_cast<int64_t>(k);
    if (infinite[k] && (moved[k] || !seen[k].empty())) {
      result[k] = endless[k].total(result[k], divisor, rounds_little);
      continue;
    }
    OverflowSet& out = result[k];
    if (moved[k]) {
      out.join(element_set(kept, at));
      out.join(overflow_of(kept.v[at], element(kept.e, at), deviations(kept, at),
                           deviations(wide, at), true));
    }
    OverflowSet met = out.flags();
    met.join(seen[k]);
    const bool meet = (seen[k].up && met.down) || (seen[k].down && met.up);
    out.join(seen[k]);
    if (meet) out.add_nan(met.tells(OverflowSet::kUp) && met.tells(OverflowSet::kDown));
  }
  each_term(before.grid, reduced, a.grid, [&](size_t k, int64_t term) {
    OverflowSet all = element_set(a, term);
    all.join(terms[static_cast<size_t>(term)]);
    result[k].add_term(all);
  });
}

/// A term that has overflowed makes the mean infinite, and its own difference inf - inf. In one
/// pass the squares' mean is infinite as well, and what is NaN may be clamped at 0.
void Overflows::variance(int id) {
  whole(id);
  const Node& node = graph_.nodes[static_cast<size_t>(id)];
  const int from = node.args[0];
  if (!any(from)) return;
  std::vector<OverflowSet>& result = sets(id);
  std::vector<bool> special(result.size(), false);
  std::vector<bool> follows(result.size(), false);
  std::vector<bool> moved(result.size(), false);
  each_term(plain(id).grid, grid_of(node.reduced, chunk_), plain(from).grid,
            [&](size_t k, int64_t term) {
              const OverflowSet& set = sets(from)[static_cast<size_t>(term)];
              special[k] = special[k] || set.up || set.down || set.nan;
              follows[k] = follows[k] || set.told != 0;
              moved[k] = moved[k] || set.reals();
            });
  const bool clamps = settings_.variance == VarianceForm::one_pass;
  for (size_t k = 0; k < result.size(); ++k) {
    if (!special[k]) continue;
    if (std::isnan(plain(id).v[k])) {
      result[k] = {HUGE_VAL, -HUGE_VAL, false, false, true};
      continue;
    }
    result[k] = moved[k] ? OverflowSet::anything() : OverflowSet{};
    result[k].add_nan(follows[k]);
    if (clamps) result[k].join({0, 0});
  }
}

void Overflows::extremum(int id) {
  const Node& node = graph_.nodes[static_cast<size_t>(id)];
  const int from = node.args[0];
  if (!any(from)) return whole(id);
  const bool smallest = node.op == Op::min;
  const Value& a = plain(from);
  std::vector<OverflowSet>& result = sets(id);
  struct Ends {
    double least = -HUGE_VAL;  ///< of the largest term
    double most = -HUGE_VAL;
    bool up = false;
    bool told_up = false;
    bool nan = false;
    bool told_nan = false;
    bool surely_nan = false;
    bool some = false;  ///< a term has overflowed
  };
  std::vector<Ends> ends(result.size());
  each_term(plain(id).grid, grid_of(node.reduced, chunk_), a.grid, [&](size_t k, int64_t term) {
    const OverflowSet& set = sets(from)[static_cast<size_t>(term)];
    OverflowSet all = element_set(a, term);
    all.join(set);
    if (smallest) all = all.negated();
    Ends& e = ends[k];
    e.some = e.some || !set.empty();
    e.up = e.up || all.up;
    e.nan = e.nan || all.nan;
    e.told_nan = e.told_nan || all.tells(OverflowSet::kNan);
    e.told_up = e.told_up || all.tells(OverflowSet::kUp);
    e.surely_nan = e.surely_nan || (all.nan && !all.reals() && !all.up && !all.down);
    const double low = all.down || all.nan ? -HUGE_VAL : all.reals() ? all.low : HUGE_VAL;
    const double high = all.reals() ? all.high : -HUGE_VAL;
    e.least = std::max(e.least, low);
    e.most = std::max(e.most, high);
  });
  for (size_t k = 0; k < result.size(); ++k) {
    const Ends& e = ends[k];
    if (!e.some) continue;
    OverflowSet out;
    if (e.least <= e.most) out.low = e.least, out.high = e.most;
    out.up = e.up;
    out.down = e.least == -HUGE_VAL;
    if (e.told_up) out.told |= OverflowSet::kUp;
    if (e.nan && settings_.nan == rows::NanMode::propagate) out.add_nan(e.told_nan);
    if (e.nan && settings_.nan != rows::NanMode::propagate) out = OverflowSet::anything();
    if (e.surely_nan && settings_.nan == rows::NanMode::propagate)
      out = {HUGE_VAL, -HUGE_VAL, false,
             false,    true,      static_cast<uint8_t>(out.told & OverflowSet::kNan)};
    result[k] = smallest ? out.negated() : out;
  }
}

/// A correct kernel computes one of the forms.
void Overflows::forms(int id) {
  const Node& node = graph_.nodes[static_cast<size_t>(id)];
  for (size_t form = 0; form < node.args.size(); ++form) {
    const int arg = node.args[form];
    if (node.text[form] == '.' || !any(arg)) continue;
    for (size_t k = 0; k < sets(id).size(); ++k) sets(id)[k].join(sets(arg)[k]);
  }
}

/// What the addition as written may give, and what any other order of its terms may.
void Overflows::total(int id) {
  const int written = graph_.nodes[static_cast<size_t>(id)].args[0];
  const auto has_reals = [](const OverflowSet& set) { return set.reals(); };
  if (any(written) && std::any_of(sets(written).begin(), sets(written).end(), has_reals))
    return whole(id);
  const Value& before = plain(id);
  const Value& wide = widened_.at(id, chunk_);
  for (size_t k = 0; k < sets(id).size(); ++k) {
    const auto at = static_cast<int64_t>(k);
    OverflowSet& out = sets(id)[k];
    out = overflow_of(before.v[at], element(before.e, at), deviations(before, at),
                      deviations(wide, at), true);
    if (any(written)) out.join(sets(written)[k]);
  }
}

void Overflows::whole(int id) {
  const Node& node = graph_.nodes[static_cast<size_t>(id)];
  const Value& before = plain(id);
  const Value& wide = widened_.at(id, chunk_);
  const bool moved =
      std::any_of(node.args.begin(), node.args.end(), [this](int arg) { return any(arg); });
  for (size_t k = 0; k < sets(id).size(); ++k) {
    const auto at = static_cast<int64_t>(k);
    const bool same_value = before.v[at] == wide.v[at] || std::isnan(before.v[at]);
    const bool sums = node.op == Op::cumsum;
    if (moved || !same_value)
      sets(id)[k] = element_set(wide, at);
    else
      sets(id)[k] = overflow_of(before.v[at], element(before.e, at), deviations(before, at),
                                deviations(wide, at), sums);
  }
}

/// The factors of an online softmax where a maximum has overflowed: e^-inf, or NaN. Those that have
/// not err by less than themselves.
void Overflows::rescaled(int id) {
  const Node& node = graph_.nodes[static_cast<size_t>(id)];
  const int weight = node.args[0];
  const bool moved = std::any_of(node.args.begin() + 1, node.args.end(),
                                 [this](int operand) { return any(operand); });
  if (settings_.online <= 0 || !moved) {
    if (any(weight)) whole(id);
    return;
  }
  const Value& before = plain(id);
  for (size_t k = 0; k < sets(id).size(); ++k) {
    const auto at = static_cast<int64_t>(k);
    OverflowSet& out = sets(id)[k];
    if (any(weight)) out = sets(weight)[k];
    if (std::isnan(before.v[at])) continue;
    if (std::isinf(element(before.hi, at)) || std::isnan(element(before.hi, at)))
      out = OverflowSet::anything();
    out.join({0, out.reals() ? std::max(0.0, 2 * out.high) : 0, true, false, true});
  }
}

/// Whatever the weights are, a mean that is finite lies within the hull of what they average: the
/// largest has the weight 1, or NaN, for which a kernel that looks for empty rows may write 0. With
/// `exp = "prescaled"` it may vanish.
void Overflows::hull(int id) {
  const Node& node = graph_.nodes[static_cast<size_t>(id)];
  const int mean = node.args[0];
  if (!any(mean)) return;
  sets(id) = sets(mean);
  const int weight = node.args[1];
  const bool prescaled = node.weight > 1;
  const bool share = !node.share_of.empty();
  if (prescaled || (!share && any(node.args[2]))) return;
  const Value& m = plain(mean);
  const Value& w = plain(weight);
  const Value& t = share ? w : plain(node.args[2]);
  const Grid reduced = grid_of(node.reduced, chunk_);
  const HullSlack slack =
      hull_slack(node, settings_, share ? grid_of(node.share_of, chunk_).size : reduced.size);
  for_runs<2>(plain(id).grid, {&w.grid, &t.grid},
              [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                for (int64_t k = 0; k < n; ++k) {
                  OverflowSet& out = sets(id)[static_cast<size_t>(done + k)];
                  const int64_t kw = offset[0] + k * stride[0];
                  const int64_t kt = offset[1] + k * stride[1];
                  const Hull hull = share ? Hull{0, 1, true} : hull_of_line(w, kw, t, kt, reduced);
                  const double largest = larger(std::fabs(hull.least), std::fabs(hull.most));
                  if (!out.reals() || !hull.bounded || !std::isfinite(largest)) continue;
                  const double by = (slack.relative * largest + slack.absolute) * rows::kOutward;
                  out.low = std::max(out.low, hull.least - by);
                  out.high = std::min(out.high, hull.most + by);
                  if (!out.reals()) out.low = HUGE_VAL, out.high = -HUGE_VAL;
                  if (out.nan && !std::isnan(m.v[done + k])) out.join({0, 0});
                }
              });
}

}  // namespace assay
