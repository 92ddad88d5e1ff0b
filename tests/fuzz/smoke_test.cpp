// `assay smoke` and what follows from a finding: report, case file, repro, shrink.
#include <nlohmann/json.hpp>

#include "fuzz/check_case.hpp"
#include "fuzz/find_kernels.hpp"
#include "fuzz/replay.hpp"
#include "fuzz/shrink.hpp"
#include "fuzz/workers.hpp"
#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

nlohmann::json smoke_json(const Project& p, const std::string& jobs, const std::string& out,
                          const std::string& seed = "5") {
  const Outcome outcome = run_assay({"smoke", p.contract, "--cases", "150", "--seed", seed,
                                     "--jobs", jobs, "--json", "--out", p.folder / out});
  return nlohmann::json::parse(outcome.out);
}

/// Without what may differ between runs: times, and the folder that was asked for.
nlohmann::json comparable(nlohmann::json report) {
  report.erase("seconds");
  for (auto& kernel : report["kernels"]) kernel.erase("seconds");
  for (auto& finding : report["findings"]) {
    finding["case"] = fs::path(finding["case"].get<std::string>()).filename();
    finding.erase("command");
  }
  return report;
}

TEST(Smoke, PassesARightKernelOutsideTheTree) {
  const Project p;
  const Outcome outcome = run_assay({"smoke", p.contract, "--cases", "100", "--out", p.out});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("scale_rows"), std::string::npos);
  EXPECT_NE(outcome.out.find("clean: 100 cases of 1 kernel, 1 of 1 variants reached, in"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("seed"), std::string::npos) << "the seed is printed before the run";
  EXPECT_FALSE(fs::exists(p.out));
}

TEST(Smoke, IsTheSameWhateverTheJobs) {
  const Project p;
  p.folder.write("scale_rows.cu", buggy_source());
  const auto one = comparable(smoke_json(p, "1", "one"));
  const auto three = comparable(smoke_json(p, "3", "three"));
  EXPECT_EQ(one, three);
  ASSERT_GE(one.at("findings").size(), 1u);
  const std::string file = one.at("findings")[0].at("case");
  EXPECT_EQ(read_whole(p.folder / "one/scale_rows/" + file),
            read_whole(p.folder / "three/scale_rows/" + file));
}

TEST(Smoke, FindsABugAndFilesItShrunk) {
  const Project p;
  p.folder.write("scale_rows.cu", buggy_source());
  const auto report = smoke_json(p, "2", "out");
  EXPECT_EQ(report.at("exit"), 1);
  ASSERT_EQ(report.at("findings").size(), 1u) << report;
  const auto& finding = report.at("findings")[0];
  EXPECT_EQ(finding.at("kind"), "unwritten");
  EXPECT_EQ(finding.at("line"), 2);  // where the entry stands
  const std::string file = finding.at("case");
  const Case c = load_case(file);
  EXPECT_EQ(c.sizes.at("n"), 1) << "one element is enough to show it";
  EXPECT_EQ(c.recorded.kind, "unwritten");

  const Outcome repro = run_assay({"repro", file, "--contract", p.contract});
  EXPECT_EQ(repro.status, 1);
  EXPECT_NE(repro.out.find("recorded  same"), std::string::npos) << repro.out;
}

TEST(Smoke, AKnownFailureDoesNotFail) {
  const Project p;
  p.folder.write("scale_rows.cu", buggy_source());
  const auto report = smoke_json(p, "2", "out");
  ASSERT_EQ(report.at("findings").size(), 1u);
  fs::create_directories(p.folder / "corpus/scale_rows/open");
  fs::copy_file(report.at("findings")[0].at("case").get<std::string>(),
                p.folder / "corpus/scale_rows/open/tail.case");
  const auto again = smoke_json(p, "2", "out");
  EXPECT_EQ(again.at("exit"), 0) << again;
  EXPECT_EQ(again.at("findings")[0].at("known"), true);
}

/// A line above the kernel changes no instruction: what was recorded is the same failure still.
TEST(Smoke, ARecordedFailureMovesWithItsSource) {
  const Project p;
  p.folder.write("scale_rows.cu", buggy_source());
  const auto report = smoke_json(p, "2", "out");
  ASSERT_EQ(report.at("findings").size(), 1u);
  fs::create_directories(p.folder / "corpus/scale_rows/open");
  const std::string file = p.folder / "corpus/scale_rows/open/tail.case";
  fs::copy_file(report.at("findings")[0].at("case").get<std::string>(), file);
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const auto replay = [&] {
    std::ostringstream out, err;
    run_replay({"--contract", p.contract, file}, out, err);
    return out.str() + err.str();
  };

  p.folder.write("scale_rows.cu", "// Doubles.\n" + buggy_source());
  const Outcome moved = run_assay({"repro", file, "--contract", p.contract});
  EXPECT_TRUE(has(moved.out, "recorded  same, now at scale_rows.cu:3\n")) << moved.out;
  EXPECT_TRUE(has(replay(), "as it should be")) << replay();
  EXPECT_EQ(smoke_json(p, "2", "out").at("findings")[0].at("known"), true);

  // Another program: whether the failure is that one cannot be told.
  p.folder.write("scale_rows.cu", "// Doubles.\n" + replaced(buggy_source(), "n - 1", "n - 3"));
  const Outcome other = run_assay({"repro", file, "--contract", p.contract});
  EXPECT_TRUE(has(other.out, "recorded  the recorded failure does not show: unwritten R1 at "
                             "scale_rows.cu:2; the program differs")) << other.out;
  EXPECT_TRUE(has(replay(), "fails differently")) << replay();
  EXPECT_EQ(smoke_json(p, "2", "out").at("findings")[0].at("known"), false);
}

TEST(Repro, IsBitIdenticalAndExplains) {
  const Project p;
  // Wrong by one part in a thousand: no allowance is that wide.
  p.folder.write("scale_rows.cu", replaced(kScaleSource, "x[i] + x[i]", "x[i] * T(2.002f)"));
  const Outcome first = run_assay({"repro", p.case_file});
  const Outcome second = run_assay({"repro", p.case_file});
  EXPECT_EQ(first.status, 1) << first.out << first.err;
  EXPECT_EQ(first.out, second.out);
  for (const char* part :
       {"mismatch", "first wrong element y[", "got", "accepted", "allowance", "ulps", "x[",
        "where in y", "rule R", "scale_rows.cu", "repeat    assay repro"}) {
    EXPECT_NE(first.out.find(part), std::string::npos) << part << "\n" << first.out;
  }
}

TEST(Repro, ACaseFindsTheContractBesideIt) {
  const Project p;
  EXPECT_EQ(run_assay({"repro", p.case_file}).status, 0);
  const std::string deeper = p.folder.write("corpus/scale_rows/seeds/x.case", kScaleCase);
  EXPECT_EQ(run_assay({"repro", deeper}).status, 0);
}

TEST(Shrink, KeepsTheSameFailureToAFixpoint) {
  const Project p;
  // Two bugs: the tail is not written, and element 70 is wrong.
  p.folder.write("scale_rows.cu",
                 replaced(buggy_source(), "x[i] + x[i]", "i == 70 ? T(1e30) : x[i] + x[i]"));
  const auto contract = load_kernels({p.contract}).front();
  Workbench bench("ptx");
  Checker& checker = bench.checker(*contract);
  Case c = load_case(p.case_file);
  c.sizes["n"] = 1000;
  const CheckResult result = checker.check(c);
  ASSERT_EQ(result.findings.size(), 1u);
  const ShrinkResult smaller = shrink(checker, result.findings.front());
  EXPECT_TRUE(smaller.fixpoint);
  EXPECT_EQ(smaller.finding.identity(), result.findings.front().identity());
  EXPECT_LT(smaller.the_case.sizes.at("n"), 1000);
  const CheckResult again = checker.check(smaller.the_case);
  ASSERT_FALSE(again.findings.empty());
  EXPECT_EQ(again.findings.front().identity(), result.findings.front().identity());
}

TEST(Shrink, ABlatantMismatchDoesNotShrinkToAMarginalOne) {
  const Project p;
  // Far off in long rows; a few ulps off, with the same rule and line, in short ones.
  p.folder.write("scale_rows.cu", replaced(kScaleSource, "y[i] = x[i] + x[i];",
                                           "y[i] = n < 200 ? (x[i] + x[i]) * T(1 + 0x1p-23) "
                                           ": x[i] + x[i] + T(1e30);"));
  const auto contract = load_kernels({p.contract}).front();
  Workbench bench("ptx");
  Checker& checker = bench.checker(*contract);
  Case c = load_case(p.case_file);
  c.sizes["n"] = 50;
  const CheckResult marginal = checker.check(c);
  ASSERT_EQ(marginal.findings.size(), 1u);
  ASSERT_LT(marginal.verdict.worst_times, 8);
  c.sizes["n"] = 1000;
  const CheckResult blatant = checker.check(c);
  ASSERT_EQ(blatant.findings.size(), 1u);
  ASSERT_EQ(blatant.findings.front().identity(), marginal.findings.front().identity());
  const ShrinkResult smaller = shrink(checker, blatant.findings.front());
  EXPECT_GE(smaller.the_case.sizes.at("n"), 200);
  EXPECT_GE(checker.check(smaller.the_case).verdict.worst_times, 8);
  // A marginal one may shrink to anything that fails as much.
  EXPECT_LT(shrink(checker, marginal.findings.front()).the_case.sizes.at("n"), 50);
}

TEST(Smoke, ACaseThatIsNotJudgedIsFiledAndExplained) {
  const Project p;
  // The logarithm of what may be 0 has no bound.
  p.folder.write("scale_rows.toml",
                 replaced(read_whole(p.contract), "y = \"x + x\"", "y = \"log(x * 0.3 - x * 0.3)\""));
  const Outcome smoke = run_assay({"smoke", p.contract, "--cases", "40", "--out", p.out});
  const std::string file = p.out + "/scale_rows/not-judged.case";
  ASSERT_TRUE(fs::exists(file)) << smoke.out << smoke.err;
  const std::string command = "assay repro " + file + " --contract " + p.contract;
  EXPECT_NE(smoke.out.find(command), std::string::npos) << smoke.out;
  const Outcome repro = run_assay({"repro", file, "--contract", p.contract});
  for (const char* part : {"not judged: no documented bound for any element (R10)",
                           "first element without a documented bound y[", "  no bound  log(",
                           "  from\n    x[", "\nrepeat    "})
    EXPECT_NE(repro.out.find(part), std::string::npos) << part << "\n" << repro.out;
}

TEST(Shrink, WritesACaseThatReadsBack) {
  const Project p;
  p.folder.write("scale_rows.cu", buggy_source());
  const Outcome to_stdout = run_assay({"shrink", p.case_file});
  EXPECT_EQ(to_stdout.status, 0) << to_stdout.err;
  const std::string file = p.folder / "small.case";
  EXPECT_EQ(run_assay({"shrink", p.case_file, "--out", file}).status, 0);
  EXPECT_EQ(read_whole(file), to_stdout.out);
  EXPECT_EQ(parse_case(to_stdout.out, "small").sizes.at("n"), 1);
}

TEST(EntryLine, IsTheDefinitionsLine) {
  const Project p;
  EXPECT_EQ(find_entry_line(p.source, "scale_rows<{T}>"), 2);
  EXPECT_EQ(find_entry_line(p.source, "mine::scale_rows<{T}, 3>"), 2);
  EXPECT_EQ(find_entry_line(p.source, "scale"), 0);  // part of a word is another name
  EXPECT_EQ(find_entry_line(p.folder / "none.cu", "scale_rows"), 0);
}

}  // namespace
}  // namespace assay::testing
