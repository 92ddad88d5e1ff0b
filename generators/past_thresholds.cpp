// Cases past what clamps a grid: elements that no block owns, and whole grids just past the sizes
// at which launches change.
#include <algorithm>

#include "generators/draft.hpp"
#include "generators/thresholds.hpp"
#include "generators/unowned.hpp"

namespace assay {
namespace {

constexpr int kMostVariants = 16;
/// 65,536 blocks of 256 threads each: about 0.2 s.
constexpr int64_t kMostThresholdWork = int64_t{18} << 20;
constexpr int kMostWholeGrids = 3;

/// The search for one output's element without an owner.
class UnownedSearch {
 public:
  UnownedSearch(const Facts& facts, const OperandSpec& output) : facts_(facts), output_(output) {}

  /// The smallest case that is found, beginning at `start`.
  std::optional<Case> from(const Case& start) const {
    for (const SizeSpec& size : facts_.contract.sizes) {
      std::vector<int64_t> values = thresholds(facts_.contract, start, size);
      values.push_back(greatest(size));
      for (const int64_t value : values) {
        Case c = start;
        c.sizes[size.name] = value;
        if (!lower_to_fit(facts_.contract, {&size}, c)) continue;
        if (shows(c)) return smaller(std::move(c));
      }
    }
    const auto together = largest_together(facts_.contract, output_, start);
    if (together && shows(*together)) return smaller(*together);
    return std::nullopt;
  }

 private:
  bool shows(const Case& c) const {
    const auto instance = if_valid(facts_.contract, c);
    if (!instance) return false;
    const Tensor& tensor = *instance->find(output_.name);
    return tensor.present && unowned_element(*instance, tensor).has_value();
  }

  Case smaller(Case c) const {
    const Case least = least_case(facts_.contract);
    for (const SizeSpec& size : facts_.contract.sizes) {
      if (!size.in.empty()) continue;
      const int64_t most = c.sizes[size.name];
      const auto hides = [&](int64_t value) {
        c.sizes[size.name] = value;
        return !shows(c);
      };
      const int64_t low = least.sizes.at(size.name);
      c.sizes[size.name] = low < most && hides(low) ? largest_where(low, most, hides) + 1
                                                    : std::min(low, most);
    }
    return c;
  }

  const Facts& facts_;
  const OperandSpec& output_;
};

}  // namespace

void add_unowned(const Facts& facts, const std::function<void(int, Case&)>& choose,
                 std::vector<Case>& out) {
  for (const OperandSpec& output : facts.contract.args) {
    if (!output.is_judged() || facts.contract.find_ownership(output.name) == nullptr) continue;
    const UnownedSearch search(facts, output);
    for (int number = 0; number < kMostVariants; ++number) {
      Case start = least_case(facts.contract);
      choose(number, start);
      std::optional<Case> found = search.from(start);
      if (!found || !afford(facts, *found)) continue;
      fill_largest(facts, static_cast<int>(out.size()), *found);
      out.push_back(std::move(*found));
      break;
    }
  }
}

void add_past_thresholds(const Facts& facts, const std::function<void(int, Case&)>& choose,
                         std::vector<Case>& out) {
  int number = 0, made = 0;
  for (const SizeSpec& size : facts.contract.sizes) {
    Case start = least_case(facts.contract);
    choose(number, start);
    for (const int64_t value : thresholds(facts.contract, start, size)) {
      Case c = start;
      choose(number++, c);
      c.sizes[size.name] = value;
      fit_ties(facts.contract, size.name, c);
      if (facts.subset_allowed && !afford(facts, c)) continue;
      const auto work = work_if_valid(facts.contract, c);
      if (!work || *work > kMostThresholdWork || made == kMostWholeGrids) continue;
      fill_largest(facts, number, c);
      out.push_back(std::move(c));
      ++made;
    }
  }
}

}  // namespace assay
