#include "fuzz/search.hpp"

namespace assay {

Search::Search(const Contract& contract, Seed seed, std::vector<Case> initial)
    : contract_(contract),
      state_(seed.value),
      starting_(covering_cases(contract)) {
  for (Case& c : initial) starting_.push_back(std::move(c));
}

uint64_t Search::draw() {
  // SplitMix64 (Steele, Lea and Flood, 2014).
  uint64_t z = (state_ += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

const Case& Search::pick() {
  // Half of the picks among the newest eighth: what was just new leads further.
  const size_t size = kept_.size();
  const size_t newest = size / 8 + 1;
  if (draw() % 2) return kept_[size - 1 - draw() % newest];
  return kept_[draw() % size];
}

Case Search::next() {
  if (started_ < starting_.size()) return starting_[started_++];
  // A quarter fresh: mutation alone drifts around what it kept.
  const uint64_t choice = draw() % 8;
  const Seed seed{draw()};
  if (kept_.empty() || choice < 2) return generate_case(contract_, seed);
  if (choice == 2) {
    const Case& first = pick();
    return cross_cases(contract_, first, pick(), seed);
  }
  return mutate_case(contract_, pick(), seed);
}

bool Search::learn(const Case& c, const std::vector<Feature>& features) {
  bool fresh = false;
  for (const Feature& feature : features) {
    fresh |= ++seen_[uint64_t{feature.counter} << 8 | feature.level] == 1;
  }
  if (fresh) kept_.push_back(c);
  return fresh;
}

}  // namespace assay
