#include "fuzz/shrink.hpp"

#include <chrono>
#include <optional>
#include <set>

#include "generators/generate.hpp"

namespace assay {

namespace {

struct SameFailure {
  Finding finding;
  Recorded recorded;
};

/// The failure `identity` as case `c` shows it, or nothing. A case that cannot be built or compiled
/// fails differently.
std::optional<SameFailure> same_failure(Checker& checker, const Case& c,
                                        const std::string& identity) {
  try {
    const CheckResult result = checker.check(c);
    for (const Finding& f : result.findings) {
      if (f.identity() == identity) return SameFailure{f, recorded_of(f, result)};
    }
  } catch (const InputError&) {
  }
  return std::nullopt;
}

class Clock {
 public:
  explicit Clock(double limit) : limit_(limit) {}
  bool over() const {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
    return limit_ > 0 && spent.count() > limit_;
  }

 private:
  double limit_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

ShrinkResult shrink(Checker& checker, const Finding& finding, const ShrinkLimits& limits) {
  const std::string identity = finding.identity();
  const Clock clock(limits.seconds);
  ShrinkResult result{finding.the_case, finding};
  result.the_case.recorded = {};
  std::set<std::string> tried{print_case(result.the_case)};

  const auto step = [&]() -> bool {
    for (Case& simpler : simpler_cases(checker.contract(), result.the_case)) {
      if (result.checks >= limits.checks || clock.over()) return false;
      if (!tried.insert(print_case(simpler)).second) continue;
      ++result.checks;
      if (auto same = same_failure(checker, simpler, identity)) {
        result.the_case = std::move(simpler);
        result.finding = std::move(same->finding);
        return true;
      }
    }
    result.fixpoint = true;
    return false;
  };
  while (step()) ++result.accepted;

  if (auto same = same_failure(checker, result.the_case, identity)) {
    result.the_case.recorded = same->recorded;
    result.finding = std::move(same->finding);
  }
  result.finding.the_case = result.the_case;
  return result;
}

}  // namespace assay
