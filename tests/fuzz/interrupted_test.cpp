// Ctrl-C: what was found so far is printed and filed, and the exit status says so.
#include <signal.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "fuzz/worker_process.hpp"
#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

struct Ended {
  std::string reason;  ///< "exit status 1"
  std::string log;     ///< stdout and stderr
};

/// Runs the program, sends a signal when `when` holds, and waits for its end.
Ended interrupt(const Project& p, std::vector<std::string> words,
                const std::function<bool(const std::string& log)>& when, int signal = SIGINT) {
  words.insert(words.begin(), ASSAY_PROGRAM);
  const std::string log = p.folder / "log";
  const pid_t pid = start_process(words, log);
  for (int i = 0; i < 1500 && !when(read_whole(log)); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  kill(pid, signal);
  WorkerEnd end = WorkerEnd::died;
  std::string reason = "still running";
  for (int i = 0; i < 3000 && !has_ended(pid, end, reason); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return {reason, read_whole(log)};
}

/// A while after the first line, in which cases run.
std::function<bool(const std::string&)> after(int milliseconds) {
  return [=](const std::string& log) {
    if (log.empty()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    return true;
  };
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Interrupted, SmokeTellsAndFilesWhatItFound) {
  const Project p;
  p.folder.write("scale_rows.cu", buggy_source());
  const Ended ended =
      interrupt(p, {"smoke", p.contract, "--for", "1h", "--out", p.out}, after(3000));
  EXPECT_EQ(ended.reason, "exit status 1") << ended.log;
  EXPECT_TRUE(has(ended.log, "interrupted: 1 finding")) << ended.log;
  EXPECT_TRUE(has(ended.log, "unwritten (R1)")) << ended.log;
  EXPECT_TRUE(fs::exists(p.out + "/scale_rows/unwritten-R1-scale_rows.cu.case")) << ended.log;
}

TEST(Interrupted, SmokeWithoutAFindingIsNotClean) {
  const Project p;
  const Ended ended = interrupt(p, {"smoke", p.contract, "--for", "1h", "--out", p.out, "--json"},
                                after(2000), SIGTERM);
  EXPECT_EQ(ended.reason, "exit status 130") << ended.log;
  const auto report = nlohmann::json::parse(ended.log.substr(ended.log.find('{')));
  EXPECT_EQ(report.at("interrupted"), true);
  EXPECT_EQ(report.at("exit"), 130);
  EXPECT_GT(report.at("cases"), 0);
}

TEST(Interrupted, AClosedTerminalIsAnInterruption) {
  const Project p;
  const auto hang_up = [&](const char* command) {
    return interrupt(p, {command, p.contract, "--for", "1h", "--out", p.out}, after(2000), SIGHUP);
  };
  const Ended smoke = hang_up("smoke");
  EXPECT_EQ(smoke.reason, "exit status 130") << smoke.log;
  EXPECT_TRUE(has(smoke.log, "interrupted: no findings so far")) << smoke.log;
  const Ended fuzz = hang_up("fuzz");  // that is how a run may end
  EXPECT_EQ(fuzz.reason, "exit status 0") << fuzz.log;
  EXPECT_TRUE(has(fuzz.log, "clean: ")) << fuzz.log;
}

TEST(Interrupted, CalibrateScoreAndCoverPrintWhatTheyHave) {
  const Project p;
  const Ended calibrate =
      interrupt(p, {"calibrate", p.contract, "--for", "1h", "--out", p.out}, after(2000));
  EXPECT_EQ(calibrate.reason, "exit status 130") << calibrate.log;
  EXPECT_TRUE(has(calibrate.log, "interrupted: no findings so far")) << calibrate.log;
  const Ended cover = interrupt(p, {"cover", p.contract, "--for", "1h"}, after(2000));
  EXPECT_EQ(cover.reason, "exit status 130") << cover.log;
  EXPECT_TRUE(has(cover.log, "interrupted: ")) << cover.log;
  EXPECT_TRUE(has(cover.log, "blocks ")) << cover.log;
  const Ended score = interrupt(p, {"score", "--jobs", "1"}, after(2000));
  EXPECT_TRUE(has(score.log, "interrupted: ")) << score.log;
  EXPECT_TRUE(has(score.log, "pairs not scored")) << score.log;
  EXPECT_NE(score.reason, "exit status 0");
}

/// A case of many elements takes the shrinker a while: what it has reached is kept.
TEST(Interrupted, ShrinkKeepsTheSmallestSoFar) {
  const Project p;
  p.folder.write("scale_rows.cu", replaced(kScaleSource, "if (i < n)",
                                           "while (n > 70 && i == 0) {}\n  if (i < n - 1)"));
  const std::string file = p.folder.write("b.case", replaced(kScaleCase, "n=100", "n=5000"));
  const std::string small = p.folder / "small.case";
  const Ended ended = interrupt(p, {"shrink", file, "--out", small},
                                [n = 0](const std::string&) mutable { return ++n > 10; });
  // Either it was done by then, or what it wrote is told to be the smallest so far.
  EXPECT_TRUE(ended.reason == "exit status 130" || ended.reason == "exit status 0") << ended.log;
  EXPECT_EQ(ended.reason == "exit status 130", has(ended.log, "interrupted")) << ended.log;
  if (fs::exists(small)) {
    EXPECT_EQ(load_case(small).kernel, "scale_rows");
  }
}

TEST(Interrupted, OtherCommandsSayOneLine) {
  const Project p;
  p.folder.write("scale_rows.cu",
                 replaced(kScaleSource, "if (i < n)",
                          "volatile int turns = 0;\n  while (n > 0) ++turns;\n  if (i < n)"));
  const Ended ended =
      interrupt(p, {"check", p.contract}, [n = 0](const std::string&) mutable { return ++n > 25; });
  EXPECT_TRUE(ended.reason == "exit status 130" || ended.reason == "exit status 1") << ended.log;
  EXPECT_TRUE(has(ended.log, "interrupted")) << ended.log;
}

}  // namespace
}  // namespace assay::testing
