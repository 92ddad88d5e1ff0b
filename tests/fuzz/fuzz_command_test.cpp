// `assay fuzz`: worker processes, resume, a clean end; and both engines over the target.
#include <signal.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "fuzz/findings.hpp"
#include "fuzz/overnight.hpp"
#include "fuzz/worker_process.hpp"
#include "fuzz/worker_slot.hpp"
#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

std::string program(const char* name) { return std::string(ASSAY_BUILD_DIR) + "/" + name; }

/// So many cases, not seconds: a slow machine or a build with sanitizers does the same work.
nlohmann::json fuzz_json(const Project& p, int cases) {
  const Outcome outcome = run_shell(program("assay") + " fuzz " + p.contract +
                                    " --jobs 2 --json --cases " + std::to_string(cases) +
                                    " --out " + p.out);
  return nlohmann::json::parse(outcome.out);
}

TEST(FuzzCommand, FindsFilesAndResumes) {
  const Project p;
  p.folder.write("scale_rows.cu", buggy_source());
  const auto first = fuzz_json(p, 100);
  EXPECT_EQ(first.at("exit"), 1) << first;
  EXPECT_GE(first.at("cases"), 100);
  ASSERT_GE(first.at("findings").size(), 1u);
  const std::string file = first.at("findings")[0].at("case");
  EXPECT_EQ(load_case(file).recorded.kind, "unwritten");
  const int64_t before = read_state({p.out}).at("scale_rows").executions;
  EXPECT_GT(before, 0);
  const std::string text = read_whole(file);

  const auto second = fuzz_json(p, 100);
  EXPECT_GT(read_state({p.out}).at("scale_rows").executions, before);
  EXPECT_EQ(second.at("findings").size(), first.at("findings").size()) << "the same bug, once";
  EXPECT_EQ(read_whole(file), text) << "an earlier finding is left as it is";
}

TEST(FuzzCommand, SetsAsideWhatNoLongerFails) {
  const Project p;
  p.folder.write("scale_rows.cu", buggy_source());
  const auto first = fuzz_json(p, 100);
  ASSERT_GE(first.at("findings").size(), 1u);
  p.folder.write("scale_rows.cu", kScaleSource);
  const auto second = fuzz_json(p, 50);
  EXPECT_EQ(second.at("exit"), 0) << second;
  EXPECT_EQ(second.at("findings").size(), 0u);
  EXPECT_EQ(files_in(FuzzFolders{p.out}.fixed("scale_rows")),
            static_cast<int64_t>(first.at("findings").size()));
  EXPECT_NE(second.at("kernels")[0].at("notes").dump().find("no longer fails: unwritten"),
            std::string::npos)
      << second;
}

TEST(FuzzCommand, SaysFirstHowLongItRuns) {
  const Project p;
  const std::string log = p.folder / "log";
  const pid_t pid = start_process({program("assay"), "fuzz", p.contract, "--out", p.out}, log);
  for (int i = 0; i < 200 && read_whole(log).find("without end") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  end_process(pid, std::chrono::seconds(20));
  const std::string text = read_whole(log);
  EXPECT_NE(text.substr(0, text.find('\n')).find("without end until interrupted"),
            std::string::npos)
      << text;
}

TEST(FuzzCommand, RunsExactlyAsManyCasesAsAsked) {
  const Project p;
  for (const char* jobs : {"1", "2"}) {
    const Outcome outcome = run_shell(program("assay") + " fuzz " + p.contract + " --jobs " + jobs +
                                      " --json --cases 37 --for 60s --out " + p.out);
    EXPECT_EQ(nlohmann::json::parse(outcome.out).at("cases"), 37) << jobs << outcome.err;
  }
}

TEST(FuzzCommand, EndsCleanlyWhenInterrupted) {
  const Project p;
  const std::string log = p.folder / "log";
  const pid_t pid = start_process(
      {program("assay"), "fuzz", p.contract, "--jobs", "1", "--for", "1h", "--out", p.out}, log);
  for (int i = 0; i < 200 && files_in(FuzzFolders{p.out}.corpus("scale_rows")) == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  kill(pid, SIGINT);
  WorkerEnd end = WorkerEnd::died;
  std::string reason;
  bool ended = false;
  for (int i = 0; i < 500 && !(ended = has_ended(pid, end, reason)); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(ended);
  EXPECT_NE(end, WorkerEnd::died) << reason;
  EXPECT_NE(read_whole(log).find("scale_rows"), std::string::npos) << "prints its summary";
  EXPECT_TRUE(fs::exists(FuzzFolders{p.out}.state()));
}

pid_t child_of(pid_t parent) {
  const Outcome outcome = run_shell("cat /proc/" + std::to_string(parent) + "/task/" +
                                    std::to_string(parent) + "/children");
  return outcome.out.empty() ? -1 : std::stoi(outcome.out);
}

/// Each case spins until the instruction budget is spent, so that a killed worker is inside one.
constexpr const char* kSpin = "if (n >= 0) while (*(volatile T*)y != T(-3)) {}\n  if (i < n)";

TEST(FuzzCommand, SurvivesAKilledWorkerAndKeepsItsCase) {
  const Project p;
  p.folder.write("scale_rows.cu", replaced(kScaleSource, "if (i < n)", kSpin));
  const std::string log = p.folder / "log";
  const pid_t pid = start_process(
      {program("assay"), "fuzz", p.contract, "--jobs", "1", "--for", "1h", "--out", p.out}, log);
  const auto wait_for = [](const std::function<bool()>& condition) {
    for (int i = 0; i < 1000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  };
  const FuzzFolders folders{p.out};
  ASSERT_TRUE(wait_for([&] {
    return fs::exists(folders.slot(0)) && !WorkerSlot(folders.slot(0)).running_case().empty();
  }));
  const pid_t first = child_of(pid);
  ASSERT_GT(first, 0);
  kill(first, SIGKILL);
  EXPECT_TRUE(wait_for([&] { return files_in(folders.faults("scale_rows")) == 1; }));
  EXPECT_EQ(load_case(folders.faults("scale_rows") + "/fault-1.case").kernel, "scale_rows");
  EXPECT_TRUE(wait_for([&] {
    const pid_t next = child_of(pid);
    return next > 0 && next != first;
  })) << "another worker goes on";
  kill(pid, SIGTERM);
  WorkerEnd end = WorkerEnd::died;
  std::string reason;
  EXPECT_TRUE(wait_for([&] { return has_ended(pid, end, reason); }));
  EXPECT_EQ(end, WorkerEnd::finished) << reason << read_whole(log);
  EXPECT_NE(read_whole(log).find("fault of Assay itself"), std::string::npos) << read_whole(log);
}

TEST(FuzzCommand, TellsTheSourcesWholePath) {
  const Project p;
  p.folder.write("scale_rows.cu", buggy_source());
  const auto report = fuzz_json(p, 100);
  ASSERT_GE(report.at("findings").size(), 1u);
  EXPECT_EQ(report.at("findings")[0].at("file"), p.source);
}

void expect_engine_finds(const char* engine) {
  const Project p;
  p.folder.write("scale_rows.cu", buggy_source());
  const std::string findings = p.folder / "findings";
  const Outcome outcome = run_shell(program(engine) + " --kernel=" + p.contract +
                                    " --findings=" + findings + " -runs=200 -seed=3");
  EXPECT_GE(files_in(findings), 1) << outcome.err;
}

TEST(Engines, LibFuzzerOrItsStandInFindsTheBug) { expect_engine_finds("fuzz_kernel"); }
TEST(Engines, SeededMainFindsTheBug) { expect_engine_finds("fuzz_seeded"); }

TEST(Engines, AKernelMayBeNamedByTheProgramsName) {
  const TemporaryFolder folder;
  const std::string named = folder / "fuzz_vector_add";
  fs::create_symlink(program("fuzz_seeded"), named);
  const Outcome outcome = run_shell(named + " -runs=20");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const Outcome none = run_shell(program("fuzz_seeded") + " -runs=20");
  EXPECT_EQ(none.status, 2);
  EXPECT_NE(none.err.find("no kernel"), std::string::npos) << none.err;
}

TEST(WorkerProcess, TellsADeathFromAnEnd) {
  const TemporaryFolder folder;
  const auto end_of = [&](const std::string& command) {
    const pid_t pid = start_process({"/bin/sh", "-c", command}, folder / "log");
    WorkerEnd end = WorkerEnd::finished;
    std::string reason;
    while (!has_ended(pid, end, reason)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return end;
  };
  EXPECT_EQ(end_of("exit 0"), WorkerEnd::finished);
  EXPECT_EQ(end_of("exit 2"), WorkerEnd::bad_input);
  EXPECT_EQ(end_of("exit 3"), WorkerEnd::missing);
  EXPECT_EQ(end_of("exit 77"), WorkerEnd::died);
  EXPECT_EQ(end_of("kill -SEGV $$"), WorkerEnd::died);
  EXPECT_THROW(start_process({folder / "none"}, folder / "log"), InputError);
}

}  // namespace
}  // namespace assay::testing
