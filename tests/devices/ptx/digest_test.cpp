#include "devices/ptx/digest.hpp"

#include <gtest/gtest.h>

#include "decoding.hpp"

namespace assay::ptx {
namespace {

std::string digest(const std::string& text) { return decode(text, "test.ptx").digest; }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  EXPECT_NE(text.find(from), text.npos) << from;
  for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

const std::string kText = kHeader +
                          ".global .align 4 .b8 table[8] = {1, 2, 3};\n"
                          ".global .u64 pointer = generic(table);\n"
                          ".visible .entry k(.param .u64 a)\n"
                          ".maxntid 256, 1, 1\n"
                          "{\n"
                          ".reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
                          ".loc 1 5 0\n"
                          "ld.param.u64 %rd1, [a];\n"
                          "LOOP: add.s32 %r1, %r2, 7;\n"
                          "setp.lt.s32 %p1, %r1, %r3;\n"
                          "@%p1 bra LOOP;\n"
                          "st.global.u32 [%rd1+4], %r1;\n"
                          "ret;\n}\n"
                          ".file 1 \"k.cu\"\n"
                          ".section .debug_str\n{\n.b8 49,50,51,0\n}\n";

TEST(Digest, SixteenHexDigits) {
  EXPECT_EQ(digest(kText).size(), 16u);
  EXPECT_EQ(digest(kText).find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(digest(kText), digest(kText));
}

TEST(Digest, WhatDoesNotCount) {
  const std::string base = digest(kText);
  EXPECT_EQ(digest(replaced(kText, "49,50,51", "52,53,54")), base) << "debug strings";
  EXPECT_EQ(digest(replaced(kText, "k.cu", "other.cu")), base) << "file names";
  EXPECT_EQ(digest(replaced(kText, ".loc 1 5 0", ".loc 1 9 2")), base) << "lines";
  EXPECT_EQ(digest(replaced(kText, "%r", "%v")), digest(kText)) << "register names";
  EXPECT_EQ(digest(replaced(kText, "LOOP", "$L__BB0_1")), base) << "labels";
  EXPECT_EQ(digest(replaced(kText, "table", "_INTERNAL_9f_table")), base) << "variables' names";
  EXPECT_EQ(digest("// pid 4711\n" + kText), base) << "comments";
  EXPECT_EQ(digest(replaced(kText, "%r<4>", "%r<40>")), base) << "unused registers";
}

TEST(Digest, WhatCounts) {
  const std::string base = digest(kText);
  const std::pair<const char*, const char*> changes[] = {
      {"%r2, 7", "%r2, 8"},
      {"add.s32", "sub.s32"},
      {"[%rd1+4]", "[%rd1+8]"},
      {"%r1, %r2, 7", "%r1, %r1, 7"},
      {"setp.lt", "setp.le"},
      {"@%p1", "@!%p1"},
      {"{1, 2, 3}", "{1, 2, 4}"},
      {"256, 1, 1", "128, 1, 1"},
      {".entry k", ".entry k2"},
      {"st.global.u32", "st.volatile.global.u32"},
      {"generic(table)", "generic(table)+4"},
      {".param .u64 a", ".param .align 16 .u64 a"},
      {"sm_80", "sm_90"},
      {"setp.lt.s32 %p1, %r1, %r3", "setp.lt.s32 %p1, %r3, %r1"},
      {".b32 %r<4>", ".f32 %r<4>"},
  };
  for (const auto& [from, to] : changes) {
    std::string text = replaced(kText, from, to);
    if (std::string(to) == ".f32 %r<4>") {
      text = replaced(text, "add.s32", "add.f32");
      text = replaced(text, "%r2, 7", "%r2, 7.0");
      text = replaced(text, "setp.lt.s32", "setp.lt.f32");
      text = replaced(text, "st.global.u32", "st.global.f32");
    }
    EXPECT_NE(digest(text), base) << from << " -> " << to;
  }
}

/// What nvcc -lineinfo writes into names of internal functions and their debug strings.
TEST(Digest, ProcessIdInDebugStrings) {
  const std::string text = read_file(data_folder() / "nvcc_sm80" / "softmax.ptx");
  std::string other = text;
  const size_t section = other.find(".debug_str");
  ASSERT_NE(section, other.npos);
  size_t changed = 0;
  for (size_t at = section; at < other.size(); ++at) {
    if (other[at] == '9') other[at] = '8', ++changed;
  }
  EXPECT_GT(changed, 10u);
  EXPECT_EQ(digest(other), digest(text));
}

}  // namespace
}  // namespace assay::ptx
