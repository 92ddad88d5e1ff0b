// The barrier checker on compiled kernels: tests/data/barriers/right.cu, which it must leave alone,
// and wrong.cu, whose faults it must find at their lines.
#include <algorithm>
#include <sstream>

#include "tests/devices/ptx/running.hpp"

namespace assay::ptx {
namespace {

class Barriers : public ::testing::Test {
 protected:
  static std::string text(const char* name) {
    return read_file(std::string(ASSAY_SOURCE_DIR) + "/tests/data/barriers/" + name);
  }
  Runner right{text("right.ptx")};
  Runner wrong{text("wrong.ptx")};

  static uint64_t floats(Runner& r, const char* name, int n, bool judged = false) {
    std::vector<float> v(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i) v[i] = static_cast<float>(i + 1);
    return r.array<float>(name, v, true, judged, judged);
  }
  /// Runs under several orders of warps; nothing may be told but notes, and those only as asked.
  void clean(const char* entry, const std::vector<uint64_t>& params, LaunchConfig config,
             int notes = 0) {
    for (uint64_t seed : {0, 1, 2, 3}) {
      config.block_seed = config.warp_seed = seed;
      ASSERT_EQ(right.run(params, config, entry), RunStatus::completed)
          << entry << "\n" << right.all_messages();
      int findings = 0, told = 0;
      for (const Diagnostic& d : right.diagnostics()) (d.note ? told : findings) += 1;
      EXPECT_EQ(findings, 0) << entry << "\n" << right.all_messages();
      EXPECT_EQ(told, notes) << entry << "\n" << right.all_messages();
    }
  }
  /// Lines of wrong.cu whose comment says `entry`, or `entry other`.
  std::vector<int> lines_of(const std::string& entry, bool other) {
    std::vector<int> lines;
    std::istringstream source(text("wrong.cu"));
    int line = 1;
    for (std::string at; std::getline(source, at); ++line) {
      const size_t mark = at.find("// " + entry);
      if (mark == std::string::npos) continue;
      const std::string rest = at.substr(mark + 3 + entry.size());
      if (rest == (other ? " other" : "")) lines.push_back(line);
    }
    return lines;
  }
  /// Runs under several orders of warps, and expects a finding whose message begins with `message`
  /// at a marked line, one of whose steps is at the line marked `other`, where there is one.
  void found(const char* entry, const std::vector<uint64_t>& params, LaunchConfig config,
             const std::string& message, RunStatus status = RunStatus::completed,
             DiagnosticKind kind = DiagnosticKind::barrier) {
    const std::vector<int> lines = lines_of(entry, false), others = lines_of(entry, true);
    ASSERT_FALSE(lines.empty()) << entry;
    for (uint64_t seed : {0, 1, 2}) {
      config.warp_seed = seed;
      EXPECT_EQ(wrong.run(params, config, entry), status) << entry << "\n" << wrong.all_messages();
      bool told = false;
      for (const Diagnostic& d : wrong.diagnostics()) {
        if (d.kind != kind || d.note || d.message.find(message) != 0) continue;
        if (std::find(lines.begin(), lines.end(), d.line) == lines.end()) continue;
        told |= others.empty() ||
                std::any_of(d.steps.begin(), d.steps.end(), [&](const Step& step) {
                  return step.line == others[0] && step.block[0] == 0 && step.thread[0] >= 0;
                });
      }
      EXPECT_TRUE(told) << entry << " " << lines[0] << "\n" << wrong.all_messages();
    }
    config.warp_seed = 0;
    wrong.options.barriers = false;
    const RunStatus off = wrong.run(params, config, entry);
    if (off != RunStatus::fault) {
      EXPECT_EQ(wrong.count(DiagnosticKind::barrier), 0) << entry << ": off must be off";
    }
    wrong.options.barriers = true;
  }
};

TEST_F(Barriers, LeavesBlockBarriersAlone) {
  const uint64_t y = floats(right, "y", 512), x = floats(right, "x", 512);
  clean("early_return", {y, x, 75}, threads(128));
  clean("early_return", {y, x, 20}, threads(128));
  clean("early_return_with_a_store", {y, x, 75}, threads(128));
  clean("turns_of_the_block", {y, x, 2}, threads(64, 4));
  clean("unequal_work", {y, x, 3}, threads(64));
  clean("uniform_condition", {y, x, 3}, threads(64));
  clean("uniform_condition", {y, x, 4}, threads(64));
  clean("tree", {y, x, 100}, threads(128));
  clean("named", {y, x}, threads(128));
  clean("producer", {y, x, 5}, threads(96));
  clean("not_aligned", {y, x, 7}, threads(64));
  clean("counted", {y, x, 41}, threads(64));
}

TEST_F(Barriers, LeavesWarpOperationsAlone) {
  const uint64_t y = floats(right, "y", 512), x = floats(right, "x", 512);
  clean("block_sum", {y, x, 100}, threads(128));
  clean("segments", {y, x}, threads(64));
  clean("half_warp", {y, x}, threads(64));
  clean("ballot_mask", {y, x, 19}, threads(32));
  clean("scan", {y, x, 19}, threads(32));
  clean("after_a_return", {y, x, 9}, threads(32));
  clean("both_arms", {y, x, 16}, threads(32));
  clean("votes", {y, x, 5}, threads(32));
  clean("warp_loop", {y, x, 7}, threads(96));
  const uint64_t halves = right.array<uint16_t>("a", std::vector<uint16_t>(256, 0x3c00));
  clean("product", {y, halves, halves}, threads(64));
}

TEST_F(Barriers, ANoteWhereItIsLeftToChance) {
  const uint64_t y = floats(right, "y", 512), x = floats(right, "x", 512);
  clean("sum_of_the_rest", {y, x, 19}, threads(32), 1);
  clean("tiles", {y, x, 7}, threads(64), 1);
  clean("a_place_for_each_warp", {y, x}, threads(64), 1);
  EXPECT_EQ(right.diagnostics()[0].kind, DiagnosticKind::barrier);
  EXPECT_EQ(right.diagnostics()[0].message.find("barrier 0 is met at different places"), 0u)
      << right.all_messages();
}

TEST_F(Barriers, FindsDivergentBlockBarriers) {
  const uint64_t y = floats(wrong, "y", 512), x = floats(wrong, "x", 512);
  const std::string divergent = "bar.sync in divergent code: ";
  found("half_a_warp", {y, x, 16}, threads(64), divergent + "lanes 0-15 of warp 0 execute it, lanes "
        "16-31 went past it at wrong.cu:");
  found("half_a_warp", {y, x, 40}, threads(64), divergent + "lanes 0-7 of warp 1 execute it");
  found("two_barriers", {y, x, 9}, threads(64), divergent + "lanes 9-31 of warp 0 arrive here, "
        "lanes 0-8 at wrong.cu:");
  found("uneven_loop", {y, x, 80}, threads(64), divergent + "lanes 0-15 of warp 0");
  found("in_a_loop", {y, x, 3}, threads(64), divergent + "lanes 0, 2, 4, 6,");
  found("returns_from_a_function", {y, x, 5}, threads(64), divergent + "lanes 0-4 of warp 0");
}

// The warp that goes past is the second one to run here; the other way round nothing is told.
TEST_F(Barriers, FindsABarrierOfOneWarpAlone) {
  const uint64_t y = floats(wrong, "y", 64), x = floats(wrong, "x", 64);
  // It counts entries of blocks, and needs no other reader of the counters.
  wrong.options.switch_off_checkers();
  wrong.options.barriers = true;
  ASSERT_EQ(wrong.run({y, x}, threads(64), "one_warp_of_two"), RunStatus::completed);
  ASSERT_EQ(wrong.count(DiagnosticKind::barrier), 1) << wrong.all_messages();
  const Diagnostic& d = wrong.diagnostics()[0];
  EXPECT_EQ(d.line, lines_of("one_warp_of_two", false)[0]);
  EXPECT_EQ(d.message.find("bar.sync in divergent code: warp 0 waits here, warp 1 went past it at "), 0u)
      << d.message;
  ASSERT_EQ(d.steps.size(), 2u);
  EXPECT_EQ(d.steps[1].line, lines_of("one_warp_of_two", true)[0]);
  EXPECT_EQ(d.steps[1].thread[0], 32);
}

// Prebuilt PTX may have no line table; a barrier that need not be aligned may be left out.
TEST_F(Barriers, WithoutALineTable) {
  for (const bool aligned : {true, false}) {
    Runner plain(Runner::kernel(std::string("mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 16;\n"
                                            "@%p1 bra BEHIND;\n") +
                                (aligned ? "bar.sync 0;\n" : "barrier.sync 0;\n") +
                                "BEHIND:\nadd.u32 %r2, %r1, 1; ld.param.u64 %rd1, [a];\n"
                                "mad.wide.u32 %rd1, %r1, 4, %rd1; st.global.u32 [%rd1], %r2;"));
    const uint64_t y = floats(plain, "y", 64);
    ASSERT_EQ(plain.run({y, 0, 0, 0}, threads(64)), RunStatus::completed);
    ASSERT_EQ(plain.count(DiagnosticKind::barrier), aligned ? 1 : 0) << plain.all_messages();
    if (!aligned) continue;
    EXPECT_EQ(plain.diagnostics()[0].message,
              "bar.sync in divergent code: lanes 0-15 of warp 0 execute it, lanes 16-31 went past it "
              "and exited");
    EXPECT_GT(plain.diagnostics()[0].ptx_line, 0);
  }
}

TEST_F(Barriers, FindsWrongThreadCounts) {
  const uint64_t y = floats(wrong, "y", 512), x = floats(wrong, "x", 512);
  found("odd_count", {y, x}, threads(64),
        "bar.sync: a thread count of 48: no multiple of the warp's 32");
  found("too_many", {y, x}, threads(64),
        "bar.sync: a thread count of 128: more than the block has (64)", RunStatus::hang);
  found("mixed", {y, 40}, threads(64), "barrier 0: bar.");
}

TEST_F(Barriers, FindsCountsThatDiffer) {
  const uint64_t y = floats(wrong, "y", 512), x = floats(wrong, "x", 512);
  // Which count holds is the order's: the block hangs or goes on.
  for (uint64_t seed : {0, 1, 2}) {
    LaunchConfig config = threads(96);
    config.warp_seed = seed;
    wrong.run({y, x}, config, "counts_differ");
    ASSERT_GE(wrong.count(DiagnosticKind::barrier), 1) << wrong.all_messages();
    EXPECT_EQ(wrong.diagnostics()[0].message.find(
                  "barrier 1: participants state different thread counts, "), 0u)
        << wrong.all_messages();
  }
}

TEST_F(Barriers, ADeadlockNamesWhoIsMissing) {
  const uint64_t y = floats(wrong, "y", 512), x = floats(wrong, "x", 512);
  found("crossed", {y, x}, threads(64), "no thread of the block can go on: lanes 0-31 of warp 0 wait "
        "at bar.sync at wrong.cu:", RunStatus::hang, DiagnosticKind::hang);
  found("barrier_and_warp", {y, x, 16}, threads(32), "no thread of the block can go on: lanes 0-15 of "
        "warp 0 wait at bar.sync at wrong.cu:", RunStatus::hang, DiagnosticKind::hang);
  found("two_masks", {y, x, 16}, threads(32), "no thread of the block can go on: ", RunStatus::hang,
        DiagnosticKind::hang);
}

TEST_F(Barriers, FindsWrongMasks) {
  const uint64_t y = floats(wrong, "y", 512), x = floats(wrong, "x", 512);
  found("full_mask_in_a_branch", {y, x, 16}, threads(32),
        "shfl.sync.bfly.b32 waits for lanes that never come: lanes 0-15 of warp 0 execute it with "
        "mask 0xffffffff, lanes 16-31 went past it at wrong.cu:");
  found("mask_without_self", {y, x}, threads(32), "shfl.sync.bfly.b32 with mask 0x0000ffff, which "
        "does not name lanes 16-31 of warp 0");
  found("vote_without_self", {y, x}, threads(32), "vote.sync.ballot.b32 with mask 0x0000ffff");
  found("match_without_self", {y, 3}, threads(32), "match.any.sync.b32 with mask 0x7fffffff, which "
        "does not name lane 31 of warp 0");
  found("redux_without_self", {y}, threads(32), "redux.sync.add.s32 with mask 0xfffffffe");
  found("syncwarp_without_self", {y, x}, threads(32), "bar.warp.sync with mask 0x000000ff");
  found("two_operations", {y, x, 9}, threads(32), "lanes 9-31 of warp 0 execute vote.sync.all.pred, "
        "lanes 0-8 vote.sync.any.pred at wrong.cu:");
  const uint64_t halves = wrong.array<uint16_t>("a", std::vector<uint16_t>(256, 0x3c00));
  found("product_by_some", {y, halves, halves}, threads(32), "wmma.load.a.sync", RunStatus::fault);
}

// Told at the shuffle, once what it gave is used.
TEST_F(Barriers, FindsShufflesFromAbsentLanes) {
  const uint64_t y = floats(wrong, "y", 64, true), x = floats(wrong, "x", 64);
  found("reads_the_exited", {y, x, 20}, threads(32), "shfl.sync.down.b32 of lane ");
  found("reads_beyond_the_mask", {y, x, 20}, threads(32),
        "shfl.sync.down.b32 of lane 19 of warp 0 reads lane 20, which its mask does not name: an "
        "undefined value, used in: store to y, element 19");
  found("branches_on_the_absent", {y, x, 20}, threads(32), "shfl.sync.bfly.b32 of lane ");
  EXPECT_EQ(wrong.run({y, x, 20}, threads(32), "branches_on_the_absent"), RunStatus::completed);
  EXPECT_NE(wrong.all_messages().find("which has exited or is none: an undefined value, used in: "),
            std::string::npos)
      << wrong.all_messages();
  // A value that is selected away is not used; nor is it where nobody judges what is stored.
  const uint64_t out = floats(right, "y", 64, true), in = floats(right, "x", 64);
  clean("ballot_mask", {out, in, 19}, threads(32));
  clean("scan", {out, in, 19}, threads(32));
  clean("after_a_return", {out, in, 9}, threads(32));
  clean("sum_of_the_rest", {out, in, 19}, threads(32), 1);
  clean("segments", {out, in}, threads(64));
  clean("half_warp", {out, in}, threads(64));
  clean("block_sum", {out, in, 50}, threads(64));
}

}  // namespace
}  // namespace assay::ptx
