// topk and sort: the first k of a line's elements by rank (rule R20).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "oracles/number_text.hpp"
#include "oracles/relations/relation.hpp"

namespace assay {
namespace {

/// Where an element's score may lie; greater comes first. Of integers, `whole` alone counts.
struct Score {
  int shelf = 0;  ///< 1: before every number, -1: after; NaN by the policy
  double low = 0;
  double high = 0;
  __int128 whole = 0;
  bool integral = false;
  bool unbounded = false;  ///< any number, or NaN (rule R13)
};

bool surely_before(const Score& a, const Score& b) {
  if (a.unbounded || b.unbounded) return false;
  if (a.shelf != b.shelf) return a.shelf > b.shelf;
  if (a.shelf != 0) return false;
  return a.integral ? a.whole > b.whole : a.low > b.high;
}

bool tied(const Score& a, const Score& b) { return !surely_before(a, b) && !surely_before(b, a); }

/// How a ranking orders, and what ties do.
struct Order {
  bool largest = true;
  bool sorted = true;
  std::optional<TiePolicy> tie;
  rows::NanMode nan = rows::NanMode::ask;
};

/// One line's ranking against what the kernel wrote.
class Ranking {
 public:
  Ranking(RelationCase& c, const Line& line, const Order& order, int64_t k)
      : c_(c), line_(line), order_(order), k_(k) {
    for (int64_t j = 0; j < line.n; ++j) scores_.push_back(score(j));
  }

  void judge(const Tensor* values, const Tensor* indices) {
    values_ = values;
    indices_ = indices;
    if (indices != nullptr) read(*indices, index_places_, index_got_);
    if (values != nullptr) read(*values, value_places_, value_got_);
    if (!bounded_) return forgo();
    if (indices != nullptr) {
      judge_indices();
      if (values != nullptr) judge_chosen_values();
    } else if (any_unbounded_) {
      forgo();  // what may be NaN has every rank
    } else {
      judge_values_alone();
    }
  }

 private:
  Score score(int64_t j) {
    Score s;
    if (line_.integral()) {
      s.integral = true;
      s.whole = order_.largest ? line_.integer(j) : -line_.integer(j);
      bounded_ = bounded_ && line_.known(j);
      return s;
    }
    const double v = line_.v(j);
    const bool stated =
        order_.nan == rows::NanMode::propagate || order_.nan == rows::NanMode::ignore;
    // Of what is beyond double the limit holds for the exact score, too.
    const double e = rows::known_error(v, line_.e(j), line_.lo(j), line_.hi(j));
    const double below = e + line_.lo(j);
    const double above = e + line_.hi(j);
    exact_ = exact_ && below == 0 && above == 0;
    if (accepts_anything(below, above)) {
      s = {0, -HUGE_VAL, HUGE_VAL, 0, false, true};
      any_unbounded_ = true;
      bounded_ = bounded_ && stated;
      return s;
    }
    if (std::isnan(v)) {
      // NaN is the greatest of all numbers, or takes no part: then it comes last.
      const bool first = order_.nan == rows::NanMode::propagate && order_.largest;
      s.shelf = first ? 1 : -1;
      if (!stated && !c_.contract().policy.nan) c_.tally().ask(kAskNan);
      bounded_ = bounded_ && stated;
      return s;
    }
    // Outward: the sums round.
    const double slack = below == 0 && above == 0 ? 0 : 0x1p-50 * std::fabs(v);
    s.low = v - below - slack;
    s.high = v + above + slack;
    if (!order_.largest) {
      std::swap(s.low, s.high);
      s.low = -s.low;
      s.high = -s.high;
    }
    return s;
  }

  /// The first k elements of the output's line.
  void read(const Tensor& output, std::vector<int64_t>& places, std::vector<Got>& got) {
    places = c_.beside(output, line_);
    if (static_cast<int64_t>(places.size()) < k_)
      throw InputError(c_.where(), "'" + output.spec->name + "' holds " +
                                       std::to_string(places.size()) + " of the " +
                                       std::to_string(k_) + " elements that the relation ranks");
    places.resize(static_cast<size_t>(k_));
    for (const int64_t place : places) got.push_back(c_.read(output, place, 1)[0]);
    for (size_t j = 0; j < got.size(); ++j) c_.judged(output, places[j], got[j]);
  }

  void forgo() {
    for (const auto* got : {&index_got_, &value_got_})
      for (const Got& element : *got)
        if (element.written) c_.no_bound();
  }

  const Score& at(int64_t element) const { return scores_[static_cast<size_t>(element)]; }

  std::string text(int64_t element) const {
    return line_.integral() ? wide_text(line_.integer(element)) : shortest(line_.v(element));
  }

  void wrong_index(size_t j, const std::function<std::string()>& error) {
    const auto accepted = [j] { return "a correct element of rank " + std::to_string(j); };
    c_.wrong(*indices_, index_places_[j], "R20", accepted, error);
  }

  void judge_indices() {
    chosen_.assign(index_got_.size(), -1);
    std::vector<bool> taken(static_cast<size_t>(line_.n), false);
    for (size_t j = 0; j < index_got_.size(); ++j) {
      if (!index_got_[j].written) continue;
      const __int128 index = to_integer(indices_->dtype, index_got_[j].bits);
      if (index < 0 || index >= line_.n) {
        wrong_index(j, [&] { return wide_text(index) + " is no index of the line"; });
        continue;
      }
      const auto place = static_cast<size_t>(index);
      if (taken[place])
        wrong_index(j, [&] { return "element " + wide_text(index) + " was taken already"; });
      else
        chosen_[j] = static_cast<int64_t>(index);
      taken[place] = true;
    }
    judge_choice(taken);
    if (order_.sorted) judge_order();
  }

  /// No element that was left out comes before one that was chosen.
  void judge_choice(const std::vector<bool>& taken) {
    int64_t best = -1;  // of those left out; of ties the one that the policy prefers
    for (int64_t u = 0; u < line_.n; ++u) {
      if (taken[static_cast<size_t>(u)]) continue;
      const bool later =
          best >= 0 && order_.tie == TiePolicy::last && !surely_before(at(best), at(u));
      const bool greater = best < 0 || (line_.integral() || exact_ ? surely_before(at(u), at(best))
                                                                   : lower(u) > lower(best));
      if (greater || (later && (exact_ || line_.integral()))) best = u;
    }
    if (best < 0) return;
    for (size_t j = 0; j < chosen_.size(); ++j) {
      const int64_t c = chosen_[j];
      if (c < 0) continue;
      if (surely_before(at(best), at(c))) {
        wrong_index(j, [this, best, c] {
          return "element " + std::to_string(best) + " = " + text(best) +
                 " was left out for element " + std::to_string(c) + " = " + text(c);
        });
      } else if (breaks_tie(best, c)) {
        wrong_index(j, [best, c] {
          return "of equal elements, " + std::to_string(best) + " comes before " +
                 std::to_string(c) + " by the tie policy";
        });
      }
    }
  }

  double lower(int64_t u) const { return at(u).shelf != 0 ? at(u).shelf * HUGE_VAL : at(u).low; }

  /// Exact equal scores, and the policy puts `other` before `c`.
  bool breaks_tie(int64_t other, int64_t c) {
    const bool equal = (exact_ || line_.integral()) && tied(at(other), at(c));
    if (!equal) return false;
    if (!order_.tie) c_.tally().ask(kAskTie);
    return (order_.tie == TiePolicy::first && other < c) ||
           (order_.tie == TiePolicy::last && other > c);
  }

  void judge_order() {
    int64_t previous = -1;
    for (size_t j = 0; j < chosen_.size(); ++j) {
      const int64_t c = chosen_[j];
      if (c < 0) continue;
      if (previous >= 0 && surely_before(at(c), at(previous))) {
        wrong_index(j, [this, c, previous] {
          return "element " + std::to_string(c) + " = " + text(c) + " comes after element " +
                 std::to_string(previous) + " = " + text(previous);
        });
      } else if (previous >= 0 && breaks_tie(c, previous)) {
        wrong_index(j, [c, previous] {
          return "equal elements in the order " + std::to_string(previous) + ", " +
                 std::to_string(c) + ", against the tie policy";
        });
      }
      previous = c;
    }
  }

  bool holds(uint64_t bits, int64_t element) const {
    return c_.decide_element(*values_, bits, line_, element) != Decision::rejected;
  }

  /// Each value is that of the element chosen beside it.
  void judge_chosen_values() {
    for (size_t j = 0; j < chosen_.size(); ++j) {
      const int64_t c = chosen_[j];
      if (c < 0 || !value_got_[j].written || holds(value_got_[j].bits, c)) continue;
      c_.wrong(
          *values_, value_places_[j], "R20",
          [this, c] { return text(c) + ", the value of element " + std::to_string(c); },
          [] { return "not the value of the element that was chosen"; });
    }
  }

  /// Without indices: the j-th value may be what any correct ranking has there.
  void judge_values_alone() {
    std::vector<int64_t> by_low(scores_.size());
    std::iota(by_low.begin(), by_low.end(), 0);
    std::vector<int64_t> by_high = by_low;
    const auto rank = [this](auto limit) {
      return [this, limit](int64_t a, int64_t b) {
        if (at(a).shelf != at(b).shelf) return at(a).shelf > at(b).shelf;
        return at(a).integral ? at(a).whole > at(b).whole : limit(at(a)) > limit(at(b));
      };
    };
    std::stable_sort(by_low.begin(), by_low.end(), rank([](const Score& s) { return s.low; }));
    std::stable_sort(by_high.begin(), by_high.end(), rank([](const Score& s) { return s.high; }));
    std::vector<size_t> slots(value_got_.size());
    std::iota(slots.begin(), slots.end(), size_t{0});
    if (!order_.sorted)
      std::stable_sort(slots.begin(), slots.end(),
                       [this](size_t a, size_t b) { return got_before(a, b); });
    for (size_t j = 0; j < slots.size(); ++j) {
      const size_t slot = slots[j];
      if (!value_got_[slot].written) continue;
      if (reaches(value_got_[slot].bits, by_low[j], by_high[j])) continue;
      c_.wrong(
          *values_, value_places_[slot], "R20",
          [this, j, &by_low, &by_high] {
            return by_low[j] == by_high[j]
                       ? text(by_low[j])
                       : "between " + text(by_low[j]) + " and " + text(by_high[j]);
          },
          [j] { return "not the value of rank " + std::to_string(j); });
    }
  }

  bool got_before(size_t a, size_t b) const {
    if (line_.integral()) {
      const auto x = to_integer(values_->dtype, value_got_[a].bits);
      const auto y = to_integer(values_->dtype, value_got_[b].bits);
      return order_.largest ? x > y : x < y;
    }
    const double x = to_double(values_->dtype, value_got_[a].bits);
    const double y = to_double(values_->dtype, value_got_[b].bits);
    if (std::isnan(x) || std::isnan(y)) {
      const bool nan_first = order_.nan == rows::NanMode::propagate && order_.largest;
      return nan_first ? std::isnan(x) && !std::isnan(y) : !std::isnan(x) && std::isnan(y);
    }
    return order_.largest ? x > y : x < y;
  }

  bool reaches(uint64_t bits, int64_t low, int64_t high) const {
    if (holds(bits, low) || holds(bits, high)) return true;
    if (line_.integral() || at(low).shelf != 0 || at(high).shelf != 0) return false;
    const double got = to_double(values_->dtype, bits) * (order_.largest ? 1 : -1);
    return got >= at(low).low && got <= at(high).high;
  }

  RelationCase& c_;
  const Line& line_;
  const Order& order_;
  const int64_t k_;
  std::vector<Score> scores_;
  bool bounded_ = true;
  bool any_unbounded_ = false;
  bool exact_ = true;
  const Tensor* values_ = nullptr;
  const Tensor* indices_ = nullptr;
  std::vector<int64_t> index_places_, value_places_;
  std::vector<Got> index_got_, value_got_;
  std::vector<int64_t> chosen_;
};

void check_ranking(RelationCase& c, Order order, int64_t k) {
  order.tie = c.contract().policy.tie;
  order.nan = c.settings().nan;
  const Tensor* values = c.output("values");
  const Tensor* indices = c.output("indices");
  c.each_line("of", "along", [&](const Line& line) {
    Ranking(c, line, order, std::min(k, line.n)).judge(values, indices);
  });
}

}  // namespace

void check_topk(RelationCase& c) {
  Order order;
  order.largest = c.choice("largest") == "true";
  order.sorted = c.choice("sorted") == "true";
  check_ranking(c, order, c.number("k"));
}

void check_sort(RelationCase& c) {
  Order order;
  order.largest = c.choice("descending") == "true";
  check_ranking(c, order, c.extent("along"));
}

}  // namespace assay
