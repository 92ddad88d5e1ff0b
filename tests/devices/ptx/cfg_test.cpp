#include "devices/ptx/cfg.hpp"

#include <gtest/gtest.h>

#include <set>

#include "decoding.hpp"

namespace assay::ptx {
namespace {

Function body(const std::string& text) { return decode(kernel(text), "test.ptx").functions[0]; }

int order(const Function& function, int block) { return function.blocks[block].order; }

TEST(Cfg, StraightCodeIsOneBlock) {
  const Function f = body("add.u32 %r1, %r1, 1;");
  ASSERT_EQ(f.blocks.size(), 1u);
  EXPECT_EQ(f.blocks[0].first, 0);
  EXPECT_EQ(f.blocks[0].last, 2);
  EXPECT_EQ(f.blocks[0].successors, (std::array<int32_t, 2>{-1, -1}));
  EXPECT_FALSE(f.blocks[0].back_edge);
}

TEST(Cfg, DiamondJoinsLast) {
  const Function f = body(
      "@%p1 bra ELSE;\n"
      "mov.u32 %r1, 1;\n"
      "bra JOIN;\n"
      "ELSE: mov.u32 %r1, 2;\n"
      "JOIN: mov.u32 %r2, %r1;");
  ASSERT_EQ(f.blocks.size(), 4u);
  EXPECT_EQ(f.blocks[0].successors, (std::array<int32_t, 2>{1, 2}));
  EXPECT_EQ(f.blocks[1].successors, (std::array<int32_t, 2>{-1, 3}));
  EXPECT_EQ(f.blocks[2].successors, (std::array<int32_t, 2>{3, -1}));
  EXPECT_EQ(f.code[0].target, 2);
  EXPECT_EQ(order(f, 0), 0);
  EXPECT_EQ(order(f, 3), 3);
  for (const BasicBlock& block : f.blocks) EXPECT_FALSE(block.back_edge);
}

TEST(Cfg, LoopHasABackEdgeAndItsExitComesBehindIt) {
  // The loop's body is behind its exit in the text, as compilers lay out cold exits.
  const Function f = body(
      "HEAD: setp.lt.s32 %p1, %r1, %r2;\n"
      "@%p1 bra BODY;\n"
      "mov.u32 %r3, 0;\n"
      "bra END;\n"
      "BODY: add.s32 %r1, %r1, 1;\n"
      "bra HEAD;\n"
      "END:");
  ASSERT_EQ(f.blocks.size(), 4u);
  EXPECT_EQ(order(f, 0), 0);
  EXPECT_EQ(order(f, 2), 1);  // the body, before the exit
  EXPECT_EQ(order(f, 1), 2);
  EXPECT_TRUE(f.blocks[2].back_edge);
  EXPECT_FALSE(f.blocks[0].back_edge);
}

TEST(Cfg, NestedLoopsLieInARow) {
  const Function f = body(
      "OUTER: add.s32 %r1, %r1, 1;\n"
      "@%p3 bra SKIP;\n"
      "INNER: add.s32 %r2, %r2, 1;\n"
      "@%p1 bra INNER;\n"
      "SKIP: @%p2 bra OUTER;\n"
      "mov.u32 %r3, 0;");
  ASSERT_EQ(f.blocks.size(), 4u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(order(f, i), i);
  EXPECT_TRUE(f.blocks[1].back_edge);  // to itself
  EXPECT_TRUE(f.blocks[2].back_edge);
  EXPECT_FALSE(f.blocks[0].back_edge);
}

TEST(Cfg, CodeBehindAnExitIsLast) {
  const Function f = body(
      "bra END;\n"
      "DEAD: mov.u32 %r1, 1;\n"
      "exit;\n"
      "mov.u32 %r1, 2;\n"
      "bra DEAD;\n"
      "END: mov.u32 %r2, 3;");
  ASSERT_EQ(f.blocks.size(), 4u);
  EXPECT_EQ(order(f, 0), 0);
  EXPECT_EQ(order(f, 3), 1);
  EXPECT_EQ(order(f, 1), 2);
  EXPECT_EQ(order(f, 2), 3);
}

TEST(Cfg, GuardedExitFallsThrough) {
  const Function f = body("@%p1 exit;\n@!%p2 trap;\nmov.u32 %r1, 1;");
  ASSERT_EQ(f.blocks.size(), 3u);
  EXPECT_EQ(f.blocks[0].successors[0], 1);
  EXPECT_EQ(f.blocks[1].successors[0], 2);
  EXPECT_TRUE(f.code[1].guard_negated);
}

TEST(Cfg, IndexedBranch) {
  const Function f = body(
      "TABLE: .branchtargets A, B, A;\n"
      "brx.idx %r1, TABLE;\n"
      "A: mov.u32 %r2, 1;\n"
      "ret;\n"
      "B: mov.u32 %r2, 2;");
  ASSERT_EQ(f.code[0].op, Op::brx);
  EXPECT_EQ(f.code[0].targets, (std::vector<int32_t>{1, 2, 1}));
  EXPECT_EQ(f.blocks[0].successors, (std::array<int32_t, 2>{-1, -1}));
  EXPECT_LT(order(f, 0), order(f, 1));
  EXPECT_LT(order(f, 0), order(f, 2));
}

TEST(Cfg, RunningOffTheEndReturns) {
  const Module module = decode(
      kHeader + ".visible .entry k()\n{\n.reg .pred %p<2>;\n@%p1 bra END;\nmembar.gl;\nEND:\n}\n",
      "t");
  const Function& f = module.functions[0];
  ASSERT_EQ(f.code.size(), 3u);
  EXPECT_EQ(f.code[2].op, Op::ret);
  EXPECT_EQ(f.code[0].target, 2);
  // A label at the end that nothing branches to, as LLVM prints, adds nothing.
  const Module plain = decode(kHeader + ".visible .entry k()\n{\nret;\nEND:\n}\n", "t");
  EXPECT_EQ(plain.functions[0].code.size(), 1u);
}

/// Every edge that is no back edge goes up, on real kernels; orders are a permutation.
TEST(Cfg, OrdersOfRealKernels) {
  int loops = 0;
  for (const char* folder : {"nvcc_sm80", "triton_sm80"}) {
    for (const auto& path : ptx_files(folder)) {
      const Module module = decode(read_file(path), path.filename());
      for (const Function& f : module.functions) {
        std::set<int32_t> orders;
        for (const BasicBlock& block : f.blocks) {
          orders.insert(block.order);
          bool back = false;
          for (const int32_t to : block.successors) {
            if (to >= 0) back |= f.blocks[to].order <= block.order;
          }
          EXPECT_EQ(back, block.back_edge);
          loops += back;
        }
        EXPECT_EQ(orders.size(), f.blocks.size());
        if (!f.blocks.empty()) {
          EXPECT_EQ(f.blocks[0].order, 0);
        }
      }
    }
  }
  EXPECT_GT(loops, 20);
}

TEST(Cfg, ManyBlocksDoNotRecurse) {
  std::string text;
  for (int i = 0; i < 60000; ++i)
    text += "L" + std::to_string(i) + ": @%p1 bra L" + std::to_string(i / 2) + ";\n";
  const Function f = body(text);
  EXPECT_GE(f.blocks.size(), 60000u);
}

}  // namespace
}  // namespace assay::ptx
