// Stores where none belong: each kind of place by each kind of store, told with the store's line, block
// and thread; and the right twin of each, which raises nothing.
#include "devices/ptx/stray_stores.hpp"

#include <algorithm>

#include "devices/device.hpp"
#include "tests/devices/ptx/running.hpp"

namespace assay {
namespace {

using ptx::Runner;

/// y[r, c] = x[r, c] with a thread an element. %rd1: y, %rd2: x, %rd3: ids, %rd4: w; %rd5: the column,
/// %rd6: the row, %rd7: the address of y[r, c], %r3: x[r, c].
const char* const kCopy = R"(
  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c]; ld.param.u64 %rd4, [d];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; cvt.u64.u32 %rd5, %r1; cvt.u64.u32 %rd6, %r2;
  mad.lo.s64 %rd7, %rd6, YSTRIDE, %rd5; shl.b64 %rd7, %rd7, 2; add.s64 %rd7, %rd7, %rd1;
  mad.lo.s64 %rd8, %rd6, 8, %rd5; shl.b64 %rd8, %rd8, 2; add.s64 %rd8, %rd8, %rd2;
  ld.global.u32 %r3, [%rd8]; st.global.u32 [%rd7], %r3;
)";

/// Of 8 columns; block 2, thread 5 does what is stray.
const char* const kContract = R"toml(
name = "copy"
source = { ptx = "warp.ptx", entry = "k" }  # only has to exist: the tests bring their PTX
sizes = { rows = { min = 0, max = 70000 }, cols = { in = [8] } }
launch = { grid = ["rows"], block = ["cols"] }
owns = { y = "rows == block.x" }
args = [
  { name = "y", kind = "output", dtype = "i32", shape = ["rows", "cols"], strides = ["any", 1] },
  { name = "x", kind = "input", dtype = "i32", shape = ["rows", "cols"], overread = 4 },
  { name = "ids", kind = "index", dtype = "i32", shape = ["rows"], domain = "0..3" },
  { name = "w", kind = "workspace", dtype = "i32", shape = ["rows", "cols"], strides = ["any", 1] },
]
[formula]
y = "x"
)toml";

struct Row {
  const char* name;
  const char* wrong;  ///< what block 2, thread 5 does, with %p1
  const char* right;
  DiagnosticKind kind;
  const char* message;
  std::vector<int64_t> blocks = {};
  int64_t y_stride = 12;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class StrayStores : public ::testing::TestWithParam<Row> {
 protected:
  assay::Run run(const std::string& store) {
    contract_ = parse_contract(kContract, (ptx::data_folder() / "hard_cases/copy.toml").string());
    Case c;
    c.kernel = "copy";
    c.sizes = {{"rows", 4}, {"cols", 8}};
    c.layouts["y"] = {{GetParam().y_stride, 1}, 2, 0};
    c.layouts["w"] = {{10, 1}, 0, 0};
    c.blocks = GetParam().blocks;
    instance_ = std::make_unique<Instance>(instantiate(contract_, c));
    std::string body = kCopy;
    body.replace(body.find("YSTRIDE"), 7, std::to_string(GetParam().y_stride));
    body += "setp.eq.u32 %p1, %r2, 2; setp.eq.and.u32 %p1, %r1, 5, %p1; mov.u32 %r5, 7;\n" + store;
    Program program;
    program.ptx = Runner::kernel(body);
    program.entry = "k";
    program.key = body;
    program.source = "copy.ptx";
    const size_t at = program.ptx.find(store);
    line_ = 1 + static_cast<int>(std::count(program.ptx.begin(), program.ptx.begin() + at, '\n'));
    // A store of several lines does what is stray in its last.
    line_ += static_cast<int>(std::count(store.begin(), store.end(), '\n'));
    return device_->run(*instance_, {program}, RunOptions{});
  }
  Contract contract_;
  std::unique_ptr<Device> device_ = make_ptx_device();
  std::unique_ptr<Instance> instance_;
  int line_ = 0;
};

TEST_P(StrayStores, AreToldWithLineBlockAndThread) {
  const assay::Run r = run(GetParam().wrong);
  const auto d = std::find_if(r.diagnostics.begin(), r.diagnostics.end(),
                              [](const Diagnostic& one) { return one.kind == GetParam().kind; });
  ASSERT_NE(d, r.diagnostics.end()) << r.diagnostics.size() << " findings";
  EXPECT_NE(d->message.find(GetParam().message), std::string::npos) << d->message;
  EXPECT_EQ(d->ptx_line, line_) << d->message;
  EXPECT_EQ(d->block, (std::array<int64_t, 3>{2, 0, 0}));
  EXPECT_EQ(d->thread, (std::array<int64_t, 3>{5, 0, 0}));
}

TEST_P(StrayStores, RightTwinsRaiseNothing) {
  const assay::Run r = run(GetParam().right);
  EXPECT_EQ(r.status, RunStatus::completed);
  for (const Diagnostic& d : r.diagnostics) ADD_FAILURE() << name(d.kind) << ": " << d.message;
}

constexpr auto kStray = DiagnosticKind::stray_write;
constexpr auto kOutside = DiagnosticKind::out_of_bounds;
const char* const kRight = "@%p1 st.global.u32 [%rd7], %r3;";

// y: element r * 12 + c, begun 2 elements into its buffer, columns 8 to 11 padding. Thread 5 of block
// 2 stands at element 29 + 2: columns 8, 9 are 3 and 4 elements on, [%rd7+12] and [%rd7+16].
INSTANTIATE_TEST_SUITE_P(
    All, StrayStores,
    ::testing::Values(
        Row{"input", "@%p1 st.global.u32 [%rd8], %r3;", kRight, kStray,
            "store to an input: x, element 21"},
        Row{"input_same_bits_beside_others",
            "@%p1 ld.global.u32 %r6, [%rd2+124];\n@%p1 st.global.u32 [%rd2+124], %r6;", kRight, kStray,
            "store to an input: x, element 31"},
        Row{"input_by_atomic", "@%p1 red.global.add.u32 [%rd8], 0;", "@%p1 red.global.or.b32 [%rd7], 0;",
            kStray, "store to an input: x, element 21"},
        Row{"input_by_vector", "@%p1 st.global.v2.u32 [%rd2+80], {%r3, %r5};",
            "@%p1 st.global.v2.u32 [%rd4+80], {%r3, %r5};", kStray, "store to an input: x, element 20"},
        Row{"past_what_may_be_read", "@%p1 st.global.u32 [%rd2+128], %r5;",
            "@%p1 ld.global.u32 %r9, [%rd2+128];", kStray, "store to an input: x, element 32"},
        Row{"index", "@%p1 st.global.u32 [%rd3+8], %r5;", "@%p1 ld.global.u32 %r9, [%rd3+8];", kStray,
            "store to an input: ids, element 2"},
        Row{"padding", "@%p1 st.global.u32 [%rd7+12], %r5;", kRight, kStray,
            "store to padding of y, element 34"},
        Row{"padding_by_generic_address", "@%p1 st.u32 [%rd7+16], %r5;", "@%p1 st.u32 [%rd7], %r3;",
            kStray, "store to padding of y, element 35"},
        Row{"padding_by_a_byte", "@%p1 st.global.u8 [%rd7+13], %r5;", kRight, kStray,
            "store to padding of y, element 34"},
        Row{"padding_by_atomic", "@%p1 atom.global.exch.b32 %r9, [%rd7+12], %r5;", kRight, kStray,
            "store to padding of y, element 34"},
        Row{"padding_by_a_vector_that_reaches_over",
            "@%p1 st.global.v4.u32 [%rd7+4], {%r3, %r3, %r3, %r3};",
            "mov.u32 %r9, 0;", kStray, "store to padding of y, element 34"},
        Row{"before_the_storage_offset", "@%p1 st.global.u32 [%rd1-8], %r5;", kRight, kStray,
            "store to padding of y, element 0"},
        Row{"before_the_storage_offset_of_contiguous", "@%p1 st.global.u32 [%rd1-4], %r5;", kRight, kStray,
            "store to padding of y, element 1", {}, 8},
        Row{"padding_of_a_workspace", "@%p1 st.global.u32 [%rd4+32], %r5;",
            "@%p1 st.global.u32 [%rd4+28], %r5;", kStray, "store to padding of w, element 8"},
        Row{"past_the_output", "@%p1 st.global.u32 [%rd1+176], %r5;", kRight, kOutside,
            "y, element 46 (1 past the end)"},
        Row{"before_the_buffer", "@%p1 st.global.u32 [%rd1-12], %r5;", kRight, kOutside,
            "y, element -1 (1 before the start)"},
        Row{"past_a_workspace", "@%p1 st.global.u32 [%rd4+152], %r5;", "@%p1 st.global.u32 [%rd4+148], %r5;",
            kOutside, "w, element 38 (1 past the end)"},
        Row{"past_a_workspace_by_atomic", "@%p1 red.global.add.u32 [%rd4+152], %r5;",
            "mov.u32 %r9, 0;", kOutside, "w, element 38 (1 past the end)"},
        Row{"another_block_that_did_not_run", "@%p1 st.global.u32 [%rd7+48], %r5;", kRight, kStray,
            "store to an element that another block owns: y, element 43", {1, 2}},
        Row{"another_block_with_right_values",
            "@%p1 ld.global.u32 %r6, [%rd8+32];\n@%p1 st.global.u32 [%rd7+48], %r6;", kRight, kStray,
            "store to an element that another block owns: y, element 43", {2}},
        Row{"another_block_of_all", "@%p1 st.global.u32 [%rd7+48], %r5;", kRight, kStray,
            "store to an element that another block owns: y, element 43"},
        Row{"another_block_of_all_with_right_values",
            "@%p1 ld.global.u32 %r6, [%rd8-32];\n@%p1 st.global.u32 [%rd7-48], %r6;", kRight, kStray,
            "store to an element that another block owns: y, element 19"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace assay
