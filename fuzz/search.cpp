#include "fuzz/search.hpp"

#include "fuzz/starting_cases.hpp"

namespace assay {

namespace {

/// Changes of a mutated case: each next one with a chance of a half.
constexpr int kMostChanges = 4;

}  // namespace

Search::Search(const Contract& contract, Seed seed, std::vector<Case> initial)
    : contract_(contract),
      state_(seed.value),
      starting_(starting_cases(contract)) {
  for (Case& c : initial) starting_.push_back(std::move(c));
}

uint64_t Search::draw() {
  // SplitMix64 (Steele, Lea and Flood, 2014).
  uint64_t z = (state_ += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

Case Search::next() {
  if (started_ < starting_.size()) return starting_[started_++];
  // Half of the cases are fresh: most bugs that are hard to find give no hint, and what only the
  // generator's spread finds takes twice as long at the worst.
  const bool fresh = kept_.empty() || draw() % 2 == 0;
  const Seed seed{draw()};
  if (fresh) return generate_case(contract_, seed);
  // One change, or a few: what needs two at once is out of reach of one.
  Case c = mutate_case(contract_, kept_[draw() % kept_.size()], seed);
  for (int more = 1; more < kMostChanges && draw() % 2 == 0; ++more) {
    c = mutate_case(contract_, c, Seed{draw()});
  }
  return c;
}

bool Search::learn(const Case& c, const std::vector<Feature>& features) {
  bool is_new = false;
  for (const Feature& feature : features) {
    is_new |= seen_.insert(uint64_t{feature.counter} << 8 | feature.level).second;
  }
  if (is_new) kept_.push_back(c);
  return is_new;
}

}  // namespace assay
