// The journal of `assay exhaust`: a run goes on where it was killed, with what is still true.
#include "fuzz/exhaust.hpp"
#include "tests/fuzz/exhaust_kernels.hpp"

namespace assay::testing {
namespace {

TEST(ExhaustJournal, GoesOnWhereItWasKilled) {
  const Kernel kernel = twice("v + v", "bits == 0x3c10 ? 1.f : v + v");
  kernel.change("sizes =", "knobs = { A = [1, 2, 3, 4] }\nsizes =");
  EXPECT_EQ(kernel.exhaust().status, 1);
  const auto all_of_it = [&] {
    json report = json::parse(kernel.exhaust({"--json"}).out).at("kernels")[0];
    report.erase("seconds");
    for (auto& row : report.at("results")) row.erase("seconds");
    return report;
  };
  const json whole = all_of_it();
  const std::string journal = read_whole(kernel.journal("twice"));
  // Killed in the middle of writing its third line.
  size_t second = 0;
  for (int lines = 0; lines < 3; ++lines) second = journal.find('\n', second) + 1;
  kernel.folder.write("out/twice/journal.jsonl", journal.substr(0, second + 40));
  EXPECT_EQ(all_of_it(), whole);
  const std::string again = read_whole(kernel.journal("twice"));
  EXPECT_EQ(std::count(again.begin(), again.end(), '\n'), 5) << "a line a unit, and the first";
}

TEST(ExhaustJournal, KilledAndContinuedUntilItIsDone) {
  const Kernel kernel = product();
  kernel.change("sizes =", "knobs = { A = [1, 2, 3, 4, 5, 6] }\nsizes =");
  const std::string command = std::string("timeout -s KILL 0.4 '" ASSAY_PROGRAM "' exhaust '") +
                              kernel.contract + "' --jobs 1 --out '" + kernel.out + "'";
  for (int i = 0; i < 3; ++i) run_shell(command);
  const Outcome last = kernel.exhaust({"--json"});
  EXPECT_EQ(last.status, 0) << last.err;
  const json report = json::parse(last.out).at("kernels")[0];
  EXPECT_EQ(report.at("inputs_done"), 6 * 65536);
  for (const auto& row : report.at("results")) {
    EXPECT_EQ(row.at("outputs")[0].at("inputs"), 65536) << row;
  }
  const std::string journal = read_whole(kernel.journal("product"));
  EXPECT_EQ(std::count(journal.begin(), journal.end(), '\n'), 7);
}

TEST(ExhaustJournal, ResultsOfAnotherSourceAreRunAgainOnce) {
  const Kernel kernel = twice("v + v", "bits == 0x9a3c ? v : v + v");
  const std::string name = "mismatch-R4-twice.cu.case";
  EXPECT_EQ(kernel.exhaust().status, 1);
  EXPECT_TRUE(fs::exists(kernel.out + "/twice/findings/" + name));
  // Mended: the case of the old source stands aside, where no one takes it for one of this.
  kernel.folder.write("twice.cu", kF16);
  const Outcome mended = kernel.exhaust();
  EXPECT_EQ(mended.status, 0) << mended.out;
  EXPECT_NE(mended.out.find("1 result in "), std::string::npos) << mended.out;
  EXPECT_NE(mended.out.find(" is of an older source and was run again"), std::string::npos);
  EXPECT_FALSE(fs::exists(kernel.out + "/twice/findings/" + name));
  EXPECT_TRUE(fs::exists(kernel.out + "/twice/older/" + name));
  const Outcome again = kernel.exhaust();
  EXPECT_EQ(again.status, 0);
  EXPECT_EQ(again.out.find("older source"), std::string::npos) << again.out;
  // And broken again.
  kernel.folder.write("twice.cu", replaced(kF16, "v + v", "v"));
  EXPECT_EQ(kernel.exhaust().status, 1);
  EXPECT_TRUE(fs::exists(kernel.out + "/twice/findings/" + name));
}

TEST(ExhaustJournal, ACaseThatThisSourceWroteAgainStays) {
  const Kernel kernel = twice("v + v", "v");
  kernel.change("sizes =", "knobs = { A = [1, 2] }\nsizes =");
  const std::string name = "A_2-mismatch-R4-twice.cu.case";
  EXPECT_EQ(kernel.exhaust().status, 1);
  kernel.folder.write("twice.cu", replaced(kF16, "v + v", "v + v + v"));
  EXPECT_EQ(kernel.exhaust({"--only", "A=2"}).status, 1);
  const std::string rewritten = read_whole(kernel.out + "/twice/findings/" + name);
  // As if a unit of the older source had filed it first, as units of one variant do.
  kernel.folder.write("out/twice/journal.jsonl", replaced(read_whole(kernel.journal("twice")),
                                                          "A_1-mismatch", "A_2-mismatch"));
  EXPECT_EQ(kernel.exhaust().status, 1);  // drops A=1 of the older source
  EXPECT_EQ(read_whole(kernel.out + "/twice/findings/" + name), rewritten);
}

TEST(ExhaustJournal, ResultsOfAnotherContractAreRefused) {
  const Kernel kernel = twice();
  EXPECT_EQ(kernel.exhaust().status, 0);
  kernel.change("x + x", "x + x + 0");
  const Outcome outcome = kernel.exhaust();
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("of another contract"), std::string::npos) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

TEST(ExhaustJournal, HowAContractIsWrittenIsNoChange) {
  const Kernel kernel = twice();
  EXPECT_EQ(kernel.exhaust().status, 0);
  const std::string journal = read_whole(kernel.journal("twice"));
  kernel.change("sizes = {", "# every size\nsizes  =  {");
  const Outcome outcome = kernel.exhaust();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(read_whole(kernel.journal("twice")), journal) << "nothing was run again";
}

TEST(ExhaustJournal, TheDefaultMantissasByNumberGoOn) {
  const Project p;
  const auto lines = [&] {
    const std::string journal = read_whole(p.out + "/scale_rows/journal.jsonl");
    return std::count(journal.begin(), journal.end(), '\n');
  };
  EXPECT_EQ(run_assay({"exhaust", p.contract, "--out", p.out}).status, 0);
  EXPECT_EQ(lines(), 2);
  EXPECT_EQ(run_assay({"exhaust", p.contract, "--out", p.out, "--mantissas", "256"}).status, 0);
  EXPECT_EQ(lines(), 2) << "nothing was run again";
  // Others are other inputs: results of both stay.
  const Outcome few = run_assay({"exhaust", p.contract, "--out", p.out, "--mantissas", "2"});
  EXPECT_NE(few.out.find("1024 sampled"), std::string::npos) << few.out << few.err;
  EXPECT_EQ(lines(), 3);
}

TEST(ExhaustJournal, WhereAWrongValueWasStoredIsKept) {
  const Kernel kernel = twice("v + v", "bits == 0x9a3c ? v : v + v");
  const std::string place = kernel.folder.path() + "/twice.cu:7: twice: mismatch (R4): ";
  const std::string first = kernel.exhaust().out;
  EXPECT_NE(first.find(place), std::string::npos) << first;
  EXPECT_NE(first.find("stored at twice.cu:7\n"), std::string::npos) << first;
  EXPECT_NE(kernel.exhaust().out.find(place), std::string::npos) << "read from the journal";
  const json finding = kernel.report().at("findings")[0];
  EXPECT_EQ(finding.at("line"), 7);
  // The identity keeps the entry's line, as in the case file.
  EXPECT_NE(read_whole(finding.at("case")).find("twice.cu:2"), std::string::npos)
      << read_whole(finding.at("case"));
}

TEST(ExhaustJournal, ALineOfTheJournalReadsBack) {
  UnitResult result;
  result.unit = {0, 1 << 20, 77};
  result.variant = "T=f16";
  result.space = "65536";
  result.cases = 3;
  result.skipped = "why";
  result.program = "abc";
  result.outputs.push_back({});
  result.outputs[0].output = "y";
  result.outputs[0].type = DType::f16;
  result.outputs[0].inputs = 6;
  result.outputs[0].outside_domain = 1;
  result.outputs[0].faulted = 2;
  result.outputs[0].not_alone = 3;
  result.outputs[0].unwritten = 4;
  result.outputs[0].no_bound = 1;
  result.outputs[0].special = 2;
  result.outputs[0].classes[1] = 3;
  result.outputs[0].max_ulps = 0.1;
  result.outputs[0].max_at = {{1, 0xffffffffffffffff}, 3, HUGE_VAL};
  result.outputs[0].first_breaks.push_back({{{1}, 2, 0.3}, {{4}, 5, -0.6}});
  result.findings.push_back({"k", "mismatch", "R4", "k.cu", 2, "wrong", {}, "k.cu", 7});
  result.case_files.emplace_back("k.case");
  const auto again = parse_unit_line(unit_line(result));
  ASSERT_TRUE(again);
  EXPECT_EQ(unit_line(*again), unit_line(result));
  EXPECT_EQ(again->findings[0].shown_line(), 7);
  EXPECT_EQ(again->outputs[0].seen(), 6 + 1 + 2 + 3 + 4);
  EXPECT_FALSE(parse_unit_line(unit_line(result).substr(0, 50)));
  result.outputs[0].inputs = 7;  // of which none is in a class
  EXPECT_FALSE(parse_unit_line(unit_line(result)));
}

}  // namespace
}  // namespace assay::testing
