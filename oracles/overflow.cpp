#include "oracles/overflow.hpp"

#include <algorithm>
#include <limits>

#include "oracles/hull.hpp"
#include "oracles/walk.hpp"

namespace assay {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

OverflowSet element_set(const Value& x, int64_t k) {
  return set_of(x.v[k], element(x.e, k), element(x.lo, k), element(x.hi, k));
}

Deviations deviations(const Value& x, int64_t k) { return {element(x.lo, k), element(x.hi, k)}; }

}  // namespace

Overflows::Overflows(const Graph& graph)
    : graph_(graph),
      plain_(graph),
      widened_(graph),
      scratch_(graph),
      sets_(graph.nodes.size()),
      arrays_(graph.nodes.size()) {}

void Overflows::start(int64_t case_number, const Instance& instance, const OutputReader* outputs,
                      const EvaluationSettings& settings) {
  if (case_number == case_ && settings.flush == settings_.flush) return;
  case_ = case_number;
  settings_ = settings;
  before_ = settings;
  before_.widen = false;
  plain_.start(instance, outputs, before_);
  widened_.start(instance, outputs, settings_);
  scratch_.start(instance, outputs, settings_);
  evaluated_ = -1;
}

const std::vector<OverflowSet>& Overflows::at(int node, const Chunk& chunk) {
  const bool held = evaluated_ >= node && chunk.low == chunk_.low && chunk.extent == chunk_.extent;
  if (held) return sets(node);
  chunk_ = chunk;
  for (int id = 0; id <= node; ++id) {
    sets(id).clear();
    if (graph_.feeds(id, node)) evaluate(id);
  }
  evaluated_ = node;
  return sets(node);
}

void Overflows::evaluate(int id) {
  const Node& node = graph_.nodes[static_cast<size_t>(id)];
  if (node.integral) return;
  const Value& before = plain(id);
  sets(id).assign(static_cast<size_t>(before.grid.size), {});
  switch (node.op) {
    case Op::literal:
    case Op::named:
    case Op::load:
    case Op::gather:
      break;
    case Op::neg:
    case Op::abs:
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::max2:
    case Op::min2:
    case Op::settle:
    case Op::prescaled:
    case Op::function:
      elementwise(id);
      break;
    case Op::where:
      choice(id);
      break;
    case Op::sum:
    case Op::mean:
      sum(id);
      break;
    case Op::max:
    case Op::min:
      extremum(id);
      break;
    case Op::forms:
      forms(id);
      break;
    case Op::total:
      total(id);
      break;
    case Op::rescaled:
      rescaled(id);
      break;
    case Op::hull:
      hull(id);
      break;
    default:
      whole(id);
  }
  drop_if_empty(id);
}

void Overflows::drop_if_empty(int id) {
  const auto filled = [](const OverflowSet& set) { return !set.empty(); };
  if (std::none_of(sets(id).begin(), sets(id).end(), filled)) sets(id).clear();
}

// --- elementwise: every way in which the arguments may turn out
// ---------------------------------------

void Overflows::Arrays::put(size_t k, const OverflowSet& set) {
  const bool bounded_below = std::isfinite(set.low);
  v[k] = bounded_below ? set.low : std::isfinite(set.high) ? set.high : 0;
  e[k] = 0;
  lo[k] = bounded_below ? 0 : HUGE_VAL;
  hi[k] = bounded_below ? set.high - set.low : v[k] == set.high ? 0 : HUGE_VAL;
  if (lo[k] == HUGE_VAL && hi[k] == HUGE_VAL) lo[k] = hi[k] = kNoNumber;
  // The width rounds.
  hi[k] = hi[k] > 0 ? hi[k] * rows::kOutward : hi[k];
}

void Overflows::place_plain(int node) {
  const Value& from = plain(node);
  Value& to = scratch_.argument(node);
  to.grid = from.grid;
  to.v = from.v;
  to.e = from.e;
  to.lo = from.lo;
  to.hi = from.hi;
  to.i = from.i;
  to.status = from.status;
  to.least = from.least;
}

void Overflows::place(const Argument& argument, Part part, Arrays& arrays) {
  place_plain(argument.node);
  if (part == kWithout) return;
  const size_t size = argument.sets->size();
  arrays.resize(size);
  double least = HUGE_VAL;
  for (size_t k = 0; k < size; ++k) {
    const OverflowSet& set = (*argument.sets)[k];
    if (part == kReals && set.reals()) arrays.put(k, set);
    if (part == kUp) arrays.v[k] = HUGE_VAL;
    if (part == kDown) arrays.v[k] = -HUGE_VAL;
    if (part == kNan) arrays.v[k] = kNoNumber;
    if (part == kReals && set.reals()) least = std::min(least, set.low);
  }
  Value& to = scratch_.argument(argument.node);
  to.v = arrays.v.data();
  to.e = arrays.e.data();
  to.lo = arrays.lo.data();
  to.hi = arrays.hi.data();
  if (part == kReals) to.least = std::min(to.least, least);
  if (part == kDown) to.least = -HUGE_VAL;
}

void Overflows::apply(int id, bool widen, Value& out) {
  scratch_.apply(id, chunk_, widen ? settings_ : before_, out);
}

std::vector<Overflows::Argument> Overflows::arguments_of(const Node& node, const Grid& grid) {
  std::vector<Argument> arguments;
  for (const int id : node.args) {
    const auto known = [id](const Argument& a) { return a.node == id; };
    if (std::any_of(arguments.begin(), arguments.end(), known)) continue;
    if (graph_.nodes[static_cast<size_t>(id)].integral) {
      place_plain(id);
      continue;
    }
    Argument argument{id, &plain(id), &sets(id), {}, {true, false, false, false, false}};
    for (const OverflowSet& set : *argument.sets) {
      argument.has[kReals] |= set.reals();
      argument.has[kUp] |= set.up;
      argument.has[kDown] |= set.down;
      argument.has[kNan] |= set.nan;
    }
    argument.at.resize(static_cast<size_t>(grid.size));
    for_runs<1>(grid, {&argument.plain->grid},
                [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                  for (int64_t k = 0; k < n; ++k)
                    argument.at[static_cast<size_t>(done + k)] = offset[0] + k * stride[0];
                });
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

void Overflows::elementwise(int id) {
  const Node& node = graph_.nodes[static_cast<size_t>(id)];
  std::vector<Argument> arguments = arguments_of(node, plain(id).grid);
  std::vector<Part> chosen;
  combine(id, arguments, chosen);
}

void Overflows::combine(int id, std::vector<Argument>& arguments, std::vector<Part>& chosen) {
  if (chosen.size() == arguments.size()) return one_combination(id, arguments, chosen);
  for (const Part part : {kWithout, kReals, kUp, kDown, kNan}) {
    if (!arguments[chosen.size()].has[part]) continue;
    chosen.push_back(part);
    combine(id, arguments, chosen);
    chosen.pop_back();
  }
}

void Overflows::one_combination(int id, const std::vector<Argument>& arguments,
                                const std::vector<Part>& chosen) {
  const auto has = [](const OverflowSet& set, Part part) {
    switch (part) {
      case kReals:
        return set.reals();
      case kUp:
        return set.up;
      case kDown:
        return set.down;
      case kNan:
        return set.nan;
      default:
        return true;
    }
  };
  std::vector<OverflowSet>& result = sets(id);
  const auto taken = [&](size_t k) {
    for (size_t a = 0; a < arguments.size(); ++a) {
      if (chosen[a] == kWithout) continue;
      if (!has((*arguments[a].sets)[static_cast<size_t>(arguments[a].at[k])], chosen[a]))
        return false;
    }
    return true;
  };
  size_t first = 0;
  while (first < result.size() && !taken(first)) ++first;
  if (first == result.size()) return;
  for (size_t a = 0; a < arguments.size(); ++a)
    place(arguments[a], chosen[a], arrays_[static_cast<size_t>(arguments[a].node)]);
  const bool none = std::all_of(chosen.begin(), chosen.end(), [](Part p) { return p == kWithout; });
  Value kept;
  Value wide;
  apply(id, false, kept);
  apply(id, true, wide);
  for (size_t k = first; k < result.size(); ++k) {
    if (!taken(k)) continue;
    const auto at = static_cast<int64_t>(k);
    if (!none) result[k].join(element_set(kept, at));
    result[k].join(overflow_of(kept.v[at], element(kept.e, at), deviations(kept, at),
                               deviations(wide, at),
                               graph_.nodes[static_cast<size_t>(id)].op == Op::prescaled));
  }
}

// --- choices, reductions
// ------------------------------------------------------------------------------

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
    const auto status_of = [kc](const Value& x) {
      return x.status == nullptr ? uint8_t{kKnown} : x.status[kc];
    };
    OverflowSet& out = sets(id)[static_cast<size_t>(k)];
    const uint8_t status = status_of(c);
    const bool same = status == status_of(wide) && c.i[kc] == wide.i[kc];
    const bool known = same && status == kKnown;
    if (!known || c.i[kc] != 0) join_sets(out, node.args[1], ka);
    if (!known || c.i[kc] == 0) join_sets(out, node.args[2], kb);
    if (same) return;
    if (status_of(wide) == kUndefined) out.join(OverflowSet::anything());
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

}  // namespace

/// Of the terms each may turn out for itself: all that lies between the sums of the least and of
/// the largest. What has become infinite stays so, or is NaN.
void Overflows::sum(int id) {
  const Node& node = graph_.nodes[static_cast<size_t>(id)];
  const int from = node.args[0];
  for (const int arg : node.args) place_plain(arg);
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
  if (!any(from)) return;
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
  each_term(before.grid, grid_of(node.reduced, chunk_), a.grid, [&](size_t k, int64_t term) {
    const OverflowSet& set = terms[static_cast<size_t>(term)];
    moved[k] = moved[k] || set.reals();
    seen[k].join({HUGE_VAL, -HUGE_VAL, set.up, set.down, set.nan});
    const OverflowSet own = element_set(a, term);
    infinite[k] = infinite[k] || own.up || own.down || own.nan;
  });
  for (size_t k = 0; k < result.size(); ++k) {
    const auto at = static_cast<int64_t>(k);
    if (infinite[k] && (moved[k] || !seen[k].empty())) {
      result[k] = OverflowSet::anything();
      continue;
    }
    OverflowSet& out = result[k];
    if (moved[k]) {
      out.join(element_set(kept, at));
      out.join(overflow_of(kept.v[at], element(kept.e, at), deviations(kept, at),
                           deviations(wide, at), true));
    }
    out.nan |= (seen[k].up && (seen[k].down || out.down)) || (seen[k].down && out.up);
    out.join(seen[k]);
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
    bool nan = false;
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
    out.nan = e.nan && settings_.nan == rows::NanMode::propagate;
    if (e.nan && settings_.nan != rows::NanMode::propagate) out = OverflowSet::anything();
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

// --- weights and their means
// --------------------------------------------------------------------------

/// The factors of an online softmax where a maximum has overflowed: e^-inf, or NaN. Those that have
/// not err by less than themselves.
void Overflows::rescaled(int id) {
  const Node& node = graph_.nodes[static_cast<size_t>(id)];
  const int weight = node.args[0];
  if (settings_.online <= 0 || !any(node.args[1])) {
    if (any(weight)) whole(id);
    return;
  }
  const Value& before = plain(id);
  for (size_t k = 0; k < sets(id).size(); ++k) {
    const auto at = static_cast<int64_t>(k);
    OverflowSet& out = sets(id)[k];
    if (any(weight)) out = sets(weight)[k];
    if (std::isinf(element(before.hi, at)) || std::isnan(element(before.hi, at)))
      out = OverflowSet::anything();
    out.join({0, out.reals() ? std::max(0.0, 2 * out.high) : 0, true, false, true});
  }
}

/// Whatever the weights are, a mean that is finite lies within the hull of what they average: the
/// largest has the weight 1, or NaN. With `exp = "prescaled"` it may vanish.
void Overflows::hull(int id) {
  const Node& node = graph_.nodes[static_cast<size_t>(id)];
  const int mean = node.args[0];
  if (!any(mean)) return;
  sets(id) = sets(mean);
  const int weight = node.args[1];
  const bool prescaled = node.weight > 1;
  const bool share = !node.share_of.empty();
  if (prescaled || (!share && any(node.args[2]))) return;
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
                  const double largest = std::max(std::fabs(hull.least), std::fabs(hull.most));
                  if (!out.reals() || !hull.bounded || !std::isfinite(largest)) continue;
                  const double by = (slack.relative * largest + slack.absolute) * rows::kOutward;
                  out.low = std::max(out.low, hull.least - by);
                  out.high = std::min(out.high, hull.most + by);
                }
              });
}

}  // namespace assay
