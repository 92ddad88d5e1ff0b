#include "fuzz/search.hpp"

#include <algorithm>

namespace assay {

namespace {

/// Kept cases of which the one with the rarest feature is taken.
constexpr int kDrawn = 4;
/// Fresh cases in eight, and when nothing new has come for kSilence cases: feedback is worth
/// following while it tells something; then the generator's own spread is worth more.
constexpr uint64_t kFresh = 4, kFreshInSilence = 6;
constexpr int64_t kSilence = 64;
/// Changes of a mutated case: each next one with a chance of a half.
constexpr int kMostChanges = 4;

}  // namespace

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

/// How many cases showed the rarest feature that this one was first to show.
int64_t Search::rarity(const Kept& kept) const {
  int64_t least = INT64_MAX;
  for (const uint64_t feature : kept.first_to_show) {
    least = std::min(least, seen_.at(feature));
  }
  return least;
}

/// Of a few drawn ones, the one that was kept for the rarest feature: what many cases show leads
/// nowhere new.
const Case& Search::pick() {
  const Kept* best = nullptr;
  int64_t least = 0;
  for (int i = 0; i < kDrawn; ++i) {
    const Kept& drawn = kept_[draw() % kept_.size()];
    const int64_t rare = rarity(drawn);
    if (best != nullptr && rare >= least) continue;
    best = &drawn;
    least = rare;
  }
  return best->the_case;
}

Case Search::next() {
  if (started_ < starting_.size()) return starting_[started_++];
  const uint64_t choice = draw() % 8;
  const Seed seed{draw()};
  const uint64_t fresh = silence_ > kSilence ? kFreshInSilence : kFresh;
  if (kept_.empty() || choice < fresh) return generate_case(contract_, seed);
  if (choice == 7) {
    const Case& first = pick();
    return cross_cases(contract_, first, pick(), seed);
  }
  // One change, or a few: what needs two at once is out of reach of one.
  Case c = mutate_case(contract_, pick(), seed);
  for (int more = 1; more < kMostChanges && draw() % 2 == 0; ++more) {
    c = mutate_case(contract_, c, Seed{draw()});
  }
  return c;
}

bool Search::learn(const Case& c, const std::vector<Feature>& features) {
  Kept kept;
  for (const Feature& feature : features) {
    const uint64_t number = uint64_t{feature.counter} << 8 | feature.level;
    if (++seen_[number] == 1) kept.first_to_show.push_back(number);
  }
  ++silence_;
  if (kept.first_to_show.empty()) return false;
  silence_ = 0;
  kept.the_case = c;
  kept_.push_back(std::move(kept));
  return true;
}

}  // namespace assay
