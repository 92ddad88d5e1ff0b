// Corpus shelves: regressions pass, open ones fail in the same way; and the CMake function.
#include "fuzz/replay.hpp"

#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

Case recorded_case(const std::string& kind, const std::string& rule, int line) {
  Case c;
  c.kernel = "k";
  c.recorded.kind = kind;
  c.recorded.rule = rule;
  c.recorded.file = "k.cu";
  c.recorded.line = line;
  return c;
}

CheckResult failing(const std::string& kind, const std::string& rule, int line) {
  CheckResult result;
  result.outcome = assay::Outcome::mismatch;
  result.findings.push_back({"k", kind, rule, "/a/k.cu", line, "message", {}});
  return result;
}

TEST(ShelfViolation, OpenMustFailInTheSameWay) {
  const Case c = recorded_case("mismatch", "R3", 12);
  EXPECT_EQ(shelf_violation(c, failing("mismatch", "R3", 12), true), "");
  EXPECT_NE(shelf_violation(c, failing("wrap", "R3", 12), true), "");
  EXPECT_NE(shelf_violation(c, failing("mismatch", "R4", 12), true), "");
  EXPECT_NE(shelf_violation(c, failing("mismatch", "R3", 13), true), "");
  EXPECT_NE(shelf_violation(c, CheckResult{}, true).find("passes now"), std::string::npos);
  EXPECT_NE(shelf_violation(recorded_case("", "", 0), CheckResult{}, true), "");
}

TEST(RecordedFinding, OfOneProgramMayHaveMoved) {
  Case c = recorded_case("race", "race", 12);
  c.recorded.program = "0123456789abcdef";
  CheckResult result = failing("race", "race", 14);
  result.findings.push_back({"k", "race", "race", "/a/k.cu", 12, "message", {}});
  EXPECT_EQ(recorded_finding(c.recorded, result)->line, 12) << "its own place comes first";
  result.findings.pop_back();
  EXPECT_EQ(recorded_finding(c.recorded, result), nullptr) << "another program";
  result.run.program_digest = c.recorded.program;
  EXPECT_EQ(recorded_finding(c.recorded, result)->line, 14);
  c.recorded.file = "other.cu";
  EXPECT_EQ(recorded_finding(c.recorded, result), nullptr);
}

TEST(ShelfViolation, OthersMustPass) {
  EXPECT_EQ(shelf_violation(recorded_case("mismatch", "R3", 12), CheckResult{}, false), "");
  EXPECT_NE(shelf_violation(Case{}, failing("wrap", "wrap", 3), false), "");
}

Outcome replay(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  const int status = static_cast<int>(run_replay(arguments, out, err));
  return {status, out.str(), err.str()};
}

TEST(Replay, WalksFoldersAndWantsAtLeastOneCase) {
  const Project p;
  p.folder.write("corpus/seeds/a.case", kScaleCase);
  const Outcome good = replay({"--contract", p.contract, p.folder / "corpus"});
  EXPECT_EQ(good.status, 0) << good.out << good.err;
  p.folder.write("corpus/open/b.case", kScaleCase);
  EXPECT_EQ(replay({"--contract", p.contract, p.folder / "corpus"}).status, 1);
  EXPECT_EQ(replay({"--contract", p.contract}).status, 2);
  fs::create_directories(p.folder / "empty");
  const Outcome empty = replay({"--contract", p.contract, p.folder / "empty"});
  EXPECT_EQ(empty.status, 2);
  EXPECT_NE(empty.err.find("/empty: no case to replay"), std::string::npos) << empty.err;
}

TEST(Replay, AFailureSaysHowToExplainIt) {
  const Project p;
  p.folder.write("scale_rows.cu", buggy_source());
  const Outcome bad = replay({"--contract", p.contract, p.case_file});
  EXPECT_EQ(bad.status, 1);
  EXPECT_NE(bad.out.find("/assay repro " + p.case_file + " --contract " + p.contract),
            std::string::npos)
      << bad.out;
}

TEST(Replay, ARecordOfWhatThereIsNotIsAnError) {
  const Project p;
  for (const auto& [record, message] :
       {std::pair{"kind=missmatch rule=R4",
                  ":7:1: unknown kind 'missmatch' (did you mean 'mismatch'?)"},
        std::pair{"kind=mismatch rule=R99",
                  ":7:1: unknown rule 'R99'; the judge's are R1 to R24"}}) {
    const std::string file = p.folder.write(
        "r.case", replaced(kScaleCase, "end\n",
                           "recorded " + std::string(record) + " at=scale_rows.cu:2\nend\n"));
    const Outcome bad = replay({"--contract", p.contract, file});
    EXPECT_EQ(bad.status, 2);
    EXPECT_NE(bad.err.find(message), std::string::npos) << bad.err;
    EXPECT_EQ(run_assay({"repro", file}).status, 2);
  }
}

/// The last rule that a record may name is the last one that there is.
TEST(Replay, KnowsEveryRule) {
  const Project p;
  const std::string rules = read_whole(std::string(ASSAY_SOURCE_DIR) + "/oracles/RULES.md");
  EXPECT_NE(rules.find("**R24,"), std::string::npos);
  EXPECT_EQ(rules.find("**R25,"), std::string::npos);
}

/// A user's own CMake project over Assay's AssayTests.cmake.
TEST(AssayAddTests, AUsersCorpusIsTestedWithoutReconfiguring) {
  const Project p;
  p.folder.write("CMakeLists.txt",
                 "cmake_minimum_required(VERSION 3.25)\nproject(mine NONE)\n"
                 "enable_testing()\nset(ASSAY_REPLAY " ASSAY_BUILD_DIR
                 "/replay)\n"
                 "include(" ASSAY_SOURCE_DIR
                 "/cmake/AssayTests.cmake)\n"
                 "assay_add_tests(CONTRACT scale_rows.toml CORPUS corpus)\n");
  p.folder.write("corpus/seeds/a.case", kScaleCase);
  const std::string build = p.folder / "b";
  const Outcome configured = run_shell("cmake -S " + p.folder.path() + " -B " + build);
  ASSERT_EQ(configured.status, 0) << configured.out << configured.err;
  const Outcome first = run_shell("ctest --test-dir " + build);
  EXPECT_EQ(first.status, 0) << first.out << first.err;
  EXPECT_NE(first.out.find("corpus.scale_rows.seeds.a"), std::string::npos) << first.out;

  p.folder.write("corpus/regressions/new.one.case", kScaleCase);  // no configuring in between
  const Outcome second = run_shell("ctest --test-dir " + build);
  EXPECT_EQ(second.status, 0) << second.out << second.err;
  EXPECT_NE(second.out.find("corpus.scale_rows.regressions.new.one"), std::string::npos)
      << second.out;
  EXPECT_NE(second.out.find("out of 2"), std::string::npos) << second.out;

  p.folder.write("corpus/regresions/lost.case", kScaleCase);
  p.folder.write("corpus/loose.case", kScaleCase);
  p.folder.write("corpus/README.md", "ours\n");
  const Outcome third = run_shell("ctest --output-on-failure --test-dir " + build);
  EXPECT_NE(third.status, 0);
  for (const char* part :
       {"2 tests failed out of 4",
        "corpus/regresions: is no shelf of a corpus (did you mean 'regressions'?)",
        "corpus/loose.case: lies on no shelf"}) {
    EXPECT_NE(third.out.find(part), std::string::npos) << part << "\n" << third.out;
  }

  fs::remove_all(p.folder / "corpus");
  EXPECT_NE(run_shell("ctest --test-dir " + build).status, 0) << "an empty corpus must not pass";
}

/// What is wrong with a call is said when the project is configured.
TEST(AssayAddTests, MistakesAreFoundWhenConfiguring) {
  const auto configure = [](const std::string& calls) {
    const Project p;
    p.folder.write("CMakeLists.txt",
                   "cmake_minimum_required(VERSION 3.25)\nproject(mine NONE)\n"
                   "enable_testing()\nset(ASSAY_REPLAY replay)\n"
                   "include(" ASSAY_SOURCE_DIR "/cmake/AssayTests.cmake)\n" +
                       calls);
    p.folder.write("corpus/seeds/a.case", kScaleCase);
    Outcome outcome = run_shell("cmake -S " + p.folder.path() + " -B " + p.folder / "b");
    for (char& c : outcome.err) c = c == '\n' ? ' ' : c;
    return outcome;
  };
  const std::string once = "assay_add_tests(CONTRACT scale_rows.toml CORPUS corpus)\n";
  const Outcome twice = configure(once + once);
  EXPECT_NE(twice.status, 0);
  EXPECT_NE(twice.err.find("NAME of their own"), std::string::npos) << twice.err;
  EXPECT_EQ(
      configure(once + "assay_add_tests(CONTRACT scale_rows.toml CORPUS corpus NAME b)\n").status,
      0);
  EXPECT_NE(configure("assay_add_tests(CONTRACT none.toml CORPUS corpus)\n").err.find("is no file"),
            std::string::npos);
  EXPECT_NE(
      configure("assay_add_tests(CONTRACT scale_rows.toml CORPUS none)\n").err.find("is no folder"),
      std::string::npos);
}

}  // namespace
}  // namespace assay::testing
