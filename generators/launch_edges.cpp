// Cases at the limits of a contract's launches: each limit that some admitted case breaks, and the
// largest that does not.
#include <algorithm>
#include <limits>

#include "generators/draft.hpp"
#include "generators/launch_limits.hpp"
#include "kernels_under_test/limits.hpp"
#include "kernels_under_test/variants.hpp"

namespace assay {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
/// Variants whose largest block and shared memory are looked for.
constexpr size_t kMostVariants = 16;

bool is_size(const Contract& contract, const std::string& name) {
  return std::any_of(contract.sizes.begin(), contract.sizes.end(),
                     [&](const SizeSpec& size) { return size.name == name; });
}

/// The launch of a case; nullptr where its `when` does not hold.
const ResolvedLaunch* launch_of(const Instance& instance, int position) {
  for (const ResolvedLaunch& launch : instance.launches) {
    if (launch.position == position) return &launch;
  }
  return nullptr;
}

class Edges {
 public:
  explicit Edges(const Contract& contract) : contract_(contract) {}

  void look(int launch, LaunchNumber number) {
    const int64_t most = most_of(number, contract_);
    LaunchGoal goal{launch, number, {most + 1, kHighest}, false, std::nullopt};
    // A block of no threads, a grid of no blocks: of the latter only where there is what to write.
    if (number < LaunchNumber::threads) {
      LaunchGoal none = goal;
      none.wanted = {kLowest, 0};
      none.with_outputs = number < LaunchNumber::block_x;
      search(none);
    }
    const std::optional<Case> broken = search(goal);
    if (broken) {
      add_just_below(goal, *broken);
    } else if (number == LaunchNumber::threads || number == LaunchNumber::shared) {
      add_most(goal, most);
    }
  }

  LaunchEdges take() { return std::move(out_); }

 private:
  std::optional<Case> search(const LaunchGoal& goal) {
    LaunchSearch result = search_launch(contract_, goal);
    if (!result.is_decided) {
      const std::string place = contract_.launches[static_cast<size_t>(goal.launch)].where.text();
      out_.undecided.push_back("whether " + std::string(name(goal.number)) + " of the launch at " +
                               place + " keeps to its limits for all sizes is not decided");
    }
    if (!result.found) return std::nullopt;
    // Too many threads along x are too many of a block, too: said once.
    const Instance instance = instantiate(contract_, *result.found);
    const ResolvedLaunch* const launch = launch_of(instance, goal.launch);
    const auto breach = launch_breach(instance, *launch);
    if (breach && breach->number == goal.number) out_.breaking.push_back(*result.found);
    return result.found;
  }

  /// The case with the size that drives the number one step lower, where that keeps to the limit.
  void add_just_below(const LaunchGoal& goal, Case c) {
    const std::string* driving = nullptr;
    const auto names = launch_sources(contract_, goal.launch, goal.number);
    for (const std::string& name : names) {
      if (!is_size(contract_, name)) continue;
      if (driving == nullptr || c.sizes.at(name) > c.sizes.at(*driving)) driving = &name;
    }
    if (driving == nullptr) return;
    int64_t& size = c.sizes[*driving];
    const int64_t broken = size;
    const auto keeps = [&](int64_t value) {
      size = value;
      const std::optional<Instance> instance = if_valid(contract_, c);
      if (!instance) return false;
      const ResolvedLaunch* const launch = launch_of(*instance, goal.launch);
      return launch != nullptr && value_of(*launch, goal.number) < goal.wanted.low;
    };
    const int64_t least = least_case(contract_).sizes.at(*driving);
    if (least >= broken || !keeps(least)) return;
    size = largest_where(least, broken - 1, keeps);
    if (keeps(size)) out_.within.push_back(std::move(c));
  }

  /// The most that sizes make of a number within its limit, a case for each variant: a program has
  /// shared memory and launch bounds of its own.
  void add_most(LaunchGoal goal, int64_t most) {
    const auto names = launch_sources(contract_, goal.launch, goal.number);
    if (std::none_of(names.begin(), names.end(),
                     [&](const std::string& name) { return is_size(contract_, name); })) {
      return;
    }
    const int64_t telling =
        goal.number == LaunchNumber::shared ? most - kMostStaticShared : kLowest;
    size_t looked_at = 0;
    for_variants(contract_, [&](const Variant& variant) {
      goal.only = variant;
      std::optional<Case> found;
      const auto reaches = [&](int64_t value) {
        goal.wanted = {value, most};
        LaunchSearch result = search_launch(contract_, goal);
        const bool any = result.found.has_value();
        if (any) found = std::move(result.found);
        return any;
      };
      if (!reaches(std::max<int64_t>(telling, 1))) return ++looked_at < kMostVariants;
      largest_where(std::max<int64_t>(telling, 1), most, reaches);
      out_.within.push_back(std::move(*found));
      return ++looked_at < kMostVariants;
    });
  }

  const Contract& contract_;
  LaunchEdges out_;
};

}  // namespace

LaunchEdges launch_edges(const Contract& contract) {
  Edges edges(contract);
  for (size_t launch = 0; launch < contract.launches.size(); ++launch) {
    for (const LaunchNumber number : kLaunchNumbers) edges.look(static_cast<int>(launch), number);
  }
  return edges.take();
}

void add_breaking(const Facts& facts, const LaunchEdges& edges, std::vector<Case>& out) {
  for (const Case& c : edges.breaking) {
    Case filled = c;
    fill_largest(facts, static_cast<int>(out.size()), filled);
    out.push_back(if_valid(facts.contract, filled) ? std::move(filled) : c);
  }
}

void add_within_limits(const Facts& facts, const LaunchEdges& edges, std::vector<Case>& out) {
  for (Case c : edges.within) {
    if (!afford(facts, c)) continue;
    fill_largest(facts, static_cast<int>(out.size()), c);
    if (work_if_valid(facts.contract, c)) out.push_back(std::move(c));
  }
}

}  // namespace assay
