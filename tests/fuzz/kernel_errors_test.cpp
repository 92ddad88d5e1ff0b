// One kernel with an error does not hide the others, nor a folder that cannot be written a finding.
#include <nlohmann/json.hpp>

#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Three contracts: one whose kernel has a bug, one whose source does not compile, one with a
/// typing error.
struct Three : Project {
  Three() {
    folder.write("scale_rows.cu", buggy_source());
    folder.write("broken.cu", replaced(kScaleSource, "x[i] + x[i];", "x[i] + x[i]"));
    broken = folder.write("broken.toml",
                          replaced(replaced(kScaleContract, "\"scale_rows\"", "\"broken\""),
                                   "scale_rows.cu", "broken.cu"));
    unread = folder.write("unread.toml", replaced(kScaleContract, "sizes =", "sices ="));
  }
  std::string broken, unread;

  Outcome run(std::vector<std::string> more) const {
    more.insert(more.begin(), {"smoke", broken, unread, contract, "--cases", "40", "--out", out});
    return run_assay(more);
  }
};

TEST(KernelErrors, TheOthersAreCheckedInEveryFormat) {
  const Three p;
  const Outcome text = p.run({});
  EXPECT_EQ(text.status, 2) << text.out << text.err;
  for (const char* part :
       {"broken: could not be run: ", "broken.cu:5: ", "unread: could not be run: ",
        "unread.toml:4", "scale_rows: unwritten (R1)",
        "2 of 3 kernels could not be run, 1 finding"}) {
    EXPECT_TRUE(has(text.out, part)) << part << "\n" << text.out;
  }
  EXPECT_TRUE(has(text.err, "assay: ") && has(text.err, "broken.cu:5")) << text.err;

  const auto json = nlohmann::json::parse(p.run({"--json"}).out);
  EXPECT_EQ(json.at("exit"), 2);
  EXPECT_EQ(json.at("findings").size(), 1u);
  int errors = 0;
  for (const auto& kernel : json.at("kernels")) {
    if (!kernel.contains("error")) continue;
    ++errors;
    EXPECT_EQ(kernel.at("error").at("line"), kernel.at("kernel") == "broken" ? 5 : 4) << kernel;
  }
  EXPECT_EQ(errors, 2);

  const std::string github = p.run({"--format", "github"}).out;
  EXPECT_TRUE(has(github, "broken.cu,line=5,")) << github;
  EXPECT_TRUE(has(github, "unread.toml,line=4,")) << github;
  const std::string junit = p.run({"--format", "junit"}).out;
  EXPECT_TRUE(has(
      junit, "<testsuite name=\"broken\" tests=\"1\" failures=\"0\" skipped=\"0\" errors=\"1\""))
      << junit;
  EXPECT_TRUE(has(junit, "<error message=")) << junit;
  EXPECT_TRUE(has(junit, "<failure message=")) << junit;
}

TEST(KernelErrors, OneKernelAloneIsOneLine) {
  const Three p;
  const Outcome outcome = run_assay({"smoke", p.broken, "--cases", "40", "--out", p.out});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(has(outcome.err, "broken.cu:5")) << outcome.err;
}

TEST(KernelErrors, FuzzAndCalibrateAndCheckGoOnToo) {
  const Three p;
  const Outcome calibrate = run_assay(
      {"calibrate", p.broken, p.unread, p.contract, "--cases", "8", "--jobs", "1", "--out", p.out});
  EXPECT_EQ(calibrate.status, 2);
  EXPECT_TRUE(has(calibrate.out, "scale_rows: unwritten (R1)")) << calibrate.out;
  EXPECT_TRUE(has(calibrate.out, "broken: could not be run")) << calibrate.out;
  const Outcome fuzz =
      run_shell(std::string(ASSAY_PROGRAM) + " fuzz " + p.broken + " " + p.unread + " " +
                p.contract + " --jobs 1 --cases 60 --for 60s --out " + p.folder / "fuzz");
  EXPECT_EQ(fuzz.status, 2);
  EXPECT_TRUE(has(fuzz.out, "scale_rows: unwritten (R1)")) << fuzz.out << fuzz.err;
  EXPECT_TRUE(has(fuzz.out, "2 of 3 kernels could not be run")) << fuzz.out;
  const Outcome check = run_assay({"check", p.unread, p.contract, "--json"});
  EXPECT_EQ(check.status, 2);
  const auto json = nlohmann::json::parse(check.out);
  EXPECT_TRUE(json.at("kernels")[0].contains("error"));
  EXPECT_FALSE(json.at("kernels")[1].at("lints").empty());
}

TEST(SmokeOut, IsLookedAtBeforeAnythingRuns) {
  const Project p;
  p.folder.write("taken", "a file\n");
  for (const std::string& out : {p.folder / "taken", p.folder / "taken/below"}) {
    const Outcome outcome = run_assay({"smoke", p.contract, "--cases", "10", "--out", out});
    EXPECT_EQ(outcome.status, 2);
    EXPECT_TRUE(has(outcome.err, "cannot write here")) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
  EXPECT_EQ(run_assay({"smoke", p.contract, "--cases", "10", "--out", p.out}).status, 0);
  EXPECT_FALSE(fs::exists(p.out)) << "looking leaves nothing";
}

TEST(ExhaustOut, IsLookedAtBeforeAnythingRuns) {
  const Project p;
  const std::string run = "cd '" + p.folder.path() + "' && '" ASSAY_PROGRAM "' exhaust '" +
                          p.contract + "' --mantissas 1";
  // The folder of findings when none is named.
  p.folder.write("out", "a file\n");
  const Outcome taken = run_shell(run);
  EXPECT_EQ(taken.status, 2);
  EXPECT_TRUE(has(taken.err, "out/scale_rows: cannot write here: Not a directory")) << taken.err;
  EXPECT_EQ(std::count(taken.err.begin(), taken.err.end(), '\n'), 1) << taken.err;
  EXPECT_EQ(taken.out, "");
  fs::remove(p.folder / "out");
  EXPECT_EQ(run_shell(run).status, 0);
  EXPECT_FALSE(fs::exists(p.folder / "out")) << "looking leaves nothing";
  // That of results, and of findings in it.
  p.folder.write("results/scale_rows/findings", "a file\n");
  const Outcome findings = run_shell(run + " --out results");
  EXPECT_EQ(findings.status, 2);
  EXPECT_TRUE(has(findings.err, "results/scale_rows/findings: cannot write here")) << findings.err;
}

TEST(ExhaustOut, OfEveryKernelIsLookedAtBeforeTheFirstRuns) {
  const Project p;
  const std::string other = p.folder.write(
      "other.toml", replaced(kScaleContract, "name = \"scale_rows\"", "name = \"other\""));
  p.folder.write("out/other", "a file\n");
  const Outcome outcome = run_assay({"exhaust", p.contract, other, "--out", p.out});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(has(outcome.err, "out/other")) << outcome.err;
  const std::string journal = read_whole(p.out + "/scale_rows/journal.jsonl");
  EXPECT_EQ(std::count(journal.begin(), journal.end(), '\n'), 1) << "no unit ran: " << journal;
}

/// A disk that fills while it runs: the finding is told, the status is that of an error.
TEST(SmokeOut, AFindingThatCannotBeFiledIsPrinted) {
  const Project p;
  p.folder.write("scale_rows.cu", buggy_source());
  const std::string smoke = std::string(ASSAY_PROGRAM) + " smoke " + p.contract;
  const Outcome outcome = run_shell("(ulimit -f 0; " + smoke + " --cases 40 --out " + p.out +
                                    " 2>&1; echo status $?) | cat");
  for (const char* part :
       {"unwritten (R1)", "not all findings could be filed", "cannot write", "status 2"}) {
    EXPECT_TRUE(has(outcome.out, part)) << part << "\n" << outcome.out << outcome.err;
  }
}

}  // namespace
}  // namespace assay::testing
