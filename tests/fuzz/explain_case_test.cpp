// What repro and smoke tell about a failure: the store that made it, its cause first, plain
// numbers.
#include <nlohmann/json.hpp>

#include "fuzz/explain_case.hpp"

#include <gtest/gtest.h>

#include "fuzz/findings.hpp"
#include "fuzz/report.hpp"
#include "tests/cpu_time.hpp"
#include "tests/fuzz/run_assay.hpp"

namespace assay {
namespace {

using test::cpu_seconds;
using testing::Outcome;
using testing::Project;
using testing::run_assay;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The kernel with one element of each block wrong.
std::string wrong_source() {
  return testing::replaced(testing::kScaleSource, "if (i < n) y[i] = x[i] + x[i];",
                           "if (i >= n) return;\n  y[i] = x[i] + x[i];\n"
                           "  if (i == 70)\n    y[i] = x[i] + T(4096);");
}

Outcome repro(const Project& project, const std::string& file) {
  return run_assay({"repro", file, "--contract", project.contract});
}

TEST(ExplainCase, ShowsTheStoreOfTheWrongElement) {
  Project project;
  project.folder.write("scale_rows.cu", wrong_source());
  const Outcome o = repro(project, project.case_file);
  if (o.status == 3) GTEST_SKIP() << o.err;
  ASSERT_EQ(o.status, 1) << o.out << o.err;
  EXPECT_TRUE(has(o.out, "mismatch (R4) at scale_rows.cu:7: y: 1 of 100 elements wrong")) << o.out;
  EXPECT_TRUE(has(o.out, "stored    by block [1, 0, 0] thread [6, 0, 0] at scale_rows.cu:7"))
      << o.out;
  EXPECT_TRUE(has(o.out, ">     7 |     y[i] = x[i] + T(4096);")) << o.out;
  EXPECT_TRUE(has(o.out, "times what is allowed")) << o.out;
}

TEST(ExplainCase, EveryFormatNamesTheLineThatStored) {
  const std::string witness =
      ASSAY_SOURCE_DIR "/kernels_under_test/planted/half_square/witness.case";
  const auto report = nlohmann::json::parse(run_assay({"repro", witness, "--json"}).out);
  EXPECT_EQ(report.at("findings")[0].at("line"), 23) << report;
  EXPECT_TRUE(has(run_assay({"repro", witness, "--format", "github"}).out, "line=23"));
}

TEST(ExplainCase, ShowsTheFirstExceptionalArithmetic) {
  const std::string folder = ASSAY_SOURCE_DIR "/kernels_under_test/planted/";
  const Outcome o = run_assay({"repro", folder + "half_square/witness.case"});
  if (o.status == 3) GTEST_SKIP() << o.err;
  ASSERT_EQ(o.status, 1) << o.out << o.err;
  EXPECT_TRUE(has(o.out, "exceptional arithmetic on the way to y[0, 0]\n"
                         "  infinity at half_square.cu:17 (mul.f16) by thread (0,0,0) of block "
                         "(0,0,0): of 256, 256: inf\n\nhalf_square.cu\n"))
      << o.out;
  // Every operation was ordinary: a tail that is left out.
  const Outcome plain = run_assay({"repro", folder + "tail_mask/witness.case"});
  EXPECT_FALSE(has(plain.out, "exceptional")) << plain.out;
}

TEST(ExplainCase, SaysThatNothingWasStored) {
  Project project;
  project.folder.write("scale_rows.cu", testing::buggy_source());
  const Outcome o = repro(project, project.case_file);
  if (o.status == 3) GTEST_SKIP() << o.err;
  EXPECT_TRUE(has(o.out, "first unwritten element y[99]")) << o.out;
  EXPECT_TRUE(has(o.out, "stored    by no thread")) << o.out;
}

TEST(ExplainCase, ScalarsAreExact) {
  Project project;
  const std::string contract =
      testing::replaced(testing::kScaleContract, "value = \"n\" },",
                        "value = \"n\" },\n  { name = \"big\", kind = \"scalar\", dtype = \"u32\", "
                        "value = \"4294967295\" },");
  project.folder.write("scale_rows.toml", contract);
  project.folder.write("scale_rows.cu",
                       testing::replaced(testing::kScaleSource, "int n)", "int n, unsigned big)"));
  const Outcome o = repro(project, project.case_file);
  if (o.status == 3) GTEST_SKIP() << o.err;
  EXPECT_TRUE(has(o.out, "big: scalar u32 = 4294967295\n")) << o.out << o.err;
}

TEST(ExplainCase, OverridesAreShownAsWritten) {
  Project project;
  const std::string file = project.folder.write(
      "set.case",
      testing::replaced(testing::kScaleCase, "end\n", "set x[3] = 241\nset x[5] = 0x7fc0\nend\n"));
  const Outcome o = repro(project, file);
  if (o.status == 3) GTEST_SKIP() << o.err;
  EXPECT_TRUE(has(o.out, "set x[3] to 241\n")) << o.out << o.err;
  EXPECT_TRUE(has(o.out, "set x[5] to bits 0x7fc0\n")) << o.out;
}

TEST(ExplainCase, AForeignCaseWithoutItsContractSaysWhatToGive) {
  const testing::TemporaryFolder alone;
  const std::string file = alone.write("a/b/c/d/foreign.case", testing::kScaleCase);
  const Outcome o = run_assay({"repro", file});
  EXPECT_EQ(o.status, 2);
  EXPECT_TRUE(has(o.err, "--contract")) << o.err;
}

TEST(Findings, OfOneCaseAreOrderedByCause) {
  FindingSet set;
  const auto add = [&](const char* kind, int64_t order) {
    set.add({"k", kind, kind, "k.cu", 3, "", {}}, order);
  };
  for (const char* kind :
       {"mismatch", "race", "stray_write", "out_of_bounds", "uninitialised", "wrap"})
    add(kind, 7);
  add("hang", 2);
  std::vector<std::string> kinds;
  for (const FindingSet::Entry& entry : set.sorted()) kinds.push_back(entry.finding.kind);
  EXPECT_EQ(kinds, (std::vector<std::string>{"hang", "wrap", "stray_write", "race",
                                             "uninitialised", "out_of_bounds", "mismatch"}));
}

TEST(Smoke, AskedTimeHoldsAndSaysWhatWasNotCovered) {
  Project project;
  const double start = cpu_seconds();
  const Outcome o =
      run_assay({"smoke", project.contract, "--for", "0.01s", "--jobs", "1", "--out", project.out});
  if (o.status == 3) GTEST_SKIP() << o.err;
  EXPECT_LT(cpu_seconds() - start, 10);  // one case, with a compilation
  EXPECT_TRUE(has(o.out, "the time was over after")) << o.out << o.err;
}

TEST(TextReport, GroupsFindingsOfOneCaseAndSaysWhatIsNotShrunk) {
  Report report;
  report.jobs = 2;
  report.kernels.resize(1);
  report.kernels[0].kernel = "k";
  FiledFinding wrap{{"k", "wrap", "wrap", "k.cu", 15, "overflow", {}}, "out/a.case", "/x/k.toml"};
  FiledFinding stray{
      {"k", "stray_write", "stray_write", "k.cu", 19, "y", {}}, "out/b.case", "/x/k.toml"};
  stray.with_above = "in the same case";
  stray.shrunk = false;
  report.findings = {wrap, stray};
  const std::string text = text_report(report);
  EXPECT_TRUE(has(text, "with the above, in the same case: k.cu:19: k: stray_write")) << text;
  EXPECT_TRUE(has(text,
                  "not shrunk fully: assay shrink out/b.case --contract /x/k.toml --out "
                  "out/b.case"))
      << text;
  EXPECT_FALSE(has(text, "assay shrink out/a.case")) << text;
  EXPECT_TRUE(has(text, "2 findings, 1 distinct by case")) << text;
  EXPECT_TRUE(has(text, "seconds checking, 2 jobs")) << text;
}

TEST(TextReport, FindingsOfOneCauseFollowIt) {
  const auto filed = [](const char* kind, const char* rule, int line, const char* cause = "") {
    FiledFinding one{{"k", kind, rule, "k.cu", line, "", {}}, "", ""};
    one.cause = cause;
    return one;
  };
  std::vector<FiledFinding> findings{
      filed("mismatch", "R5", 10, "k|wrap|wrap|k.cu:15"),  // in the wrap's own case
      filed("mismatch", "R3", 10),                         // at the entry's line: no cause is known
      filed("stray_write", "stray_write", 40),
      filed("out_of_bounds", "out_of_bounds", 15),  // another case, the wrap's line
      filed("wrap", "wrap", 15),
      filed("unwritten", "R1", 10, "k|stray_write|stray_write|k.cu:40"),
      filed("unwritten", "R2", 10, "k|wrap|wrap|k.cu:99"),  // its cause was not kept
  };
  group_by_cause(findings);
  std::string got;
  for (const FiledFinding& one : findings) {
    got += one.finding.kind + " " + one.finding.rule + " (" + one.with_above + ")\n";
  }
  EXPECT_EQ(got,
            "wrap wrap ()\n"
            "out_of_bounds out_of_bounds (at the same line)\n"
            "mismatch R5 (in the same case)\n"
            "stray_write stray_write ()\n"
            "unwritten R1 (in the same case)\n"
            "mismatch R3 ()\n"
            "unwritten R2 ()\n");
}

TEST(FindKernels, AContractInTheWorkingFolderIsSuggested) {
  const Project project;
  const Outcome o = testing::run_shell("cd '" + project.folder.path() +
                                       "' && '" ASSAY_PROGRAM "' smoke scale_rows --cases 1");
  EXPECT_EQ(o.status, 2);
  EXPECT_TRUE(has(o.err, "did you mean scale_rows.toml")) << o.err;
}

}  // namespace
}  // namespace assay
