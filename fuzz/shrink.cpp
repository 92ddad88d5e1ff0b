#include "fuzz/shrink.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include "fuzz/stop_signals.hpp"
#include "generators/generate.hpp"

namespace assay {

namespace {

/// A mismatch this many times beyond what is allowed stays so while it shrinks: a marginal one may
/// have another cause, and convinces nobody.
constexpr double kBlatant = 8;

/// The failure of that cause() as case `c` shows it, or nothing. A case that cannot be built or
/// compiled fails differently. `times`: what a mismatch must exceed its allowance by.
std::optional<Finding> same_failure(Checker& checker, const Case& c, const std::string& cause,
                                    double times) {
  try {
    const CheckResult result = checker.check(c);
    for (const Finding& f : result.findings) {
      if (f.cause() != cause) continue;
      if (f.kind == "mismatch" && result.verdict.worst_times < times) break;
      return f;
    }
  } catch (const InputError&) {
  }
  return std::nullopt;
}

class Clock {
 public:
  explicit Clock(double limit) : limit_(limit) {}
  bool over() const {
    if (StopSignals::asked()) return true;
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
    return limit_ > 0 && spent.count() > limit_;
  }

 private:
  double limit_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

ShrinkResult shrink(Checker& checker, const Finding& finding, const ShrinkLimits& limits) {
  const std::string cause = finding.cause();
  const Clock clock(limits.seconds);
  ShrinkResult result{finding.the_case, finding};
  result.the_case.recorded = {};
  const double times = finding.kind == "mismatch"
                           ? std::min(kBlatant, checker.check(finding.the_case).verdict.worst_times)
                           : 0;
  std::set<std::string> tried{print_case(result.the_case)};

  const auto step = [&]() -> bool {
    for (Case& simpler : simpler_cases(checker.contract(), result.the_case)) {
      if (result.checks >= limits.checks || clock.over()) return false;
      if (!tried.insert(print_case(simpler)).second) continue;
      ++result.checks;
      if (auto same = same_failure(checker, simpler, cause, times)) {
        result.the_case = std::move(simpler);
        result.finding = std::move(*same);
        return true;
      }
    }
    result.fixpoint = true;
    return false;
  };
  while (step()) ++result.accepted;

  // What breaks a launch's limit is found as its smallest numbers already.
  result.fixpoint |= finding.kind == name(DiagnosticKind::launch_limit);
  const CheckResult last = checker.check(result.the_case);
  for (const Finding& f : last.findings) {
    if (f.cause() != cause) continue;
    result.the_case.recorded = recorded_of(f, last);
    result.finding = f;
    checker.locate(last, result.finding);
    break;
  }
  result.finding.the_case = result.the_case;
  return result;
}

}  // namespace assay
