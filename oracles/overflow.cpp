#include "oracles/overflow.hpp"

#include <algorithm>
#include <limits>

#include "oracles/walk.hpp"

namespace assay {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

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
  evaluated_.assign(graph_.nodes.size(), false);
}

const std::vector<OverflowSet>& Overflows::at(int node, const Chunk& chunk) {
  if (chunk.low != chunk_.low || chunk.extent != chunk_.extent) {
    chunk_ = chunk;
    evaluated_.assign(graph_.nodes.size(), false);
  }
  // Outputs over the same chunk need not be made of each other's nodes.
  if (evaluated_[static_cast<size_t>(node)]) return sets(node);
  for (int id = 0; id <= node; ++id) {
    if (evaluated_[static_cast<size_t>(id)] || !graph_.feeds(id, node)) continue;
    sets(id).clear();
    evaluate(id);
    evaluated_[static_cast<size_t>(id)] = true;
  }
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
    case Op::var:
      variance(id);
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
  // An infinity or NaN of an argument that only stands for what is not known tells nothing.
  const auto follows = [&](size_t k) {
    for (size_t a = 0; a < arguments.size(); ++a) {
      const OverflowSet& set = (*arguments[a].sets)[static_cast<size_t>(arguments[a].at[k])];
      if (chosen[a] == kUp && !set.tells(OverflowSet::kUp)) return false;
      if (chosen[a] == kDown && !set.tells(OverflowSet::kDown)) return false;
      if (chosen[a] == kNan && !set.tells(OverflowSet::kNan)) return false;
    }
    return true;
  };
  const bool none = std::all_of(chosen.begin(), chosen.end(), [](Part p) { return p == kWithout; });
  Value kept;
  Value wide;
  apply(id, false, kept);
  apply(id, true, wide);
  for (size_t k = first; k < result.size(); ++k) {
    if (!taken(k)) continue;
    const auto at = static_cast<int64_t>(k);
    OverflowSet made =
        overflow_of(kept.v[at], element(kept.e, at), deviations(kept, at), deviations(wide, at),
                    graph_.nodes[static_cast<size_t>(id)].op == Op::prescaled);
    if (!none) made.join(element_set(kept, at));
    if (!follows(k)) made.told = 0;
    result[k].join(made);
  }
}

}  // namespace assay
