// Conformance kernels and their judge on a CPU, and answers of real hardware that were recorded.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>

#include "devices/cuda/process.hpp"
#include "devices/ptx/semantics.hpp"
#include "devices/ptx/table.hpp"
#include "devices/ptx/tensor.hpp"
#include "fuzz/conform_emulator.hpp"
#include "fuzz/conform_judge.hpp"
#include "fuzz/conform_results.hpp"
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

TEST(Conform, EveryInstructionIsComparedOrNamedWithAReason) {
  const std::vector<ConformKernel> kernels = conform_kernels({});
  std::set<std::string> covered;
  for (const ConformKernel& kernel : kernels) {
    covered.insert(kernel.title.substr(0, kernel.title.find_first_of(". ")));
  }
  for (const ConformProgram& program : conform_programs({})) {
    covered.insert(program.title.substr(0, program.title.find('.')));
  }
  std::set<std::string> named;
  for (const Uncompared& row : uncompared_instructions()) named.insert(row.mnemonic);
  for (const ptx::Row& row : ptx::table()) {
    const std::string mnemonic(row.mnemonic);
    EXPECT_NE(covered.contains(mnemonic), named.contains(mnemonic)) << mnemonic;
  }
  EXPECT_GT(kernels.size(), 4000u);
  std::vector<const ConformKernel*> some;
  for (size_t k = 0; k < kernels.size(); k += 7) some.push_back(&kernels[k]);
  const ptx::Module module = ptx::decode(conform_module(some, 90, 13000), "conform.ptx");
  EXPECT_EQ(module.functions.size(), some.size());
  EXPECT_TRUE(module.unsupported.empty());
}

/// A program's output in the emulator.
struct ProgramRun {
  explicit ProgramRun(const std::string& title, int64_t warps = 8) {
    for (ConformProgram& one : conform_programs({title.substr(0, title.find(' '))})) {
      if (one.title == title) program = std::move(one);
    }
    EXPECT_EQ(program.title, title);
    ConformEmulator emulator;
    emulator.load(program_module({&program}, 13000));
    in = program.input(warps, 5);
    ConformLaunch launch{title, program.entry, in.data(), static_cast<int64_t>(in.size())};
    launch.out_bytes = 32 * warps * program.out_bytes;
    launch.blocks = 32 * warps / kConformThreads;
    launch.has_bytes = program.reads_parameters;
    out = emulator.run(launch);
  }
  ConformProgram program;
  std::vector<uint8_t> in, out;
};

TEST(Conform, ProgramsOfEachKindRunAndOneBitIsADifference) {
  for (const char* title :
       {"ld.global.L1::evict_last.L2::cache_hint.v2.b32", "ld.global.v4.u8", "ld.param.s16",
        "ld.const.b64", "st.local.v2.f32", "ld.shared::cta.s8", "atom.shared.cas.b16",
        "atom.add.u32 (a warp on one cell)", "red.add.noftz.bf16x2", "shfl.sync.bfly.b32",
        "redux.sync.min.s32", "match.all.sync.b64", "bar.red.popc.u32",
        "cp.async.cg.shared.global of 16 bytes, cut", "mbarrier.arrive.shared.b64",
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
        "movmatrix.sync.aligned.m8n8.trans.b16"}) {
    SCOPED_TRACE(title);
    const ProgramRun run(title);
    EXPECT_TRUE(std::any_of(run.out.begin(), run.out.end(), [](uint8_t b) { return b != 0; }));
    const auto judged = [&](const std::vector<uint8_t>& hardware) {
      return judge_program(run.program, run.in, run.out, hardware).tally;
    };
    EXPECT_EQ(judged(run.out).equal, judged(run.out).tuples);
    std::vector<uint8_t> changed = run.out;
    changed[static_cast<size_t>(run.program.out_bytes) + 1] ^= 4;
    EXPECT_EQ(judged(changed).different, 1);
  }
}

/// What the H200 answered: a NaN operand of atom.add.f64 keeps its payload.
TEST(Conform, AnotherNanOfAtomicF64IsDocumented) {
  ProgramRun run("atom.global.add.f64");
  const uint64_t canonical = 0x7ff8000000000000, payload = 0x7fffffff000001b8;
  std::vector<uint8_t> hardware = run.out;
  std::memcpy(run.out.data() + 8, &canonical, 8);
  std::memcpy(hardware.data() + 8, &payload, 8);
  const ConformTally tally = judge_program(run.program, run.in, run.out, hardware).tally;
  EXPECT_EQ(tally.documented[kNanPayload], 1);
  EXPECT_EQ(tally.different, 0);
}

/// The H200's adder as it was measured: answered by the model, the probes and the fit find it.
TEST(Conform, ProbesAndModelsFindAnAdder) {
  const std::string title = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
  const int64_t warps = kProbeWarps + 32;
  ProgramRun run(title, warps);
  const ConformProduct& product = *run.program.product;
  const AdderModel h200{16, 2, true, false, false};
  std::vector<uint8_t> hardware = run.out;
  for (int64_t w = 0; w < warps; ++w) {
    const MatrixOperands m = take_matrices(product, run.in.data() + w * 32 * run.program.in_bytes);
    uint8_t* to = hardware.data() + w * 32 * run.program.out_bytes;
    const auto ours = take_result(product, to);
    for (int lane = 0; lane < 32; ++lane) {
      for (int r = 0; r < 4; ++r) {
        const int i = lane / 4 + 8 * (r / 2), j = lane % 4 * 2 + r % 2;
        double a[16], b[16];
        for (int l = 0; l < 16; ++l) {
          a[l] = ptx::element_value(ptx::Type::f16, m.a[static_cast<size_t>(i * 16 + l)]);
          b[l] = ptx::element_value(ptx::Type::f16, m.b[static_cast<size_t>(l * 8 + j)]);
        }
        const double c = ptx::element_value(ptx::Type::f32, m.c[static_cast<size_t>(i * 8 + j)]);
        uint32_t bits = ours[static_cast<size_t>(i * 8 + j)];
        if (std::isfinite(ptx::element_value(ptx::Type::f32, bits))) {
          bits = ptx::element_bits(ptx::Type::f32, model_sum(h200, product.product, a, b, c));
        }
        std::memcpy(to + lane * run.program.out_bytes + 4 * r, &bits, 4);
      }
    }
  }
  const MatrixTally tally = judge_matrices(run.program, run.in, run.out, hardware);
  EXPECT_EQ(tally.different, 0) << (tally.examples.empty() ? "" : tally.examples[0]);
  EXPECT_GT(tally.within, 100);
  EXPECT_EQ(tally.probes.extra_bits, 2);
  EXPECT_EQ(tally.probes.extra_bits_c, 2);
  EXPECT_EQ(tally.probes.step, 16);
  EXPECT_EQ(tally.probes.rounding, "towards zero");
  EXPECT_TRUE(tally.probes.subnormal_inputs);
  EXPECT_TRUE(tally.probes.subnormal_accumulator);
  ASSERT_EQ(tally.models.size(), 1u);
  EXPECT_EQ(tally.models[0].step, 16);
  EXPECT_EQ(tally.models[0].extra_bits, 2);
}

/// The emulator said true for every global address until a card was asked.
TEST(Conform, IsspacepConstIsFalseForGlobalMemory) {
  const ProgramRun run("isspacep.const");
  EXPECT_TRUE(std::all_of(run.out.begin(), run.out.end(), [](uint8_t b) { return b == 0; }));
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

/// What the emulator's errors leave alone has no bound to hide in: x / 1, 1 / 1, 2^n.
TEST(Conform, OneBitIsADifferenceWhereTheEmulatorIsExact) {
  struct Row {
    const char* title;
    uint64_t a, b;
    bool exact;
  };
  for (const Row& row : {Row{"div.approx.f32", 0x40490fdb, 0x3f800000, true},
                         {"div.full.ftz.f32", 0x40490fdb, 0xbf800000, true},
                         {"div.approx.f32", 0x40490fdb, 0x40000000, false},
                         {"rcp.approx.f32", 0xbf800000, 0, true},
                         {"rcp.approx.f32", 0x40400000, 0, false},
                         {"ex2.approx.f32", 0xc0e00000, 0, true},
                         {"ex2.approx.f32", 0xc0e80000, 0, false}}) {
    Loaded loaded(row.title);
    std::vector<ConformTuple> tuples(kConformThreads);
    for (ConformTuple& tuple : tuples) {
      tuple.source[0] = row.a;
      tuple.source[1] = row.b;
    }
    const auto emulated = loaded.run(tuples);
    auto changed = emulated;
    changed[5].d ^= 1;
    const ConformTally tally = judge_conform(loaded.kernel, tuples, emulated, changed);
    EXPECT_EQ(tally.different, row.exact ? 1 : 0) << row.title << ' ' << row.b;
    EXPECT_EQ(tally.within, row.exact ? 0 : 1) << row.title << ' ' << row.b;
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

TEST(Conform, AnotherOrderOfModifiersIsNamed) {
  const auto said = [](const char* spelling) {
    const auto outcome = run_assay({"conform", spelling});
    EXPECT_EQ(outcome.status, 2);
    return outcome.err;
  };
  EXPECT_NE(said("atom.global.cta.add.u32").find("the order atom.cta.global.add.u32"),
            std::string::npos);
  EXPECT_NE(said("ld.global.L2::cache_hint.L1::evict_last")
                .find("the order ld.global.L1::evict_last.L2::cache_hint"),
            std::string::npos);
  EXPECT_EQ(said("atom.global.nosuch").find("the order"), std::string::npos);
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
  const auto exhaust = run_assay({"exhaust", "unary", "--only", "OP=0", "--device", "cuda"});
  EXPECT_EQ(exhaust.status, 3);
  EXPECT_NE(exhaust.err.find("no CUDA device"), std::string::npos) << exhaust.err;
  EXPECT_EQ(std::count(exhaust.err.begin(), exhaust.err.end(), '\n'), 1) << exhaust.err;
}

TEST(Conform, AMemoryLimitThatIsNoNumberIsAnError) {
  setenv("ASSAY_CUDA_MOST_GIB", "abc", 1);
  const auto outcome = run_assay({"smoke", "softmax", "--device", "cuda"});
  unsetenv("ASSAY_CUDA_MOST_GIB");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("ASSAY_CUDA_MOST_GIB is 'abc': expected a number of GiB above 0"),
            std::string::npos)
      << outcome.err;
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
