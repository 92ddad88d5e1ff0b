// Welford's and Chan's steps in many trees, each operation rounded by up to u in the direction that
// moves the result most: none passes the bounds of docs/judging/welford.md, and the search has to
// come near them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "tests/oracles/row_cases.hpp"

namespace assay {
namespace {

using testing::judge_row;
using testing::row_contract;
using testing::told;

using Real = long double;
using Floats = std::vector<float>;

/// Operations in order, each of which rounds by -u, 0 or u. Numbers are known by their places.
class Tape {
 public:
  void restart() { steps_.clear(); }
  int put(Real x) { return note({x, -1, -1, 0, 0, false}); }
  int add(int a, int b) { return note({at(a) + at(b), a, b, 1, 1, true}); }
  int sub(int a, int b) { return note({at(a) - at(b), a, b, 1, -1, true}); }
  int mul(int a, int b) { return note({at(a) * at(b), a, b, at(b), at(a), true}); }
  int div(int a, int b) {
    return note({at(a) / at(b), a, b, 1 / at(b), -at(a) / at(b) / at(b), true});
  }
  int fma(int a, int b, int c) { return add(note({at(a) * at(b), a, b, at(b), at(a), false}), c); }
  Real at(int k) const { return steps_[static_cast<size_t>(k)].value; }

  /// Turns each rounding to where the next run's number `top` rises most, or sinks, to first order.
  void aim(int top, bool up) {
    std::vector<Real> weight(steps_.size(), 0);
    weight[static_cast<size_t>(top)] = up ? 1 : -1;
    for (size_t k = steps_.size(); k-- > 0;) {
      const Step& s = steps_[k];
      if (s.a >= 0) weight[static_cast<size_t>(s.a)] += weight[k] * s.by_a;
      if (s.b >= 0) weight[static_cast<size_t>(s.b)] += weight[k] * s.by_b;
      const Real gain = weight[k] * s.value;
      if (gain != 0) turned_[k] = gain > 0 ? 1 : -1;
    }
  }

 private:
  struct Step {
    Real value;
    int a, b;
    Real by_a, by_b;
    bool rounds;
  };
  int note(Step s) {
    turned_.resize(std::max(turned_.size(), steps_.size() + 1), 0);
    const Real factor = s.rounds ? 1 + turned_[steps_.size()] * 0x1p-24L : 1;
    s.value *= factor;
    s.by_a *= factor;
    s.by_b *= factor;
    steps_.push_back(s);
    return static_cast<int>(steps_.size()) - 1;
  }

  std::vector<Step> steps_;
  std::vector<int> turned_;
};

struct Moments {
  int n = 0;
  int mean = -1;
  int squares = -1;
  int depth = 0;
};

enum class Merge { difference, average, products };

/// How a kernel computes its steps.
struct Way {
  Merge merge;
  int squares;      ///< which of three orders of an increment's factors
  bool reciprocal;  ///< in place of divisions
  bool fused;
  bool swapped;  ///< the other part's mean is the base

  std::string text() const {
    return "merge " + std::to_string(static_cast<int>(merge)) + " squares " +
           std::to_string(squares) + (reciprocal ? " reciprocal" : "") + (fused ? " fused" : "") +
           (swapped ? " swapped" : "");
  }
};

class Kernel {
 public:
  Kernel(Tape& tape, const Way& way) : t_(tape), w_(way), one_(t_.put(1)), zero_(t_.put(0)) {}

  Moments single(float x) { return {1, t_.put(x), zero_, 0}; }

  Moments update(const Moments& a, float value) {
    const int x = t_.put(value);
    const int k = t_.put(a.n + 1);
    const int d = last_ = t_.sub(x, a.mean);
    const int mean =
        w_.reciprocal ? grown(a.mean, d, t_.div(one_, k)) : t_.add(a.mean, t_.div(d, k));
    const int squares = w_.squares == 0 ? grown(a.squares, d, t_.sub(x, mean))
                                        : grown(a.squares, t_.mul(d, d), share(a.n, a.n + 1));
    return {a.n + 1, mean, squares, a.depth + 1};
  }

  Moments merge(Moments a, Moments b) {
    if (w_.swapped) std::swap(a, b);
    const int n = a.n + b.n;
    const int d = last_ = t_.sub(b.mean, a.mean);
    const int of_b = share(b.n, n);
    int mean = -1;
    if (w_.merge == Merge::difference)
      mean = grown(a.mean, d, of_b);
    else if (w_.merge == Merge::average)
      mean = grown(t_.mul(of_b, b.mean), share(a.n, n), a.mean);
    else
      mean = over(t_.add(t_.mul(t_.put(a.n), a.mean), t_.mul(t_.put(b.n), b.mean)), n);
    int more = -1;
    if (w_.squares == 0)
      more = t_.mul(t_.mul(t_.mul(d, d), t_.put(a.n)), of_b);
    else if (w_.squares == 1)
      more = t_.mul(t_.mul(t_.mul(t_.mul(d, d), share(a.n, n)), of_b), t_.put(n));
    else
      more = t_.mul(t_.mul(d, t_.put(a.n)), t_.mul(d, of_b));
    return {n, mean, t_.add(t_.add(a.squares, b.squares), more), std::max(a.depth, b.depth) + 1};
  }

  /// `n` elements in two passes, as a thread may take what it holds in registers.
  Moments in_two_passes(const float* x, int n) {
    int sum = t_.put(x[0]);
    for (int i = 1; i < n; ++i) sum = t_.add(sum, t_.put(x[i]));
    const int mean = over(sum, n);
    int squares = zero_;
    for (int i = 0; i < n; ++i) {
      const int d = t_.sub(t_.put(x[i]), mean);
      squares = grown(squares, d, d);
    }
    return {n, mean, squares, n};
  }

  int over(int x, int n) {
    return w_.reciprocal ? t_.mul(x, t_.div(one_, t_.put(n))) : t_.div(x, t_.put(n));
  }

  /// The difference that the last step saw: of elements alike nothing else has a slope.
  int last_difference() const { return last_; }

 private:
  int share(int a, int n) {
    const int part = t_.put(a);
    return w_.reciprocal ? t_.mul(part, t_.div(one_, t_.put(n))) : t_.div(part, t_.put(n));
  }
  /// base + a b
  int grown(int base, int a, int b) {
    return w_.fused ? t_.fma(a, b, base) : t_.add(base, t_.mul(a, b));
  }

  Tape& t_;
  const Way w_;
  const int one_;
  const int zero_;
  int last_ = 0;
};

using Tree = std::function<Moments(Kernel&, const Floats&)>;

Moments joined(Kernel& k, std::vector<Moments> parts) {
  while (parts.size() > 1) {
    const size_t half = (parts.size() + 1) / 2;
    for (size_t j = half; j < parts.size(); ++j)
      parts[j - half] = k.merge(parts[j - half], parts[j]);
    parts.resize(half);
  }
  return parts[0];
}

/// Each of `lanes` takes every `lanes`-th element, or with `blocks` a run of them.
Tree lanes(size_t lanes, bool blocks) {
  return [=](Kernel& k, const Floats& x) {
    std::vector<Moments> parts(std::min(lanes, x.size()));
    for (size_t i = 0; i < x.size(); ++i) {
      Moments& m = parts[blocks ? i * parts.size() / x.size() : i % parts.size()];
      m = m.n == 0 ? k.single(x[i]) : k.update(m, x[i]);
    }
    return joined(k, parts);
  };
}

/// A chain of merges with `each` elements, which updates have joined.
Tree chain(size_t each) {
  return [=](Kernel& k, const Floats& x) {
    Moments all;
    for (size_t first = 0; first < x.size(); first += each) {
      Moments part = k.single(x[first]);
      for (size_t i = first + 1; i < std::min(first + each, x.size()); ++i)
        part = k.update(part, x[i]);
      all = first == 0 ? part : k.merge(all, part);
    }
    return all;
  };
}

/// A chain of merges with `each` elements in two passes.
Tree registers(size_t each) {
  return [=](Kernel& k, const Floats& x) {
    Moments all;
    for (size_t first = 0; first < x.size(); first += each) {
      const size_t n = std::min(each, x.size() - first);
      const Moments part =
          n == 1 ? k.single(x[first]) : k.in_two_passes(&x[first], static_cast<int>(n));
      all = first == 0 ? part : k.merge(all, part);
    }
    return all;
  };
}

Tree any_order(unsigned seed) {
  return [=](Kernel& k, const Floats& x) {
    std::mt19937 rng(seed);
    std::vector<Moments> parts;
    for (const float v : x) parts.push_back(k.single(v));
    while (parts.size() > 1) {
      std::swap(parts[rng() % parts.size()], parts.back());
      const Moments last = parts.back();
      parts.pop_back();
      Moments& other = parts[rng() % parts.size()];
      other = k.merge(other, last);
    }
    return parts[0];
  };
}

constexpr int kKinds = 8;

Floats row(std::mt19937& rng, size_t n, int kind) {
  std::normal_distribution<float> normal;
  Floats x(n);
  for (size_t i = 0; i < n; ++i) {
    const float v = normal(rng);
    const float all[kKinds] = {v,
                               100 + v,
                               1e4f + v,
                               0.1f,
                               i == 0 ? 1000 : 1 + v * 1e-3f,
                               i % 2 == 0 ? 1.0f : -1.0f,
                               i < n / 2 ? 1.0f : 3.0f,
                               rng() % 20 == 0 ? 30 : v * 1e-2f};
    x[i] = all[kind];
  }
  if (rng() % 4 == 0) std::sort(x.begin(), x.end());
  if (rng() % 4 == 0) std::shuffle(x.begin(), x.end(), rng);
  return x;
}

class Search {
 public:
  struct Found {
    double share = 0;
    float got = 0;
    int depth = 0;
  };

  Search(const char* formula, bool variance) : formula_(formula), variance_(variance) {}

  /// The worst of a few turns of the roundings, each of which has to pass.
  Found one(const Floats& x, const Tree& tree, const Way& way, bool up) {
    Tape tape;
    Found most;
    for (int turn = 0; turn < 5; ++turn) {
      tape.restart();
      Kernel kernel(tape, way);
      const Moments m = tree(kernel, x);
      int top = m.mean;
      if (variance_) top = kernel.over(m.squares, m.n);
      const auto got = static_cast<float>(tape.at(top));
      const Verdict v = judge_row(contract(m.depth), x, got);
      EXPECT_EQ(v.outcome, Outcome::pass)
          << formula_ << " of " << x.size() << " depth " << m.depth << " " << way.text() << told(v);
      if (v.share >= most.share) most = {v.share, got, m.depth};
      tape.aim(variance_ && turn == 0 ? kernel.last_difference() : top, up);
    }
    return most;
  }

  const Contract& contract(int depth) {
    const auto found = contracts_.find(depth);
    if (found != contracts_.end()) return found->second;
    const std::string more =
        "[accuracy]\nvariance = \"welford\"\ndepth = " + std::to_string(depth) +
        "\n[policy]\nnan = \"exclude\"\nrange = \"safe\"\n";
    return contracts_.emplace(depth, row_contract(formula_, more)).first->second;
  }

  /// The largest share of its allowance that any tree and way comes to.
  double largest(int kind, const std::vector<size_t>& sizes, int rounds) {
    std::mt19937 rng(static_cast<unsigned>(kind) * 7919u + 1);
    double most = 0;
    for (int round = 0; round < rounds; ++round)
      for (const size_t n : sizes) {
        const Floats x = row(rng, n, kind);
        for (const Tree& tree :
             {lanes(1, false), lanes(2, true), lanes(32, false), lanes(8, true), lanes(n, false),
              chain(1), chain(2), registers(4), any_order(rng())}) {
          const Way way{static_cast<Merge>(rng() % 3), static_cast<int>(rng() % 3), rng() % 2 == 0,
                        rng() % 2 == 0, rng() % 3 == 0};
          for (const bool up : {true, false}) most = std::max(most, one(x, tree, way, up).share);
        }
      }
    return most;
  }

 private:
  const std::string formula_;
  const bool variance_;
  std::map<int, Contract> contracts_;
};

// Elements alike: the variance is 0, whose allowance is a weak one and has no share.
constexpr int kAlike = 3;

TEST(WelfordSearch, NoTreePassesTheBoundOfTheMean) {
  for (int kind = 0; kind < kKinds; ++kind)
    EXPECT_GT(Search("mean(x, cols)", false).largest(kind, {2, 3, 7, 33, 64}, 4), 0.3) << kind;
}

TEST(WelfordSearch, NoTreePassesTheBoundOfTheVariance) {
  for (int kind = 0; kind < kKinds; ++kind) {
    const double most = Search("var(x, cols)", true).largest(kind, {2, 3, 7, 33, 64}, 4);
    if (kind != kAlike) {
      EXPECT_GT(most, 0.5) << kind;
    }
  }
}

TEST(WelfordSearch, NorDoesALongRow) {
  for (int kind = 0; kind < kKinds; ++kind) {
    const double mean = Search("mean(x, cols)", false).largest(kind, {1000}, 1);
    const double variance = Search("var(x, cols)", true).largest(kind, {1000}, 1);
    if (kind == kAlike) {
      EXPECT_GT(mean, 0.9);
    } else {
      EXPECT_GT(variance, 0.03) << kind;
    }
  }
}

TEST(WelfordSearch, LittleMoreThanTheWorstIsRefused) {
  Search search("var(x, cols)", true);
  const Floats x(4000, 0.1f);
  const Way way{Merge::products, 1, true, true, false};
  const Search::Found worst = search.one(x, lanes(x.size(), false), way, true);
  EXPECT_GT(worst.got, 0);
  EXPECT_EQ(judge_row(search.contract(worst.depth), x, worst.got * 1.1f).outcome,
            Outcome::mismatch);
}

}  // namespace
}  // namespace assay
