// Does feedback help? Cases to the first finding over the planted bugs, the search steered by what it
// sees inside the kernel (guided) against fresh cases of the generator alone (unguided). Both start
// with the covering cases. Only pairs are shown for which the unguided search needs more than
// kHard cases, in the median over ten other seeds: the rest is found before there is much to learn,
// and a choice by the seeds that are shown would take the pairs on which the unguided was unlucky.
//
//   guidance_bench [--benchmark_filter=REGEX]   names of pairs
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "fuzz/find_kernels.hpp"
#include "fuzz/search.hpp"
#include "fuzz/workers.hpp"

namespace {

namespace fs = std::filesystem;
using namespace assay;

constexpr int kSeeds = 10;
/// No setting of the search was chosen by these seeds, and no pair.
constexpr uint64_t kFirstSeed = 11;
constexpr uint64_t kFirstChoosingSeed = 1001;
constexpr int64_t kHard = 100;
/// A pair that was made to see whether feedback works; the others model reports, or are mutations.
constexpr const char* kMadeForFeedback = "probe_limit";
/// A search that found nothing ends here and counts as one that took this long.
constexpr int64_t kMostCases = 8000;

/// Cases until the first finding, it included; kMostCases when there was none.
int64_t cases_to_finding(Checker& checker, uint64_t seed, bool guided) {
  Search search(checker.contract(), Seed{case_seed(seed, checker.contract().name, 0)});
  Features features;
  for (int64_t cases = 1; cases < kMostCases; ++cases) {
    const Case c = search.next();
    const CheckResult result = checker.check(c);
    if (!result.findings.empty()) return cases;
    if (guided) search.learn(c, features.of(result));
  }
  return kMostCases;
}

struct Spread {
  std::vector<int64_t> cases;  ///< sorted

  double median() const {
    return static_cast<double>(cases[(kSeeds - 1) / 2] + cases[kSeeds / 2]) / 2;
  }
  std::string text() const {
    char line[80];
    std::snprintf(line, sizeof line, "%9.1f %7lld %7lld", median(),
                  static_cast<long long>(cases.front()), static_cast<long long>(cases.back()));
    return line;
  }
};

Spread over_seeds(Checker& checker, uint64_t first, bool guided) {
  Spread spread;
  for (uint64_t i = 0; i < kSeeds; ++i) {
    spread.cases.push_back(cases_to_finding(checker, first + i, guided));
  }
  std::sort(spread.cases.begin(), spread.cases.end());
  return spread;
}

/// The contract of the planted bug beside a twin.
ContractPtr bug_of(const fs::path& folder) {
  for (const std::string& file : contract_files(folder)) {
    if (fs::path(file).filename() != "twin.toml") return load_kernels({file}).front();
  }
  throw InputError({folder}, "holds no contract beside twin.toml");
}

std::vector<fs::path> pairs_named(const std::regex& wanted) {
  std::vector<fs::path> folders;
  for (const auto& entry :
       fs::directory_iterator(source_root() + "/kernels_under_test/planted")) {
    const bool is_pair = fs::exists(entry.path() / "twin.toml");
    if (is_pair && std::regex_search(entry.path().filename().string(), wanted)) {
      folders.push_back(entry.path());
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

void compare(const std::vector<fs::path>& folders) {
  std::printf("cases to the first finding, seeds %d to %d, at most %lld: median, least, most\n",
              static_cast<int>(kFirstSeed), static_cast<int>(kFirstSeed) + kSeeds - 1,
              static_cast<long long>(kMostCases));
  std::printf("%-28s %9s %7s %7s  %9s %7s %7s  %6s\n", "pair", "unguided", "", "", "guided", "", "",
              "times");
  int shown = 0, sooner = 0;
  double logs = 0, logs_of_others = 0;
  bool made = false;
  for (const fs::path& folder : folders) {
    const ContractPtr bug = bug_of(folder);
    Workbench bench("ptx");
    Checker& checker = bench.checker(*bug);
    if (over_seeds(checker, kFirstChoosingSeed, false).median() <= kHard) continue;
    const Spread unguided = over_seeds(checker, kFirstSeed, false);
    const Spread guided = over_seeds(checker, kFirstSeed, true);
    const double times = unguided.median() / guided.median();
    std::printf("%-28s %s  %s  %6.2f\n", folder.filename().c_str(), unguided.text().c_str(),
                guided.text().c_str(), times);
    std::fflush(stdout);
    ++shown;
    sooner += times > 1;
    logs += std::log(times);
    if (folder.filename() == kMadeForFeedback) {
      made = true;
    } else {
      logs_of_others += std::log(times);
    }
  }
  std::printf("%d of %zu pairs take the unguided search more than %lld cases; guided, %d of them are "
              "found sooner",
              shown, folders.size(), static_cast<long long>(kHard), sooner);
  if (shown > 0) std::printf(", %.2f times in the geometric mean", std::exp(logs / shown));
  if (made && shown > 1) {
    std::printf(", %.2f without %s", std::exp(logs_of_others / (shown - 1)), kMadeForFeedback);
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  std::string filter = ".";
  const char* const flag = "--benchmark_filter=";
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], flag, std::strlen(flag)) == 0) filter = argv[i] + std::strlen(flag);
  }
  try {
    compare(pairs_named(std::regex(filter)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "guidance_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
