// Conformance kernels and their judge on a CPU, and answers of real hardware that were recorded.
#include <cstdio>
#include <map>
#include <set>

#include "devices/cuda/process.hpp"
#include "devices/ptx/semantics.hpp"
#include "devices/ptx/table.hpp"
#include "fuzz/conform_emulator.hpp"
#include "fuzz/conform_judge.hpp"
#include "kernels_under_test/input_error.hpp"
#include "run_assay.hpp"

namespace assay {
namespace {

using testing::run_assay;

/// A spelling with its module, ready to run.
struct Loaded {
  explicit Loaded(const std::string& title) {
    for (ConformKernel& one : conform_kernels({title})) {
      if (one.title == title) kernel = std::move(one);
    }
    EXPECT_EQ(kernel.title, title);
    emulator.load(conform_module({&kernel}, 90, 13000));
  }
  std::vector<ConformAnswer> run(const std::vector<ConformTuple>& tuples) {
    return emulator.run(kernel, tuples);
  }
  ConformKernel kernel;
  ConformEmulator emulator;
};

bool has_gpu() {
  try {
    cuda::Process process;
    return true;
  } catch (const MissingDependency&) {
    return false;
  }
}

TEST(Conform, EveryComputingInstructionHasKernelsThatDecode) {
  const std::vector<ConformKernel> kernels = conform_kernels({});
  std::set<ptx::Op> covered;
  for (const ConformKernel& kernel : kernels) covered.insert(kernel.instruction.op);
  for (const ptx::Row& row : ptx::table()) {
    ptx::Instruction one;
    one.op = row.op;
    // Memory, control and warp instructions have no row function and no kernel.
    const bool computes = row.definedness != ptx::DefinednessRule::load &&
                          row.definedness != ptx::DefinednessRule::store &&
                          row.definedness != ptx::DefinednessRule::atomic &&
                          row.definedness != ptx::DefinednessRule::none &&
                          row.definedness != ptx::DefinednessRule::shuffle &&
                          row.definedness != ptx::DefinednessRule::vote &&
                          row.definedness != ptx::DefinednessRule::uniform;
    const bool address = row.op == ptx::Op::cvta || row.op == ptx::Op::isspacep;
    // Matrix instructions work on a whole warp's fragments and are judged by an envelope, not bit
    // for bit: they are no part of this form of conform, and its report says so.
    const bool matrix =
        row.op == ptx::Op::mma || row.op == ptx::Op::wmma || row.op == ptx::Op::movmatrix;
    EXPECT_EQ(covered.contains(row.op), computes && !address && !matrix) << row.mnemonic;
  }
  EXPECT_GT(kernels.size(), 4000u);
  std::vector<const ConformKernel*> some;
  for (size_t k = 0; k < kernels.size(); k += 7) some.push_back(&kernels[k]);
  const ptx::Module module = ptx::decode(conform_module(some, 90, 13000), "conform.ptx");
  EXPECT_EQ(module.functions.size(), some.size());
  EXPECT_TRUE(module.unsupported.empty());
}

TEST(Conform, TuplesCrossSpecialsAndAreRepeatable) {
  const ConformKernel kernel = Loaded("add.f32").kernel;
  const auto tuples = conform_tuples(kernel, 20'000, 3);
  const auto has = [&](uint64_t a, uint64_t b) {
    return std::any_of(tuples.begin(), tuples.end(),
                       [&](const ConformTuple& t) { return t.source[0] == a && t.source[1] == b; });
  };
  EXPECT_TRUE(has(0x7f800000, 0xff800000));  // inf + -inf
  EXPECT_TRUE(has(0x80000000, 0x00000001));
  EXPECT_TRUE(has(0x7f7fffff, 0x7f7fffff));
  const auto again = conform_tuples(kernel, 20'000, 3), other = conform_tuples(kernel, 20'000, 4);
  const auto last = [](const auto& list) { return list.back().source[0]; };
  EXPECT_EQ(last(tuples), last(again));
  EXPECT_NE(last(tuples), last(other));
}

/// One bit of one answer is changed: exact instructions differ, approximate ones stay within.
TEST(Conform, OneBitIsADifferenceUnlessTheBoundAllowsIt) {
  for (const auto& [title, exact] : std::map<std::string, bool>{{"add.f32", true},
                                                                {"mul.lo.s32", true},
                                                                {"fma.rn.f16x2", true},
                                                                {"setp.lt.f32", true},
                                                                {"ex2.approx.f32", false},
                                                                {"rsqrt.approx.f32", false}}) {
    Loaded loaded(title);
    std::vector<ConformTuple> tuples(kConformThreads);
    for (size_t i = 0; i < tuples.size(); ++i) {
      for (uint64_t& source : tuples[i].source) source = 0x3f800000 + (i << 16);
    }
    const auto emulated = loaded.run(tuples);
    ConformTally tally = judge_conform(loaded.kernel, tuples, emulated, emulated);
    EXPECT_EQ(tally.equal, tally.tuples) << title;
    auto changed = emulated;
    if (title == "setp.lt.f32") {
      changed[5].p ^= 1;
    } else {
      changed[5].d ^= 1;
    }
    tally = judge_conform(loaded.kernel, tuples, emulated, changed);
    EXPECT_EQ(tally.different, exact ? 1 : 0) << title;
    EXPECT_EQ(tally.within, exact ? 0 : 1) << title;
    EXPECT_EQ(tally.examples.size(), exact ? 1u : 0u) << title;
    // Beyond any bound.
    changed = emulated;
    changed[5].d ^= 0x4000;
    EXPECT_EQ(judge_conform(loaded.kernel, tuples, emulated, changed).different, 1) << title;
  }
}

TEST(Conform, RecordedHardwareAnswersCountAsTheySay) {
  std::ifstream in(std::string(ASSAY_SOURCE_DIR) + "/tests/data/conform/h200.txt");
  int lines = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    SCOPED_TRACE(line);
    ++lines;
    std::istringstream words(line.substr(0, line.find(" : ")));
    const std::string expected = line.substr(line.find(" : ") + 3);
    std::string title, word;
    words >> title;
    Loaded loaded(title);
    std::vector<ConformTuple> tuples(kConformThreads);
    for (int k = 0; words >> word && word != "="; ++k) {
      for (ConformTuple& tuple : tuples) tuple.source[k] = std::stoull(word, nullptr, 16);
    }
    words >> word;
    const auto emulated = loaded.run(tuples);
    auto hardware = emulated;
    for (ConformAnswer& answer : hardware) answer.d = std::stoull(word, nullptr, 16);
    const ConformTally tally = judge_conform(loaded.kernel, tuples, emulated, hardware);
    EXPECT_EQ(tally.equal, 0) << "the emulator now agrees: the difference is gone";
    std::string found = tally.within == tally.tuples ? "within" : "different";
    for (size_t row = 0; row < conform_deviations().size(); ++row) {
      if (tally.documented[row] == tally.tuples) found = conform_deviations()[row].name;
    }
    EXPECT_EQ(found, expected);
  }
  EXPECT_GT(lines, 10);
}

TEST(Conform, WithoutACardItSaysSo) {
  if (has_gpu()) GTEST_SKIP() << "there is a CUDA device";
  const auto outcome = run_assay({"conform", "add"});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_NE(outcome.err.find("no CUDA device"), std::string::npos) << outcome.err;
  EXPECT_EQ(run_assay({"conform", "nosuch"}).status, 2);
  for (const char* command : {"smoke", "score", "list"}) {
    const auto other = run_assay({command, "--device", "cuda"});
    EXPECT_EQ(other.status, 3) << command;
    EXPECT_NE(other.err.find("no CUDA device"), std::string::npos) << other.err;
  }
}

TEST(Conform, AgreesWithTheCard) {
  if (!has_gpu()) GTEST_SKIP() << "no CUDA device";
  const auto outcome = run_assay({"conform", "add", "fma", "cvt.rn", "--cases", "10000"});
  EXPECT_EQ(outcome.status, 0) << outcome.out;
}

TEST(CudaSmoke, KernelsPassOnTheCard) {
  if (!has_gpu()) GTEST_SKIP() << "no CUDA device";
  const auto outcome =
      run_assay({"smoke", "softmax", "gather", "--device", "cuda", "--cases", "60"});
  EXPECT_TRUE(outcome.status == 0 || outcome.status == 4) << outcome.out;  // large cases: skipped
}

}  // namespace
}  // namespace assay
