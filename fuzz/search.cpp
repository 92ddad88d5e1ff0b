#include "fuzz/search.hpp"

#include <tuple>
#include <utility>

#include "fuzz/starting_cases.hpp"

namespace assay {

namespace {

using Kind = Feature::Kind;

/// Changes of a mutated case: each next one with a chance of a half.
constexpr int kMostChanges = 4;
/// Of so many cases, how many are fresh: most bugs that are hard to find give no hint, and what
/// only the generator's spread finds takes twice as long at the worst. How many go up a ladder
/// where one can be climbed (else they are fresh too); the rest mutates cases with a rare feature.
constexpr uint64_t kCases = 8, kFresh = 4, kClimbing = 3;
/// Mutants after which a ladder that was not climbed is taken half as often as a new one; after
/// which half of what it would get goes to fresh cases.
constexpr uint64_t kPatience = 16, kHope = 128;
/// Features of one kind that are drawn to take the rarest.
constexpr int kDrawn = 6;

}  // namespace

Search::Search(const Contract& contract, Seed seed, std::vector<Case> initial)
    : contract_(contract),
      facts_(contract),
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

/// What is rarest, and has been mutated least, among some features of a kind.
Search::Seen* Search::pick_rarest(Kind kind) {
  const std::vector<uint64_t>& keys = keys_[static_cast<size_t>(kind)];
  Seen* best = nullptr;
  for (int i = 0; i < kDrawn && !keys.empty(); ++i) {
    Seen& seen = seen_[keys[draw() % keys.size()]];
    if (best == nullptr || seen.cases + seen.mutants < best->cases + best->mutants) best = &seen;
  }
  return best;
}

/// A case at the highest rung of a ladder of the kind; those more that have been tried less since
/// they were last climbed.
Search::Seen* Search::pick_ladder(Kind kind) {
  std::map<uint32_t, Ladder>& ladders = ladders_[static_cast<size_t>(kind)];
  const auto weight = [](const Ladder& ladder) {
    return ladder.at_top ? 0 : (uint64_t{1} << 20) / (kPatience + ladder.seen.mutants);
  };
  uint64_t total = 0;
  for (const auto& [number, ladder] : ladders) total += weight(ladder);
  if (total == 0) return nullptr;
  uint64_t at = draw() % total;
  for (auto& [number, ladder] : ladders) {
    if (at < weight(ladder)) return &ladder.seen;
    at -= weight(ladder);
  }
  return nullptr;
}

/// A case that is half way to something. Kinds are taken alike: a program has hundreds of
/// comparisons and few loops. nullptr where nothing gives hope.
Search::Seen* Search::pick_climb(Kind& kind) {
  std::vector<std::pair<Kind, Seen*>> choices;
  for (const Kind k : {Kind::share, Kind::turns, Kind::compare}) {
    if (Seen* seen = pick_ladder(k)) choices.emplace_back(k, seen);
  }
  if (Seen* seen = pick_rarest(Kind::property)) choices.emplace_back(Kind::property, seen);
  if (choices.empty()) return nullptr;
  Seen* chosen = nullptr;
  std::tie(kind, chosen) = choices[draw() % choices.size()];
  return draw() % (kHope + chosen->mutants) < kHope ? chosen : nullptr;
}

/// A case with a feature that few cases showed, kinds alike.
Search::Seen* Search::pick_rare(Kind& kind) {
  std::vector<size_t> kinds;
  for (size_t k = 0; k < Feature::kKinds; ++k) {
    if (!keys_[k].empty()) kinds.push_back(k);
  }
  if (kinds.empty()) return nullptr;
  kind = static_cast<Kind>(kinds[draw() % kinds.size()]);
  return pick_rarest(kind);
}

Case Search::next() {
  if (started_ < starting_.size()) return starting_[started_++];
  const uint64_t way = kept_.empty() ? 0 : draw() % kCases;
  const Seed seed{draw()};
  Kind kind{};
  Seen* const from = way < kFresh               ? nullptr
                     : way < kFresh + kClimbing ? pick_climb(kind)
                                                : pick_rare(kind);
  if (from == nullptr) return generate_case(facts_, seed);
  ++from->mutants;
  hints_.keep_property = kind == Kind::property;
  // One change, or a few: what needs two at once is out of reach of one.
  Case c = mutate_case(contract_, kept_[from->kept], seed, hints_);
  for (int more = 1; more < kMostChanges && draw() % 2 == 0; ++more) {
    c = mutate_case(contract_, c, Seed{draw()}, hints_);
  }
  return c;
}

bool Search::learn(const Case& c, const std::vector<Feature>& features, int64_t cost) {
  bool is_new = false, is_cheaper = false;
  const auto keep = [&](Seen& seen) {
    seen = {1, kept_.size(), cost, 0};
    is_new = true;
  };
  const auto compare_cost = [&](Seen& seen) {
    if (2 * cost >= seen.cost) return;
    seen.kept = kept_.size();
    seen.cost = cost;
    is_cheaper = true;
  };
  for (const Feature& feature : features) {
    const auto kind = static_cast<size_t>(feature.kind);
    if (feature.rung > 0) {
      Ladder& ladder = ladders_[kind][feature.counter - feature.rung];
      if (feature.rung == ladder.rung) compare_cost(ladder.seen);
      if (feature.rung <= ladder.rung) continue;
      ladder.rung = feature.rung;
      ladder.at_top = feature.kind == Kind::compare && feature.rung == kNearRungs;
      keep(ladder.seen);
      continue;
    }
    const uint64_t key = uint64_t{feature.counter} << 8 | feature.level;
    const auto [at, fresh] = seen_.try_emplace(key);
    if (fresh) {
      keys_[kind].push_back(key);
      keep(at->second);
    } else {
      ++at->second.cases;
      compare_cost(at->second);
    }
  }
  if (is_new || is_cheaper) kept_.push_back(c);
  return is_new;
}

void Search::hint(const std::vector<int64_t>& sizes) {
  if (sizes.size() != hints_.sizes.size()) hints_.sizes = sizes;
}

}  // namespace assay
