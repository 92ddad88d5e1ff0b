// bernoulli: a mask of independent draws that are 1 with probability p (rule R23).
//
// Each statistic is a count K of N independent draws of probability q, for which Chernoff's bound
// gives P(K/N at least, or at most, k) <= exp(-N D(k || q)), D the relative entropy. A mask is
// refused when N D exceeds ln(2 T / 1e-12) for one of T statistics: a false alarm in less than one
// of 10^12 masks (docs/judging/relations.md).
#include <algorithm>
#include <cmath>

#include "oracles/number_text.hpp"
#include "oracles/relations/relation.hpp"

namespace assay {
namespace {

constexpr double kFalseAlarm = 1e-12;
/// A kernel compares p with a uniform number of 24 bits or more, with < or <=.
constexpr double kGrid = 0x1p-23;
constexpr int64_t kStretches = 64;
constexpr int64_t kPhases = 4;  ///< counter-based generators give four numbers at a time

double relative_entropy(double k, double q) {
  const double ones = k > 0 ? (q > 0 ? k * std::log(k / q) : HUGE_VAL) : 0;
  const double zeros = k < 1 ? (q < 1 ? (1 - k) * std::log((1 - k) / (1 - q)) : HUGE_VAL) : 0;
  return ones + zeros;
}

/// N D of a count, at the probability in [low, high] that suits it best.
double surprise(int64_t count, int64_t draws, double low, double high) {
  if (draws == 0) return 0;
  const double k = static_cast<double>(count) / static_cast<double>(draws);
  if (k >= low && k <= high) return 0;
  return static_cast<double>(draws) * relative_entropy(k, k < low ? low : high);
}

class Mask {
 public:
  Mask(RelationCase& c, const Tensor& mask) : c_(c), mask_(mask), p_(c.real("p")) {
    if (!(p_ >= 0 && p_ <= 1))
      throw InputError(c.where(), "the probability " + shortest(p_) + " is outside [0, 1]");
  }

  void judge() {
    read();
    if (!whole_) return;
    const auto n = static_cast<int64_t>(draws_.size());
    int64_t lags = 0;
    while (int64_t{1} << lags < n) ++lags;  // every lag at which a pair exists
    const bool paired = read_other();
    const int64_t tests =
        1 + lags + kStretches + kPhases + (paired ? 1 + kStretches + 2 * lags : 0);
    limit_ = std::log(2.0 * static_cast<double>(tests) / kFalseAlarm);
    low_ = std::max(0.0, p_ - kGrid);
    high_ = std::min(1.0, p_ + kGrid);
    if (p_ == 0 || p_ == 1) low_ = high_ = p_;
    test("ones", ones(0, n, 1), n, low_, high_);
    const auto stretch = [n](int64_t k) { return n * k / kStretches; };
    for (int64_t k = 0; k < kStretches; ++k) {
      const int64_t first = stretch(k);
      const int64_t last = stretch(k + 1);
      test("ones from element " + std::to_string(first) + " on", ones(first, last, 1), last - first,
           low_, high_);
    }
    for (int64_t k = 0; k < kPhases; ++k)
      test("ones of every fourth element from " + std::to_string(k) + " on", ones(k, n, kPhases),
           (n - k + kPhases - 1) / kPhases, low_, high_);
    for (int64_t k = 0; k < lags; ++k) test_lag(int64_t{1} << k);
    if (!paired) return;
    test_other(0, 0);
    for (int64_t k = 0; k < kStretches; ++k) test_own_place(stretch(k), stretch(k + 1));
    for (int64_t k = 0; k < lags; ++k) {
      test_other(int64_t{1} << k, 0);
      test_other(0, int64_t{1} << k);
    }
  }

 private:
  void read() {
    constexpr int64_t kRun = 4096;
    for (int64_t first = 0; first < mask_.elements(); first += kRun) {
      const int64_t count = std::min(kRun, mask_.elements() - first);
      const std::vector<Got> got = c_.read(mask_, first, count);
      for (int64_t k = 0; k < count; ++k) {
        const Got& element = got[static_cast<size_t>(k)];
        whole_ = c_.judged(mask_, first + k, element) && whole_;
        const bool one = element.bits == bits_of(1);
        if (element.written && !one && element.bits != bits_of(0)) {
          whole_ = false;
          c_.wrong(
              mask_, first + k, "R23", [] { return std::string("0 or 1"); },
              [&] { return element_text(mask_.dtype, element.bits); });
        }
        draws_.push_back(one ? 1 : 0);
      }
    }
  }

  /// The draws of which these must be independent. False: the contract names none, or some are not
  /// known (where they are outputs, their own relation says so).
  bool read_other() {
    if (!c_.has("independent_of")) return false;
    bool known = true;
    c_.whole("independent_of", [&](const Line& line) {
      if (line.n != static_cast<int64_t>(draws_.size()))
        throw InputError(c_.where(), "'independent_of' has " + std::to_string(line.n) +
                                         " elements, '" + mask_.spec->name + "' " +
                                         std::to_string(draws_.size()));
      for (int64_t j = 0; j < line.n; ++j) {
        known = known && line.known(j);
        const bool one = line.integral() ? line.integer(j) != 0 : line.v(j) != 0;
        others_.push_back(one ? 1 : 0);
      }
    });
    return known;
  }

  uint64_t bits_of(int value) const {
    return is_floating(mask_.dtype) ? round_to_bits(mask_.dtype, value)
                                    : static_cast<uint64_t>(value);
  }

  int64_t ones(int64_t first, int64_t last, int64_t step) const {
    int64_t sum = 0;
    for (int64_t k = first; k < last; k += step) sum += draws_[static_cast<size_t>(k)];
    return sum;
  }

  /// Disjoint pairs at a distance: how many agree.
  void test_lag(int64_t lag) {
    const auto n = static_cast<int64_t>(draws_.size());
    int64_t pairs = 0;
    int64_t equal = 0;
    for (int64_t k = 0; k + lag < n; ++k) {
      if (k / lag % 2 != 0) continue;
      ++pairs;
      equal += draws_[static_cast<size_t>(k)] == draws_[static_cast<size_t>(k + lag)] ? 1 : 0;
    }
    test_pairs("equal pairs " + std::to_string(lag) + " apart", equal, pairs);
  }

  /// Element k + `ahead` of the mask beside element k + `behind` of the other draws: every draw of
  /// each is in one pair at most.
  void test_other(int64_t ahead, int64_t behind) {
    const int64_t pairs = static_cast<int64_t>(draws_.size()) - std::max(ahead, behind);
    int64_t equal = 0;
    for (int64_t k = 0; k < pairs; ++k)
      equal += draws_[static_cast<size_t>(k + ahead)] == others_[static_cast<size_t>(k + behind)];
    test_pairs("elements equal to the other draws' " +
                   (ahead == behind ? std::string("own place")
                                    : std::to_string(std::max(ahead, behind)) +
                                          (ahead > behind ? " before" : " after")),
               equal, pairs);
  }

  /// A stretch of both masks, place by place.
  void test_own_place(int64_t first, int64_t last) {
    int64_t equal = 0;
    for (int64_t k = first; k < last; ++k)
      equal += draws_[static_cast<size_t>(k)] == others_[static_cast<size_t>(k)];
    test_pairs("elements equal to the other draws' own place from element " +
                   std::to_string(first) + " on",
               equal, last - first);
  }

  /// Pairs of independent draws agree with probability p^2 + (1 - p)^2.
  void test_pairs(const std::string& what, int64_t equal, int64_t pairs) {
    const auto agree = [](double q) { return q * q + (1 - q) * (1 - q); };
    const bool middle = low_ <= 0.5 && high_ >= 0.5;
    const double low = middle ? 0.5 : std::min(agree(low_), agree(high_));
    test(what, equal, pairs, low, std::max(agree(low_), agree(high_)));
  }

  /// Only the first statistic that fails is told.
  void test(const std::string& what, int64_t count, int64_t draws, double low, double high) {
    if (told_ || surprise(count, draws, low, high) <= limit_) return;
    told_ = true;
    c_.wrong(
        mask_, 0, "R23",
        [&] {
          return "about " + brief(low * static_cast<double>(draws)) + " " + what + " of " +
                 std::to_string(draws);
        },
        [&] {
          return std::to_string(count) + " " + what +
                 ": less likely than 1e-12 of independent draws, p = " + shortest(p_);
        });
  }

  RelationCase& c_;
  const Tensor& mask_;
  const double p_;
  bool whole_ = true;
  bool told_ = false;
  double limit_ = 0;
  double low_ = 0;
  double high_ = 0;
  std::vector<uint8_t> draws_;
  std::vector<uint8_t> others_;
};

}  // namespace

void check_bernoulli(RelationCase& c) {
  if (const Tensor* mask = c.output("mask")) Mask(c, *mask).judge();
}

}  // namespace assay
