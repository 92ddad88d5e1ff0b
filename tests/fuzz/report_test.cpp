#include "fuzz/report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/fuzz/run_assay.hpp"

namespace assay {
namespace {

KernelReport kernel(const char* name, int64_t cases, int64_t judged) {
  KernelReport k;
  k.kernel = name;
  k.cases = cases;
  k.judged = judged;
  return k;
}

FiledFinding finding(const char* kernel, const char* message) {
  FiledFinding filed;
  filed.finding = {kernel, "mismatch", "R3", "src/a.cu", 12, message, {}};
  filed.case_file = "out/a.case";
  filed.contract = "/elsewhere/a.toml";
  return filed;
}

Report smoke_report() {
  Report report;
  report.kernels = {kernel("a", 10, 1000), kernel("b", 5, 50)};
  return report;
}

TEST(ReportExit, FollowsTheRules) {
  Report report = smoke_report();
  EXPECT_EQ(report.exit(), Exit::clean);
  report.kernels[0].skipped["no mma"] = 3;
  EXPECT_EQ(report.exit(), Exit::skipped);
  report.findings = {finding("a", "wrong")};
  EXPECT_EQ(report.exit(), Exit::findings);  // a finding outweighs skipped cases
  report.findings[0].known = true;
  EXPECT_EQ(report.exit(), Exit::skipped);  // a known one does not fail
}

TEST(ReportExit, AnErrorOutweighsAFindingAndAnInterruptionIsNotClean) {
  Report report = smoke_report();
  report.interrupted = true;
  EXPECT_EQ(report.exit(), Exit::interrupted);
  report.findings = {finding("a", "wrong")};
  EXPECT_EQ(report.exit(), Exit::findings);
  report.kernels.push_back(
      unread_report({"c", "/elsewhere/c.toml", InputError({"c.toml", 3}, "no")}));
  EXPECT_EQ(report.exit(), Exit::bad_input);
  EXPECT_TRUE(unproven(report).empty()) << "its error says more";
  EXPECT_NE(text_report(report).find("c: could not be run: c.toml:3: no\n"), std::string::npos);
  EXPECT_NE(text_report(report).find("interrupted: 1 of 3 kernels could not be run, 1 finding"),
            std::string::npos);
  const auto json = nlohmann::json::parse(json_report(report));
  EXPECT_EQ(json.at("kernels")[2].at("error").at("line"), 3);
  EXPECT_EQ(json.at("interrupted"), true);
  EXPECT_NE(junit_report(report).find("<error message=\"interrupted"), std::string::npos);
  EXPECT_NE(github_report(report).find("::error file=c.toml,line=3,"), std::string::npos);
}

TEST(GroupByCause, WrongValuesOfOneStoreAreOneBugWhateverTheRule) {
  FiledFinding first = finding("a", "wrong"), second = finding("a", "NaN"),
               third = finding("a", "no");
  second.finding.rule = "R5";
  third.finding.rule = "R14";
  first.finding.stored_file = second.finding.stored_file = third.finding.stored_file = "src/a.cu";
  first.finding.stored_line = second.finding.stored_line = 20;
  third.finding.stored_line = 21;
  std::vector<FiledFinding> all{first, second, third};
  group_by_cause(all);
  EXPECT_EQ(all[0].with_above, "");
  EXPECT_EQ(all[1].with_above, "stored at the same line");
  EXPECT_EQ(all[2].with_above, "") << "another line";
  for (FiledFinding* one : {&first, &second, &third}) {
    one->finding.stored_line = 0;
    one->finding.unstored = one != &third;
  }
  all = {first, second, third};
  group_by_cause(all);
  EXPECT_EQ(all[1].with_above, "not stored either");
  EXPECT_EQ(all[2].with_above, "");
}

TEST(ReportExit, ZeroCasesNeverPass) {
  Report report;
  report.kernels = {kernel("a", 10, 1000), kernel("b", 0, 0)};
  EXPECT_EQ(report.exit(), Exit::bad_input);
  report.kernels[1] = kernel("b", 4, 0);  // cases without an element prove nothing either
  EXPECT_EQ(report.exit(), Exit::bad_input);
  report.kernels[1].skipped["no mma"] = 3;  // the fourth had no elements
  EXPECT_EQ(report.exit(), Exit::skipped);
}

PairReport pair(bool found, double seconds, int64_t alarms) {
  PairReport p;
  p.witness_fails = p.witness_passes_on_twin = true;
  p.found = found;
  p.fault.fault_class = 3;
  p.fault.expected = {{"R4", "a.cu", 12}};
  p.finding.rule = "R4";
  p.finding.file = "src/a.cu";
  p.finding.line = 12;
  p.seconds = seconds;
  p.false_alarms = alarms;
  p.cases = 10;
  return p;
}

TEST(ReportExit, ScoreWantsAllFoundAndNoAlarm) {
  Report report;
  report.command = Command::score;
  report.pairs = {pair(true, 1, 0), pair(true, 3, 0)};
  EXPECT_EQ(report.exit(), Exit::clean);
  EXPECT_DOUBLE_EQ(score_totals(report.pairs).median_seconds, 2);
  EXPECT_DOUBLE_EQ(score_totals(report.pairs).worst_seconds, 3);
  report.pairs[0].false_alarms = 1;
  EXPECT_EQ(report.exit(), Exit::findings);
  report.pairs[0] = pair(false, 60, 0);
  EXPECT_EQ(report.exit(), Exit::findings);
  EXPECT_DOUBLE_EQ(score_totals(report.pairs).median_seconds, 3);  // over those found
  report.pairs[0] = pair(true, 1, 0);
  report.pairs[0].witness_fails = false;
  EXPECT_EQ(report.exit(), Exit::findings);
}

TEST(ReportExit, ScoreWantsNineteenOfTwentyAsExpected) {
  Report report;
  report.command = Command::score;
  report.pairs.assign(20, pair(true, 1, 0));
  report.pairs[3].finding.line = 13;
  ScoreTotals totals = score_totals(report.pairs);
  EXPECT_EQ(totals.by_expected_check, 20);
  EXPECT_EQ(totals.as_expected, 19);
  EXPECT_EQ(report.exit(), Exit::clean);
  report.pairs[4].finding.rule = "R5";
  totals = score_totals(report.pairs);
  EXPECT_EQ(totals.by_expected_check, 19);
  EXPECT_EQ(totals.as_expected, 18);
  EXPECT_EQ(report.exit(), Exit::findings);
}

TEST(ScoreReport, HasATableByClass) {
  Report report;
  report.command = Command::score;
  report.pairs = {pair(true, 1, 0), pair(true, 2, 1), pair(false, 60, 0)};
  report.pairs[0].fault.fault_class = 12;
  report.pairs[1].cases = 40;
  const auto classes = score_by_class(report.pairs);
  ASSERT_EQ(classes.size(), 2u);
  EXPECT_EQ(classes.at(12).found, 1);
  EXPECT_EQ(classes.at(3).pairs, 2);
  EXPECT_EQ(classes.at(3).found, 1);
  EXPECT_EQ(classes.at(3).false_alarms, 1);
  EXPECT_EQ(classes.at(3).worst_cases, 40);
  const std::string text = text_report(report);
  EXPECT_NE(text.find("12: configuration"), std::string::npos) << text;
  EXPECT_NE(text.find("2 of 3 found: 2 by the expected check (100.0 %)"), std::string::npos)
      << text;
}

TEST(JsonReport, HasTheFieldsThatTheIssueNames) {
  Report report = smoke_report();
  report.findings = {finding("a", "bad \xff byte")};
  report.kernels[1].skipped["no mma"] = 2;
  const auto json = nlohmann::json::parse(json_report(report));
  EXPECT_EQ(json.at("cases"), 15);
  EXPECT_TRUE(json.at("seconds").is_number());
  EXPECT_EQ(json.at("skipped"), 2);
  ASSERT_EQ(json.at("findings").size(), 1u);
  const auto& row = json.at("findings")[0];
  EXPECT_EQ(row.at("kernel"), "a");
  EXPECT_EQ(row.at("kind"), "mismatch");
  EXPECT_EQ(row.at("rule"), "R3");
  EXPECT_EQ(row.at("file"), "src/a.cu");
  EXPECT_EQ(row.at("line"), 12);
  EXPECT_EQ(row.at("case"), "out/a.case");
}

TEST(JsonReport, ScoreHasARowAPair) {
  Report report;
  report.command = Command::score;
  report.pairs = {pair(true, 1, 0), pair(false, 60, 2)};
  const auto json = nlohmann::json::parse(json_report(report));
  EXPECT_EQ(json.at("planted"), 2);
  EXPECT_EQ(json.at("found"), 1);
  EXPECT_EQ(json.at("false_alarms"), 2);
  EXPECT_DOUBLE_EQ(json.at("median_seconds"), 1);
  EXPECT_EQ(json.at("pairs").size(), 2u);
}

TEST(GithubReport, EscapesWhatWouldEndTheAnnotation) {
  Report report = smoke_report();
  report.findings = {finding("a", "100% wrong\nat y")};
  const std::string text = github_report(report);
  EXPECT_EQ(text.find("::error file=src/a.cu,line=12,title=a%3A mismatch R3::100%25 wrong%0Aat y"),
            0u)
      << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST(JunitReport, CountsAndEscapes) {
  Report report = smoke_report();
  report.findings = {finding("a", "a < b & \"c\"")};
  const std::string xml = junit_report(report);
  EXPECT_NE(xml.find("<testsuite name=\"a\" tests=\"2\" failures=\"1\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("a &lt; b &amp; &quot;c&quot;"), std::string::npos) << xml;
}

TEST(JunitReport, ShowsWhatWasSkippedAndWhatWasNotJudged) {
  Report report = smoke_report();
  report.kernels[0].skipped["no <mma>"] = 7;
  report.kernels[0].unjudged["R10"] = 1;
  const std::string xml = junit_report(report);
  EXPECT_NE(xml.find("<testsuite name=\"a\" tests=\"3\" failures=\"0\" skipped=\"2\""),
            std::string::npos)
      << xml;
  EXPECT_NE(xml.find("7 cases skipped as unsupported: no &lt;mma&gt;\">\n      <skipped message="),
            std::string::npos)
      << xml;
  EXPECT_NE(xml.find("1 case not judged: R10"), std::string::npos) << xml;
}

TEST(JunitReport, CarriesTheNotes) {
  Report report = smoke_report();
  report.kernels[0].notes = {"judged the sm_80 build", "a < b"};
  const std::string xml = junit_report(report);
  EXPECT_NE(xml.find("<system-out>a &lt; b\njudged the sm_80 build\n</system-out>"),
            std::string::npos)
      << xml;
}

TEST(JunitReport, NothingJudgedFails) {
  Report report = smoke_report();
  report.kernels[0].judged = 0;
  EXPECT_NE(junit_report(report).find("<failure message=\"no element was judged\"/>"),
            std::string::npos);
}

TEST(ReproCommand, QuotesWhatAShellWouldTakeApart) {
  FiledFinding filed = finding("a", "wrong");
  filed.case_file = "out/a & b/<it's>.case";
  EXPECT_EQ(repro_command(filed),
            "assay repro 'out/a & b/<it'\\''s>.case' --contract /elsewhere/a.toml");
}

TEST(ReproCommand, RunsOnTheDeviceThatShowedIt) {
  FiledFinding filed = finding("a", "wrong");
  filed.device = "cuda";
  filed.shrunk = false;
  const std::string repro = "assay repro out/a.case --contract /elsewhere/a.toml --device cuda";
  EXPECT_EQ(repro_command(filed), repro);
  EXPECT_EQ(shrink_command(filed),
            "assay shrink out/a.case --contract /elsewhere/a.toml --device cuda --out out/a.case");
  filed.flags = " --fmad off";
  EXPECT_EQ(repro_command(filed), repro + " --fmad off");
  Report report = smoke_report();
  report.findings = {filed};
  const std::string text = text_report(report);
  EXPECT_NE(text.find(repro), std::string::npos) << text;
  EXPECT_NE(text.find("not shrunk fully: " + shrink_command(filed)), std::string::npos) << text;
  EXPECT_NE(json_report(report).find(repro), std::string::npos);
  EXPECT_NE(junit_report(report).find(repro), std::string::npos);
  const std::string annotations = github_report(report);
  EXPECT_NE(annotations.find("--device cuda"), std::string::npos) << annotations;
}

TEST(TextReport, SaysHowToRepeat) {
  Report report = smoke_report();
  report.findings = {finding("a", "wrong")};
  EXPECT_NE(text_report(report).find("assay repro out/a.case --contract /elsewhere/a.toml"),
            std::string::npos);
}

TEST(TextReport, ShowsWeakJudging) {
  Report report = smoke_report();
  report.kernels[0].ordinary = 100;
  report.kernels[0].weak = 30;
  EXPECT_NE(text_report(report).find("a: more than 20 %"), std::string::npos);
  report.kernels[0].weak_is_explained = true;
  EXPECT_EQ(text_report(report).find("a: more than 20 %"), std::string::npos);
}

TEST(TextReport, ShowsElementsWithoutABound) {
  Report report = smoke_report();
  report.kernels[0].ordinary = 100;
  report.kernels[0].no_bound = 25;
  const std::string text = text_report(report);
  EXPECT_NE(text.find("no bound %"), std::string::npos) << text;
  EXPECT_NE(text.find(" 25.0 "), std::string::npos) << text;
  EXPECT_NE(text.find("a: more than 20 % of the elements of ordinary cases are not judged"),
            std::string::npos)
      << text;
  EXPECT_NE(json_report(report).find("\"no_bound_share\": 0.25"), std::string::npos);
  report.kernels[0].weak_is_explained = true;
  EXPECT_EQ(text_report(report).find("are not judged"), std::string::npos);
  report.kernels[0].weak_is_explained = false;
  report.kernels[0].no_bound = 20;
  EXPECT_EQ(text_report(report).find("are not judged"), std::string::npos);
}

TEST(CountVariants, LeavesOutWhatRelationsForbid) {
  const testing::TemporaryFolder folder;
  folder.write("k.cu", "");
  const Contract contract = parse_contract(R"(
name = "k"
source = { cuda = "k.cu", entry = "k<{T},{B}>" }
types = { T = ["f32", "f16", "bf16"] }
sizes = { n = { min = 0, max = 10 } }
knobs = { B = [64, 128] }
require = ["B == 64 || T == f32", "n <= B"]
launch = { grid = ["1"], block = ["B"] }
args = [ { name = "y", kind = "output", dtype = "T", shape = ["n"] },
         { name = "x", kind = "input", dtype = "T", shape = ["n"] } ]
formula = { y = "x" }
)",
                                           folder / "k.toml");
  EXPECT_EQ(count_variants(contract), 4);
}

TEST(CiFormats, AScoreShowsEachPairAndWhyItFails) {
  Report report;
  report.command = Command::score;
  report.pairs = {pair(true, 0.5, 0), pair(false, 60, 2)};
  report.pairs[0].name = "tail";
  report.pairs[1].name = "wrap";
  const std::string xml = junit_report(report);
  EXPECT_NE(xml.find("<testsuite name=\"tail\" tests=\"4\" failures=\"0\""), std::string::npos)
      << xml;
  EXPECT_NE(xml.find("<testsuite name=\"wrap\" tests=\"4\" failures=\"2\""), std::string::npos)
      << xml;
  EXPECT_NE(xml.find("<failure message=\"missed\"/>"), std::string::npos) << xml;
  const std::string lines = github_report(report);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2) << lines;
  EXPECT_NE(lines.find("::error title=wrap%3A not so%3A the search finds the bug::missed"),
            std::string::npos)
      << lines;
}

TEST(CiFormats, AScoreShowsWhatWasFoundOtherwiseAsAWarning) {
  Report report;
  report.command = Command::score;
  report.pairs = {pair(true, 0.5, 0)};
  report.pairs[0].name = "tail";
  report.pairs[0].finding.kind = report.pairs[0].finding.rule = "race";
  const std::string xml = junit_report(report);
  EXPECT_NE(xml.find("tests=\"5\" failures=\"0\" skipped=\"1\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("<skipped message=\"race a.cu:12; as expected: NO: R4 :12\"/>"),
            std::string::npos)
      << xml;
  const std::string lines = github_report(report);
  EXPECT_TRUE(lines.starts_with("::warning file=src/a.cu,line=12,title=tail%3A found otherwise::"))
      << lines;
}

TEST(CiFormats, AFindingWithoutAPlaceNamesNoFile) {
  Report report = smoke_report();
  report.findings = {finding("a", "a worker died")};
  report.findings[0].finding.file = "";
  EXPECT_TRUE(github_report(report).starts_with("::error title="));
  EXPECT_NE(text_report(report).find("\na: mismatch"), std::string::npos);
}

TEST(ReportExit, AListRunsNoCaseAndIsClean) {
  Report report = smoke_report();
  report.command = Command::list;
  report.kernels[0].cases = report.kernels[1].cases = 0;
  EXPECT_EQ(report.exit(), Exit::clean);
}

}  // namespace
}  // namespace assay
