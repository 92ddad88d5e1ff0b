// Branch and bound over sizes and choices: the upper half of what a launch's number depends on
// first, until a corner of what is left is a case or nothing is left.
#include <algorithm>

#include "generators/draft.hpp"
#include "generators/launch_bounds.hpp"
#include "generators/launch_limits.hpp"
#include "kernels_under_test/limits.hpp"
#include "kernels_under_test/variants.hpp"

namespace assay {
namespace {

/// Boxes that one search looks at: a few milliseconds.
constexpr int kMostBoxes = 2000;

bool contains_name(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<LaunchVariable> variables_of(const Contract& contract) {
  std::vector<LaunchVariable> out;
  const auto add = [&](LaunchVariable::Kind kind, const std::string& name,
                       std::vector<int64_t> list) {
    std::sort(list.begin(), list.end());
    const auto last = static_cast<int64_t>(list.size()) - 1;
    out.push_back({kind, name, std::move(list), {0, last}});
  };
  for (const SizeSpec& size : contract.sizes) {
    add(LaunchVariable::Kind::size, size.name, size.in);
    if (size.in.empty()) out.back().range = {size.min, size.max};
  }
  for (const TypeParameter& type : contract.types) {
    std::vector<int64_t> codes;
    for (const DType kind : type.kinds) codes.push_back(static_cast<int64_t>(kind));
    add(LaunchVariable::Kind::type, type.name, codes);
  }
  for (const Knob& knob : contract.knobs) add(LaunchVariable::Kind::knob, knob.name, knob.values);
  for (const std::string& flag : contract.flags) add(LaunchVariable::Kind::flag, flag, {0, 1});
  for (const OperandSpec& operand : contract.args) {
    if (operand.values.empty()) continue;
    std::vector<int64_t> positions(operand.values.size());
    for (size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<int64_t>(i);
    add(LaunchVariable::Kind::scalar, operand.name, positions);
  }
  return out;
}

bool overlap(const Interval& a, const Interval& b) { return a.low <= b.high && b.low <= a.high; }

/// Values of an integer type; everything for others, and for a type that is chosen.
Interval range_of(const OperandSpec& operand) {
  const std::optional<DType> type = parse_dtype(operand.dtype);
  if (!type || !is_integer(*type) || bit_width(*type) > 32) return {};
  const int bits = bit_width(*type);
  if (!is_signed(*type)) return {0, (int64_t{1} << bits) - 1};
  return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
}

class Search {
 public:
  Search(const Contract& contract, const LaunchGoal& goal)
      : contract_(contract),
        goal_(goal),
        launch_(contract.launches[static_cast<size_t>(goal.launch)]),
        variables_(variables_of(contract)),
        least_(least_case(contract)) {
    const auto driving = launch_sources(contract, goal.launch, goal.number);
    const auto conditions = condition_sources(contract, goal.launch);
    for (LaunchVariable& v : variables_) {
      v.drives = contains_name(driving, v.name);
      v.matters = v.drives || contains_name(conditions, v.name);
      if (goal.with_outputs) v.matters |= v.kind == LaunchVariable::Kind::size;
    }
  }

  LaunchSearch run() const {
    std::vector<LaunchRanges> open{whole()};
    int looked_at = 0;
    while (!open.empty()) {
      if (++looked_at > kMostBoxes) return {std::nullopt, false};
      const LaunchRanges box = std::move(open.back());
      open.pop_back();
      if (!possible(box)) continue;
      if (std::optional<Case> found = corner(box)) return {std::move(found), true};
      split(box, open);
    }
    return {};
  }

 private:
  LaunchRanges whole() const {
    LaunchRanges box;
    for (const LaunchVariable& v : variables_) {
      std::pair<int64_t, int64_t> range = v.range;
      std::optional<int64_t> fixed;
      if (goal_.only) fixed = choice_value(*goal_.only, v.name);
      if (!fixed && !v.matters) fixed = first(v);
      if (fixed && !v.list.empty()) {
        const auto at = std::find(v.list.begin(), v.list.end(), *fixed);
        if (at != v.list.end()) range.first = range.second = at - v.list.begin();
      } else if (fixed) {
        range = {*fixed, *fixed};
      }
      box.push_back(range);
    }
    return box;
  }

  /// What the cheapest case has.
  int64_t first(const LaunchVariable& v) const {
    switch (v.kind) {
      case LaunchVariable::Kind::size:
        return least_.sizes.at(v.name);
      case LaunchVariable::Kind::type:
        return static_cast<int64_t>(least_.types.at(v.name));
      case LaunchVariable::Kind::knob:
        return least_.knobs.at(v.name);
      default:
        return 0;
    }
  }

  bool possible(const LaunchRanges& box) const {
    const LaunchBounds bounds(contract_, variables_, box);
    if (!overlap(bounds.number(launch_, goal_.number), goal_.wanted)) return false;
    if (launch_.when && !bounds.may_hold(*launch_.when)) return false;
    for (const NamedExpr& relation : contract_.require) {
      if (!bounds.may_hold(*relation.expr)) return false;
    }
    bool any_output = !goal_.with_outputs;
    for (const OperandSpec& operand : contract_.args) {
      if (operand.kind == OperandKind::scalar) {
        if (operand.value && !overlap(bounds.of(*operand.value), range_of(operand))) return false;
        continue;
      }
      const Interval elements = bounds.elements(operand);
      if (elements.low > kMostOperandBytes) return false;
      any_output |= operand.kind == OperandKind::output && elements.high > 0;
    }
    return any_output;
  }

  /// A case at one of a few corners of the box.
  std::optional<Case> corner(const LaunchRanges& box) const {
    // Whether the driving variables, and the others, are at their high ends.
    static constexpr std::array<std::pair<bool, bool>, 4> kCorners{
        {{true, false}, {true, true}, {false, false}, {false, true}}};
    LaunchRanges tried;
    for (const auto& [driving_high, others_high] : kCorners) {
      LaunchRanges point = box;
      for (size_t i = 0; i < point.size(); ++i) {
        const LaunchVariable& v = variables_[i];
        auto& [low, high] = point[i];
        const bool to_high = v.drives ? driving_high : others_high;
        // Few things happen with nothing of what does not matter.
        const bool avoid_none = !v.drives && v.list.empty() && low == 0 && high > 0;
        low = high = to_high ? high : avoid_none ? 1 : low;
      }
      if (point == tried || !possible(point)) continue;
      tried = point;
      Case c = case_at(point);
      if (holds(c)) return smaller(std::move(c));
    }
    return std::nullopt;
  }

  Case case_at(const LaunchRanges& point) const {
    Case c = least_;
    for (size_t i = 0; i < point.size(); ++i) {
      set(c, variables_[i], variables_[i].value(point[i].first));
    }
    return c;
  }

  static void set(Case& c, const LaunchVariable& v, int64_t value) {
    switch (v.kind) {
      case LaunchVariable::Kind::size:
        c.sizes[v.name] = value;
        break;
      case LaunchVariable::Kind::type:
        c.types[v.name] = static_cast<DType>(value);
        break;
      case LaunchVariable::Kind::knob:
        c.knobs[v.name] = value;
        break;
      case LaunchVariable::Kind::flag:
        c.flags[v.name] = value;
        break;
      case LaunchVariable::Kind::scalar:
        c.scalars[v.name] = value;
        break;
    }
  }

  /// The proof: the case resolves, and its launch has a wanted number.
  bool holds(const Case& c) const {
    const std::optional<Instance> instance = if_valid(contract_, c);
    if (!instance || (goal_.with_outputs && !has_outputs(*instance))) return false;
    for (const ResolvedLaunch& launch : instance->launches) {
      if (launch.position != goal_.launch) continue;
      return goal_.wanted.holds(value_of(launch, goal_.number));
    }
    return false;
  }

  /// The first choices and small sizes, as far as the case holds with them; the size that is
  /// largest comes last, and so is as small as it may be beside the least of the others.
  Case smaller(Case c) const {
    for (const LaunchVariable& v : variables_) {
      if (v.kind == LaunchVariable::Kind::size) continue;
      if (goal_.only && choice_value(*goal_.only, v.name)) continue;
      Case simpler = c;
      set(simpler, v, first(v));
      if (holds(simpler)) c = std::move(simpler);
    }
    std::vector<const LaunchVariable*> sizes;
    for (const LaunchVariable& v : variables_) {
      if (v.kind == LaunchVariable::Kind::size) sizes.push_back(&v);
    }
    const auto value_in_case = [&](const LaunchVariable* v) { return c.sizes.at(v->name); };
    std::stable_sort(sizes.begin(), sizes.end(), [&](const auto* a, const auto* b) {
      return value_in_case(a) < value_in_case(b);
    });
    for (const LaunchVariable* v : sizes) lower(*v, c);
    return c;
  }

  void lower(const LaunchVariable& v, Case& c) const {
    const auto holds_at = [&](int64_t value) {
      Case other = c;
      other.sizes[v.name] = value;
      return holds(other);
    };
    int64_t& size = c.sizes[v.name];
    if (!v.list.empty()) {
      const auto at = std::find_if(v.list.begin(), v.list.end(), holds_at);
      if (at != v.list.end()) size = *at;
      return;
    }
    int64_t low = std::min(least_.sizes.at(v.name), size), high = size;
    if (low == high) return;
    if (holds_at(low)) {
      size = low;
      return;
    }
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      (holds_at(middle) ? high : low) = middle;
    }
    size = high;
  }

  /// Halves the widest range that matters, of those that drive the number first; a point is done.
  void split(const LaunchRanges& box, std::vector<LaunchRanges>& open) const {
    const auto width = [&](size_t i) { return box[i].second - box[i].first; };
    int best = -1;
    for (const bool driving : {true, false}) {
      for (size_t i = 0; best < 0 && i < box.size(); ++i) {
        if (variables_[i].drives == driving && width(i) > 0) best = static_cast<int>(i);
      }
      for (size_t i = 0; best >= 0 && i < box.size(); ++i) {
        if (variables_[i].drives == driving && width(i) > width(static_cast<size_t>(best)))
          best = static_cast<int>(i);
      }
      if (best >= 0) break;
    }
    if (best < 0) return;
    auto i = static_cast<size_t>(best);
    int64_t middle = box[i].first + width(i) / 2;
    // A size of 0 is like no other: halves that hold it never end to be in doubt.
    for (size_t k = 0; k < box.size(); ++k) {
      const LaunchVariable& v = variables_[k];
      if (!v.list.empty() || !v.drives || box[k].first != 0 || width(k) == 0) continue;
      i = k;
      middle = 0;
      break;
    }
    LaunchRanges below = box, above = box;
    below[i].second = middle;
    above[i].first = middle + 1;
    // The half that may hold more of what is wanted is looked at first.
    const auto shared = [&](const LaunchRanges& half) {
      const LaunchBounds bounds(contract_, variables_, half);
      const Interval number = bounds.number(launch_, goal_.number);
      return static_cast<__int128>(std::min(number.high, goal_.wanted.high)) -
             std::max(number.low, goal_.wanted.low);
    };
    const bool above_first = shared(above) >= shared(below);
    open.push_back(above_first ? below : above);
    open.push_back(above_first ? above : below);
  }

  const Contract& contract_;
  const LaunchGoal& goal_;
  const LaunchSpec& launch_;
  std::vector<LaunchVariable> variables_;
  const Case least_;
};

}  // namespace

LaunchSearch search_launch(const Contract& contract, const LaunchGoal& goal) {
  return Search(contract, goal).run();
}

}  // namespace assay
