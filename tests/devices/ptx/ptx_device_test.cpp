// The PTX device on contracts: regions of operands, launches, limits, subsets of blocks, outputs.
#include <numeric>

#include "tests/devices/ptx/running.hpp"

namespace assay {
namespace {

using ptx::Runner;

/// y[r, c] = x[r, c] + 1 with one thread an element, rows at strides; c, d: the strides.
const char* const kAddOne = R"(
  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c]; ld.param.u64 %rd4, [d];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; cvt.u64.u32 %rd5, %r1; cvt.u64.u32 %rd6, %r2;
  mad.lo.s64 %rd7, %rd6, %rd3, %rd5; shl.b64 %rd7, %rd7, 2; add.s64 %rd7, %rd7, %rd1;
  mad.lo.s64 %rd8, %rd6, %rd4, %rd5; shl.b64 %rd8, %rd8, 2; add.s64 %rd8, %rd8, %rd2;
  ld.global.u32 %r3, [%rd8]; add.s32 %r3, %r3, 1; st.global.u32 [%rd7], %r3;
)";

const char* const kContract = R"toml(
name = "add_one"
source = { ptx = "warp.ptx", entry = "k" }  # only has to exist: the tests bring their PTX
sizes = { rows = { min = 0, max = 70000 }, cols = { min = 1, max = 4096 } }
launch = { grid = ["rows"], block = ["cols"] }
owns = { y = "rows == block.x" }
args = [
  { name = "y", kind = "output", dtype = "i32", shape = ["rows", "cols"], strides = ["any", 1] },
  { name = "x", kind = "input", dtype = "i32", shape = ["rows", "cols"], strides = ["any", 1] },
  { name = "y_stride", kind = "scalar", dtype = "i64", value = "stride(y, 0)" },
  { name = "x_stride", kind = "scalar", dtype = "i64", value = "stride(x, 0)" },
]
[formula]
y = "x + 1"
)toml";

class PtxDevice : public ::testing::Test {
 protected:
  Contract contract =
      parse_contract(kContract, (ptx::data_folder() / "hard_cases/add_one.toml").string());
  std::unique_ptr<Device> device = make_ptx_device();

  static Case a_case(int64_t rows, int64_t cols) {
    Case c;
    c.kernel = "add_one";
    c.sizes = {{"rows", rows}, {"cols", cols}};
    return c;
  }
  assay::Run run(const Case& c, const std::string& body = kAddOne) {
    instance = std::make_unique<Instance>(instantiate(contract, c));
    Program program;
    program.ptx = Runner::kernel(body);
    program.entry = "k";
    program.key = body;
    program.source = "add_one.ptx";
    return device->run(*instance, {program}, RunOptions{});
  }
  /// Elements of y that are not x + 1 or were not written.
  int64_t wrong(const assay::Run& r) {
    const Tensor& y = *instance->find("y");
    const Tensor& x = *instance->find("x");
    const int64_t n = y.elements();
    std::vector<int32_t> got(n), before(n);
    std::vector<uint8_t> written(n);
    r.outputs->read(y, 0, n, reinterpret_cast<uint8_t*>(got.data()), written.data());
    logical_values(*instance, x, 0, n, reinterpret_cast<uint8_t*>(before.data()));
    int64_t bad = 0;
    for (int64_t i = 0; i < n; ++i) {
      bad += written[i] != 1 || got[i] != static_cast<int32_t>(before[i] + 1u);
    }
    return bad;
  }
  static std::string messages(const assay::Run& r) {
    std::string text;
    for (const Diagnostic& d : r.diagnostics) text += d.message + "\n";
    return text;
  }
  std::unique_ptr<Instance> instance;
};

TEST_F(PtxDevice, RunsAndReadsOutputs) {
  const assay::Run r = run(a_case(5, 700));
  ASSERT_EQ(r.status, RunStatus::completed) << messages(r);
  EXPECT_EQ(wrong(r), 0);
  EXPECT_TRUE(r.diagnostics.empty()) << messages(r);
  EXPECT_EQ(r.lane_instructions % 700, 0);
  EXPECT_FALSE(r.program_digest.empty());
  ASSERT_EQ(r.coverage.size(), 1u);
  const Coverage& seen = r.coverage[0];
  EXPECT_EQ(seen.program, r.program_digest);
  ASSERT_EQ(seen.accesses.size(), 2u);  // loads of parameters are none
  for (const uint8_t access : seen.accesses) {
    EXPECT_EQ(access, kAllLanes | kFirstElement | kLastElement) << "always all lanes that exist";
  }
  EXPECT_GT(seen.blocks[0], 0u);
}

TEST_F(PtxDevice, ReadsPaddedAndOffsetLayouts) {
  Case c = a_case(4, 33);
  c.layouts["y"] = {{40, 1}, 3, 4};
  c.layouts["x"] = {{int64_t{1} << 33, 1}, 0, 0};
  const assay::Run r = run(c);
  ASSERT_EQ(r.status, RunStatus::completed) << messages(r);
  EXPECT_EQ(wrong(r), 0);
  EXPECT_TRUE(r.diagnostics.empty()) << messages(r);
}

TEST_F(PtxDevice, OutputsStayReadableAfterLaterRuns) {
  const assay::Run first = run(a_case(3, 50));
  const auto kept = std::move(instance);
  const assay::Run second = run(a_case(2, 64));
  EXPECT_EQ(wrong(second), 0);
  instance = std::make_unique<Instance>(*kept);
  EXPECT_EQ(wrong(first), 0);
}

TEST_F(PtxDevice, UnwrittenElementsShow) {
  const std::string body =
      std::string("mov.u32 %r9, %tid.x; setp.eq.u32 %p1, %r9, 7; @%p1 exit;") + kAddOne;
  const assay::Run r = run(a_case(2, 20), body);
  ASSERT_EQ(r.status, RunStatus::completed) << messages(r);
  EXPECT_EQ(wrong(r), 2);
}

TEST_F(PtxDevice, AnEmptyGridIsNotLaunched) {
  const assay::Run r = run(a_case(0, 20), "trap;");
  EXPECT_EQ(r.status, RunStatus::completed);
  EXPECT_TRUE(r.diagnostics.empty());
}

TEST_F(PtxDevice, LaunchLimitsAreToldWithValues) {
  const assay::Run r = run(a_case(2, 1025));
  EXPECT_EQ(r.status, RunStatus::refused);
  ASSERT_EQ(r.diagnostics.size(), 1u);
  EXPECT_EQ(r.diagnostics[0].kind, DiagnosticKind::launch_limit);
  EXPECT_NE(r.diagnostics[0].message.find("1025"), std::string::npos) << messages(r);
  EXPECT_NE(r.diagnostics[0].message.find("1024"), std::string::npos) << messages(r);
}

TEST_F(PtxDevice, ASubsetOfBlocksRunsAndWritesElsewhereAreStray) {
  Case c = a_case(70000, 32);
  c.blocks = {0, 65536};
  const assay::Run good = run(c);
  ASSERT_EQ(good.status, RunStatus::completed) << messages(good);
  EXPECT_TRUE(good.diagnostics.empty()) << messages(good);
  // Block 65536 with its number cut to 16 bits writes row 0, which block 0 owns: only block 65536
  // runs, so row 0 is not its own.
  c.blocks = {65536};
  std::string body = kAddOne;
  const std::string cut = "mov.u32 %r2, %ctaid.x;";
  body.replace(body.find(cut), cut.size(), cut + " and.b32 %r2, %r2, 65535;");
  const assay::Run bad = run(c, body);
  ASSERT_EQ(bad.status, RunStatus::completed) << messages(bad);
  ASSERT_EQ(bad.diagnostics.size(), 1u) << messages(bad);
  EXPECT_EQ(bad.diagnostics[0].kind, DiagnosticKind::stray_write);
  EXPECT_EQ(bad.diagnostics[0].count, 32);
}

TEST_F(PtxDevice, ASubsetNeverRunsWhereBlocksCommunicate) {
  Case c = a_case(100, 32);
  c.blocks = {1};
  for (const char* talk :
       {"membar.gl;", "ld.param.u64 %rd20, [a]; ld.volatile.global.u32 %r20, [%rd20];",
        "ld.param.u64 %rd20, [a]; red.global.add.u32 [%rd20], 1;"}) {
    const assay::Run r = run(c, std::string(talk) + kAddOne);
    EXPECT_EQ(r.status, RunStatus::unsupported) << talk;
    ASSERT_EQ(r.diagnostics.size(), 1u);
    EXPECT_NE(r.diagnostics[0].message.find("subset"), std::string::npos) << messages(r);
  }
}

TEST_F(PtxDevice, LaunchesFromModulesOfDifferentSizes) {
  // A small module first, then one with more basic blocks, then the small one again.
  Case c = a_case(3, 10);
  c.layouts["y"] = {{16, 1}, 0, 0};
  instance = std::make_unique<Instance>(instantiate(contract, c));
  instance->launches.resize(3, instance->launches[0]);
  const auto program = [](const std::string& body) {
    Program p;
    p.ptx = Runner::kernel(body);
    p.entry = "k";
    p.key = body;
    p.source = "add_one.ptx";
    return p;
  };
  std::string large = "mov.u32 %r30, 0;";
  for (int i = 0; i < 400; ++i) {
    const std::string label = "L" + std::to_string(i);
    large += "bra " + label + ";\n" + label + ": add.u32 %r30, %r30, 1;\n";
  }
  const std::string stray = "setp.lt.u32 %p1, %r2, 2; @%p1 st.global.u32 [%rd7+8], %r3;";
  const assay::Run r = device->run(
      *instance,
      {program("mov.u32 %r1, 0;"), program(large + kAddOne + stray), program("mov.u32 %r1, 1;")},
      RunOptions{});
  ASSERT_EQ(r.status, RunStatus::completed) << messages(r);
  ASSERT_EQ(r.coverage.size(), 3u) << "one a module";
  EXPECT_GT(r.coverage[1].blocks.size(), 400u);
  EXPECT_EQ(r.coverage[0].blocks.size(), r.coverage[2].blocks.size());
  EXPECT_NE(r.coverage[0].program, r.coverage[2].program);
  // Told once, by the launch that stored: the last one's code has no such line.
  // The first lanes' stores race with those of the lanes whose elements they hit.
  ASSERT_EQ(r.diagnostics.size(), 2u) << messages(r);
  EXPECT_EQ(r.diagnostics[0].kind, DiagnosticKind::race);
  EXPECT_EQ(r.diagnostics[1].kind, DiagnosticKind::stray_write);
  EXPECT_EQ(r.diagnostics[1].count, 4);
  EXPECT_GT(r.diagnostics[1].ptx_line, 800);
}

TEST_F(PtxDevice, StoresToPaddingAreStray) {
  Case c = a_case(3, 10);
  c.layouts["y"] = {{16, 1}, 0, 0};
  // Threads 8 and 9 of the first two rows store two elements past the row; the last row's would
  // leave the buffer, so its block does not.
  const assay::Run r = run(c, std::string(kAddOne) + R"(
    setp.lt.u32 %p1, %r2, 2; @%p1 st.global.u32 [%rd7+8], %r3;)");
  ASSERT_EQ(r.status, RunStatus::completed) << messages(r);
  // The first lanes' stores race with those of the lanes whose elements they hit.
  ASSERT_EQ(r.diagnostics.size(), 2u) << messages(r);
  EXPECT_EQ(r.diagnostics[0].kind, DiagnosticKind::race);
  EXPECT_EQ(r.diagnostics[1].kind, DiagnosticKind::stray_write);
  EXPECT_EQ(r.diagnostics[1].count, 4);
}

}  // namespace
}  // namespace assay
