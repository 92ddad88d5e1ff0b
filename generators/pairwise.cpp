// Greedy, one variant at a time, as AETG does (Cohen, Dalal, Fredman and Patton, IEEE TSE 23(7),
// 1997): start from a pair that is missing, then give each other factor the value that adds most.
#include "generators/pairwise.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "kernels_under_test/variants.hpp"

namespace assay {
namespace {

constexpr int kMostSteps = 20000;  // of one search among values that relations forbid

/// Something that varies, with its choices put into a variant.
struct Factor {
  size_t choices = 0;
  std::function<void(size_t choice, Variant&)> put;
};

std::vector<Factor> factors_of(const Contract& contract) {
  std::vector<Factor> factors;
  for (const TypeParameter& type : contract.types) {
    factors.push_back(
        {type.kinds.size(), [&type](size_t i, Variant& v) { v.types[type.name] = type.kinds[i]; }});
  }
  for (const Knob& knob : contract.knobs) {
    factors.push_back({knob.values.size(),
                       [&knob](size_t i, Variant& v) { v.knobs[knob.name] = knob.values[i]; }});
  }
  for (const std::string& flag : contract.flags) {
    factors.push_back(
        {2, [&flag](size_t i, Variant& v) { v.flags[flag] = static_cast<int64_t>(i); }});
  }
  return factors;
}

constexpr size_t kFree = ~size_t{0};
using Row = std::vector<size_t>;  ///< a choice a factor, or kFree

class PairwiseSearch {
 public:
  /// `choices`: how many each factor has. `admits`: whether a row leaves room for a whole one.
  PairwiseSearch(std::vector<size_t> choices, std::function<bool(const Row&)> admits)
      : choices_(std::move(choices)), admits_(std::move(admits)) {
    for (size_t a = 0; a < choices_.size(); ++a) {
      for (size_t i = 0; i < choices_[a]; ++i) {
        singles_.insert({a, i});
        for (size_t b = a + 1; b < choices_.size(); ++b) {
          for (size_t j = 0; j < choices_[b]; ++j) pairs_.insert({{a, i}, {b, j}});
        }
      }
    }
  }

  std::vector<Row> run() {
    std::vector<Row> out;
    if (choices_.empty()) return {Row{}};
    // Singles first: the first rows show each choice.
    while (!singles_.empty() || !pairs_.empty()) {
      Row row(choices_.size(), kFree);
      if (!singles_.empty()) {
        row[singles_.begin()->first] = singles_.begin()->second;
      } else {
        const auto& [a, b] = *pairs_.begin();
        row[a.first] = a.second;
        row[b.first] = b.second;
      }
      steps_ = 0;
      if (complete(row)) {
        out.push_back(row);
        cover(row);
      } else if (!singles_.empty()) {
        singles_.erase(singles_.begin());  // the relations do not admit it
      } else {
        pairs_.erase(pairs_.begin());
      }
    }
    return out;
  }

 private:
  using Choice = std::pair<size_t, size_t>;  ///< factor, choice

  bool wanted(Choice a, Choice b) const {
    return pairs_.contains(a < b ? std::pair(a, b) : std::pair(b, a));
  }

  /// What a choice adds to those made: a new single weighs more than all pairs.
  int gain(const Row& row, Choice choice) const {
    int sum = singles_.contains(choice) ? static_cast<int>(row.size()) : 0;
    for (size_t f = 0; f < row.size(); ++f) {
      if (row[f] != kFree && f != choice.first) sum += wanted({f, row[f]}, choice) ? 1 : 0;
    }
    return sum;
  }

  bool complete(Row& row) {
    if (++steps_ > kMostSteps || !admits_(row)) return false;
    const auto open = std::find(row.begin(), row.end(), kFree);
    if (open == row.end()) return true;
    const auto factor = static_cast<size_t>(open - row.begin());
    Row order(choices_[factor]);
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return gain(row, {factor, a}) > gain(row, {factor, b});
    });
    for (const size_t choice : order) {
      row[factor] = choice;
      if (complete(row)) return true;
      row[factor] = kFree;
    }
    return false;
  }

  void cover(const Row& row) {
    for (size_t a = 0; a < row.size(); ++a) {
      singles_.erase({a, row[a]});
      for (size_t b = a + 1; b < row.size(); ++b) pairs_.erase({{a, row[a]}, {b, row[b]}});
    }
  }

  const std::vector<size_t> choices_;
  const std::function<bool(const Row&)> admits_;
  std::set<Choice> singles_;
  std::set<std::pair<Choice, Choice>> pairs_;
  int steps_ = 0;
};

}  // namespace

std::vector<Variant> pairwise_variants(const Contract& contract) {
  const std::vector<Factor> factors = factors_of(contract);
  const auto variant_of = [&](const Row& row) {
    Variant variant;
    for (size_t f = 0; f < row.size(); ++f) {
      if (row[f] != kFree) factors[f].put(row[f], variant);
    }
    return variant;
  };
  std::vector<size_t> choices;
  for (const Factor& factor : factors) choices.push_back(factor.choices);
  const auto admits = [&](const Row& row) { return admits_choices(contract, variant_of(row)); };
  std::vector<Variant> out;
  for (const Row& row : PairwiseSearch(choices, admits).run()) out.push_back(variant_of(row));
  return out;
}

std::vector<std::map<std::string, int64_t>> pairwise_listed_sizes(const Contract& contract) {
  std::vector<const SizeSpec*> listed;
  std::vector<size_t> choices;
  for (const SizeSpec& size : contract.sizes) {
    if (size.in.empty()) continue;
    listed.push_back(&size);
    choices.push_back(size.in.size());
  }
  const auto admits = [](const Row&) { return true; };
  std::vector<std::map<std::string, int64_t>> out;
  for (const Row& row : PairwiseSearch(choices, admits).run()) {
    std::map<std::string, int64_t>& sizes = out.emplace_back();
    for (size_t f = 0; f < row.size(); ++f) sizes[listed[f]->name] = listed[f]->in[row[f]];
  }
  return out;
}

}  // namespace assay
