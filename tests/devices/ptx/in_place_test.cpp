// A kernel called in place: one buffer, written as y and read as x, to every checker.
#include <algorithm>
#include <cstring>

#include "devices/device.hpp"
#include "tests/devices/ptx/running.hpp"

namespace assay {
namespace {

using ptx::Runner;

/// A block of 64 threads a row. %rd4: the address of x[row, thread], %rd5: of y[row, thread].
const char* const kAddresses = R"(
  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
  mad.lo.u32 %r3, %r2, 72, %r1; cvt.u64.u32 %rd3, %r3; shl.b64 %rd3, %rd3, 2;
  add.s64 %rd4, %rd2, %rd3; add.s64 %rd5, %rd1, %rd3;
  setp.eq.u32 %p1, %r1, 0;
)";

const char* const kContract = R"toml(
name = "twice"
source = { ptx = "warp.ptx", entry = "k" }  # only has to exist: the tests bring their PTX
sizes = { rows = { min = 0, max = 700 }, cols = { in = [64] } }
launch = { grid = ["rows"], block = ["cols"] }
owns = { y = "rows == block.x" }
args = [
  { name = "y", kind = "output", dtype = "i32", shape = ["rows", "cols"], strides = ["any", 1], may_alias = ["x"] },
  { name = "x", kind = "input", dtype = "i32", shape = ["rows", "cols"], strides = ["any", 1] },
]
[formula]
y = "x"
)toml";

class InPlace : public ::testing::Test {
 protected:
  assay::Run run(const std::string& body, bool in_place, std::vector<int64_t> blocks = {}) {
    contract_ = parse_contract(kContract, (ptx::data_folder() / "hard_cases/copy.toml").string());
    Case c;
    c.kernel = "twice";
    c.sizes = {{"rows", 3}, {"cols", 64}};
    c.layouts["x"] = {{72, 1}, 0, 0};
    c.values["x"] = {"ramp", {}};
    c.blocks = std::move(blocks);
    if (in_place) {
      c.aliases["y"] = "x";
    } else {
      c.layouts["y"] = c.layouts["x"];
    }
    instance_ = std::make_unique<Instance>(instantiate(contract_, c));
    Program program;
    program.ptx = Runner::kernel(kAddresses + body);
    program.entry = "k";
    program.key = body;
    program.source = "copy.ptx";
    return device_->run(*instance_, {program}, RunOptions{});
  }
  const Diagnostic* found(const assay::Run& r, DiagnosticKind kind) const {
    const auto d = std::find_if(r.diagnostics.begin(), r.diagnostics.end(),
                                [&](const Diagnostic& one) { return one.kind == kind; });
    return d == r.diagnostics.end() ? nullptr : &*d;
  }
  int32_t element(const assay::Run& r, int64_t linear, bool* was_written = nullptr) const {
    int32_t value = 0;
    uint8_t written = 0;
    r.outputs->read(*instance_->find("y"), linear, 1, reinterpret_cast<uint8_t*>(&value), &written);
    if (was_written != nullptr) *was_written = written != 0;
    return value;
  }

  Contract contract_;
  std::unique_ptr<Device> device_ = make_ptx_device();
  std::unique_ptr<Instance> instance_;
};

const char* const kOwn = "ld.global.u32 %r4, [%rd4]; add.u32 %r4, %r4, 1; st.global.u32 [%rd5], %r4;";
const char* const kNeighbour =
    "@!%p1 ld.global.u32 %r4, [%rd4+-4]; @%p1 mov.u32 %r4, 0; st.global.u32 [%rd5], %r4;";

TEST_F(InPlace, OwnElementsAreReadAndWrittenInOneBuffer) {
  for (const bool in_place : {false, true}) {
    const assay::Run r = run(kOwn, in_place);
    ASSERT_EQ(r.status, RunStatus::completed);
    EXPECT_TRUE(r.diagnostics.empty()) << r.diagnostics.front().message;
    bool written = false;
    for (int64_t k = 0; k < 3 * 64; ++k) {
      EXPECT_EQ(element(r, k, &written), k + 1) << in_place;
      EXPECT_TRUE(written);
    }
    EXPECT_EQ(r.outputs->stored(*instance_->find("y")).back().second, 3 * 64);
  }
}

TEST_F(InPlace, ANeighboursElementIsARaceInPlaceAlone) {
  EXPECT_TRUE(run(kNeighbour, false).diagnostics.empty());
  const assay::Run r = run(kNeighbour, true);
  const Diagnostic* race = found(r, DiagnosticKind::race);
  ASSERT_NE(race, nullptr);
  EXPECT_NE(race->message.find("y=x, element "), std::string::npos) << race->message;
}

TEST_F(InPlace, WhatIsLeftAloneHoldsTheInput) {
  const std::string some = "ld.global.u32 %r4, [%rd4]; add.u32 %r4, %r4, 1; @%p1 st.global.u32 [%rd5], %r4;";
  const assay::Run r = run(some, true);
  ASSERT_EQ(r.status, RunStatus::completed);
  bool written = true;
  EXPECT_EQ(element(r, 65, &written), 65);
  EXPECT_FALSE(written);
  EXPECT_EQ(element(r, 64, &written), 65);
  EXPECT_TRUE(written);
}

TEST_F(InPlace, ReadingTheOutputIsReadingTheInput) {
  const std::string from_y = "ld.global.u32 %r4, [%rd5]; st.global.u32 [%rd5], %r4;";
  EXPECT_NE(found(run(from_y, false), DiagnosticKind::uninitialised), nullptr);
  EXPECT_TRUE(run(from_y, true).diagnostics.empty());
}

TEST_F(InPlace, PaddingAndOtherBlocksStayForbidden) {
  const std::string padding = std::string(kOwn) + "setp.eq.and.u32 %p2, %r2, 0, %p1;"
                              "@%p2 st.global.u32 [%rd5+256], %r4;";  // the last row ends the buffer
  const assay::Run in_padding = run(padding, true);
  const Diagnostic* stray = found(in_padding, DiagnosticKind::stray_write);
  ASSERT_NE(stray, nullptr);
  EXPECT_NE(stray->message.find("store to padding of y, element 64"), std::string::npos) << stray->message;
  const std::string next_row = std::string(kOwn) + "@%p1 st.global.u32 [%rd5+288], %r4;";
  const assay::Run in_next = run(next_row, true, {0});
  stray = found(in_next, DiagnosticKind::stray_write);
  ASSERT_NE(stray, nullptr);
  EXPECT_NE(stray->message.find("another block owns: y, element 72"), std::string::npos)
      << stray->message;
  const std::string outside = std::string(kOwn) + "@%p1 ld.global.u32 %r4, [%rd5+-4];";
  const assay::Run before = run(outside, true);
  const Diagnostic* out = found(before, DiagnosticKind::out_of_bounds);
  ASSERT_NE(out, nullptr);
  EXPECT_NE(out->message.find("y=x, element -1"), std::string::npos) << out->message;
}

TEST_F(InPlace, AnInputAloneMayNotBeWritten) {
  const std::string input = std::string(kOwn) + "st.global.u32 [%rd4], %r4;";
  EXPECT_NE(found(run(input, false), DiagnosticKind::stray_write), nullptr);
  EXPECT_TRUE(run(input, true).diagnostics.empty()) << "it is the same memory";
}

}  // namespace
}  // namespace assay
