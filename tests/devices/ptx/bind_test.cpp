// Operands against the table. The lists were checked with ptxas 13.0 (-arch=sm_80, or sm_90 for
// bf16 arithmetic): it accepts the one and refuses the other.
#include <gtest/gtest.h>

#include "decoding.hpp"
#include "devices/ptx/operand.hpp"
#include "kernels_under_test/input_error.hpp"

namespace assay::ptx {
namespace {

TEST(Bind, AcceptsWhatPtxasAccepts) {
  const char* const lines[] = {
      "add.f32 %f1, %f2, 1.0;",
      "add.f32 %r1, %r2, %r3;",
      "add.f16x2 %r1, %r1, %r1;",
      "add.f16x2 %x1, %x1, %x1;",
      "add.s32 %x1, %x1, %x1;",
      "add.s32 %r1, %r1, WARP_SZ;",
      "add.s32 %r1, %r1, 1+2;",
      "mov.b16 %h1, 0x3C00;",
      "mov.b32 %r1, 0f3F800000;",
      "mov.b32 %f1, 1065353216;",
      "mov.f32 %f1, 0d3FF0000000000000;",
      "mov.f64 %d1, 0f3F800000;",
      "mov.b64 %rd1, 0d3FF0000000000000;",
      "mov.u32 %r1, 4294967296;",
      "mov.u16 %h1, %tid.x;",
      "mov.s32 %r1, %laneid;",
      "mov.b32 %r1, %tid.x;",
      "mov.u64 %rd1, %clock64;",
      "cvt.u64.u32 %rd1, %tid.x;",
      "ld.global.f32 %rd1, [%rd1];",
      "ld.global.b8 %f1, [%rd1];",
      "ld.global.s8 %rd1, [%rd1];",
      "ld.global.b16 %f1, [%rd1];",
      "ld.global.v2.f32 {%f1, _}, [%rd1];",
      "ld.global.u32 %r1, [%rd1+4+4];",
      "ld.global.u32 %r1, [%rd1+-4];",
      "ld.global.u32 %r1, [%rd1+(2*4)];",
      "ld.global.u32 %r1, [gv+8];",
      "ld.shared.u32 %r1, [%r2];",
      "ld.shared.u32 %r1, [sv+4];",
      "ld.u32 %r1, [sv];",
      "st.global.f32 [%rd1], %rd2;",
      "st.global.u8 [%rd1], %rd2;",
      "st.global.u8 [%rd1], 300;",
      "st.global.v2.f32 [%rd1], {%f1, 0f00000000};",
      "st.global.v2.f32 [%rd1], {%f1, 1.0};",
      "cvt.f32.f16 %f1, %r1;",
      "cvt.f32.f16 %rd1, %h1;",
      "cvt.u8.u32 %r1, %r2;",
      "cvt.u32.u8 %r1, %h2;",
      "cvt.rn.f32.s32 %f1, %rd1;",
      "cvt.rzi.s8.f32 %r1, %f1;",
      "selp.f32 %r1, %r2, 0fFF800000, %p1;",
      "selp.b32 %r1, 1, 0fFF800000, %p1;",
      "selp.b32 %r1, 1, 2, !%p1;",
      "setp.eq.and.s32 %p1|%p2, %r1, 0, !%p1;",
      "setp.eq.s32 _|%p2, %r1, 0;",
      "setp.eq.s32 %p1|_, %r1, 0;",
      "shfl.sync.bfly.b32 %f1|%p1, %f2, 1, 31, -1;",
      "shfl.sync.bfly.b32 %r1|_, %f2, 1, 31, -1;",
      "atom.add.acq_rel.gpu.s32 %r1, [%rd1], 3;",
      "atom.global.add.u32 _, [%rd1], 1;",
      "mov.b64 %rd1, {%r1, %r2};",
      "mov.b64 {%r1, _}, %rd1;",
      "mov.b32 %r1, {%h1, %h2};",
      "mov.b64 %rd1, {%h1, %h2, %h1, %h2};",
      "mov.b32 %r1, {%b1, %b1, %b2, %b2};",
      "mov.b64 %rd1, {0, %r2};",
      "mov.b64 %d1, {%f1, %f2};",
      "mov.b32 {%h1,%h2}, %f1;",
      "mov.u32 %r1, n;",
      "mov.b64 %rd1, a;",
      "mov.u32 %r1, sv+4;",
      "mov.u64 %rd1, sv;",
      "cvta.shared.u64 %rd1, sv;",
      "popc.b64 %r1, %rd1;",
      "not.b32 %f1, %f2;",
      "lop3.b32 %r1, %f1, %r1, %r1, 3;",
      "vote.sync.ballot.b32 %r1, !%p1, -1;",
      "vote.sync.ballot.b32 %r1, 1, -1;",
      "and.pred %p1, %p2, 1;",
      "mov.pred %p1, !%p1;",
      "bar.sync %r1;",
      "bar.sync 0, 64;",
      "bar.red.popc.u32 %r1, 0, %p1;",
      "bar.red.popc.u32 %r1, 0, 64, !%p1;",
      "mad.wide.u16 %r1, %h1, %h2, %r2;",
      "redux.sync.add.s32 %r1, %r2, -1;",
      "dp4a.u32.s32 %r1, %r1, %r1, %r1;",
  };
  for (const std::string line : lines) {
    try {
      const Module module = decode(kernel(line), "test.ptx");
      EXPECT_TRUE(module.unsupported.empty()) << line << ": " << module.unsupported[0];
    } catch (const InputError& error) {
      ADD_FAILURE() << line << ": " << error.what();
    }
  }
}

TEST(Bind, RefusesWhatPtxasRefuses) {
  const char* const lines[] = {
      "add.f32 %f1, %f2, 1;",
      "add.f16 %h1, %h2, 0x3C00;",
      "add.f16 %h1, %h2, 1.0;",
      "add.s32 %f1, %f2, %f3;",
      "add.f32 %u1, %u2, %u3;",
      "add.s16 %hh1, %hh2, %hh2;",
      "add.f16 %s1, %s1, %s1;",
      "add.f16x2 %u1, %u1, %u1;",
      "add.f16x2 %r1, %r1, 0x3C003C00;",
      "add.s32 %rd1, %rd1, %rd1;",
      "add.u32 %r1, %tid.x, 1;",
      "add.u32 %r1, %r1, sv;",
      "add.u32 _, %r1, %r1;",
      "add.u32 %r1, %r2;",
      "add.u32 %r1, %r2, %r3, %r4;",
      "add.u32 %r1, !%r2, %r3;",
      "mov.u32 %r1, 0f3F800000;",
      "mov.b32 %r1, 1.0;",
      "mov.f32 %f1, 1065353216;",
      "mov.b64 %rd1, 0f3F800000;",
      "mov.u32 %f1, %r1;",
      "mov.f32 %r1, %u1;",
      "mov.f32 %f1, %tid.x;",
      "mov.u64 %rd1, %tid.x;",
      "mov.u32 %r1, %clock64;",
      "mov.u32 _, %r1;",
      "mov.u64 %rd1, {%r1, %r2};",
      "mov.f64 %d1, {%f1, %f2};",
      "mov.b64 {%r1, %r2}, {%r3, %r4};",
      "mov.b64 %rd1, {%r1, %r2, %r3};",
      "ld.global.f32 %d1, [%rd1];",
      "ld.global.u8 %f1, [%rd1];",
      "ld.global.f32 %u1, [%rd1];",
      "ld.global.u32 %r1, [sv];",
      "ld.shared.u32 %r1, [gv];",
      "ld.global.u32 %r1, %rd1;",
      "ld.global.u32 %r1, [%f1];",
      "ld.global.v2.u32 %r1, [%rd1];",
      "ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1];",
      "ld.global.v4.u64 {%rd1, %rd2, %rd3, %rd4}, [%rd1];",
      "st.global.f32 [%rd1], %d2;",
      "st.global.u32 [%rd1], %tid.x;",
      "cvt.f32.f16 %d1, %h1;",
      "cvt.u32.u8 %b1, %h2;",
      "shl.b32 %r1, %r2, %rd1;",
      "shl.b32 %r1, %r2, %h1;",
      "popc.b64 %f1, %rd1;",
      "mul.wide.s16 %rd1, %h1, %h2;",
      "bfi.b32 %r1, %r1, %r1, %f1, 3;",
      "setp.lt.f16 %p1, %h1, 0x0000;",
      "setp.eq.s32 %r1, %r1, %r2;",
      "setp.lt.f16 %p1|%p2, %h1, %h2;",
      "shfl.sync.bfly.b32 _|%p1, %f2, 1, 31, -1;",
      "bra %r1;",
      "@%r1 bra L; L:",
      "selp.b32 %r1, 1, 2, %r2;",
  };
  for (const std::string line : lines) {
    EXPECT_THROW(decode(kernel(line), "test.ptx"), InputError) << line;
  }
}

TEST(Bind, SaysWhereAndWhatWasExpected) {
  const std::pair<const char*, const char*> cases[] = {
      {"add.u32 %r1, %r2, %f3;", "test.ptx:12:19: expected a register of type .u32, '%f3' is .f32"},
      {"ld.global.f32 %h1, [%rd1];",
       "test.ptx:12:15: expected a register of type .f32 or wider, '%h1' is .b16"},
      {"add.u32 %r1, %r99, 1;", "test.ptx:12:14: unknown name '%r99'"},
      {"add.u32 %r1, %r2;", "test.ptx:12:1: expected 3 operands for 'add.u32', found 2"},
      {"bra nowhere;", "test.ptx:12:5: unknown label 'nowhere'"},
      {"mov.u32 %r1, 1.5;", "test.ptx:12:14: expected a constant that fits .u32, found '1.5'"},
  };
  for (const auto& [line, message] : cases) {
    try {
      decode(kernel(line), "test.ptx");
      ADD_FAILURE() << line;
    } catch (const InputError& error) {
      EXPECT_STREQ(error.what(), message);
    }
  }
}

TEST(Bind, RegisterWidths) {
  EXPECT_TRUE(register_fits(Type::b32, Type::f32, false));
  EXPECT_TRUE(register_fits(Type::f32, Type::b32, false));
  EXPECT_TRUE(register_fits(Type::s32, Type::u32, false));
  EXPECT_FALSE(register_fits(Type::f32, Type::u32, false));
  EXPECT_FALSE(register_fits(Type::b64, Type::u32, false));
  EXPECT_TRUE(register_fits(Type::b64, Type::u32, true));
  EXPECT_FALSE(register_fits(Type::b16, Type::u32, true));
  EXPECT_FALSE(register_fits(Type::f64, Type::f32, true));
  EXPECT_FALSE(register_fits(Type::pred, Type::b32, true));
  EXPECT_TRUE(register_fits(Type::pred, Type::pred, false));
}

TEST(Bind, OperandsOfEachShape) {
  const Instruction load = first_instruction("ld.global.v4.u32 {%r1, %r2, _, %r3}, [%rd1+-16];");
  ASSERT_EQ(load.dst.size(), 4u);
  EXPECT_EQ(load.dst[2].kind, Value::Kind::sink);
  EXPECT_EQ(load.src[0].kind, Value::Kind::address);
  EXPECT_EQ(load.src[0].offset, -16);

  const Instruction store = first_instruction("st.shared.v2.f32 [sv+8], {%f1, 0f40000000};");
  ASSERT_EQ(store.src.size(), 3u);
  EXPECT_EQ(store.src[0].kind, Value::Kind::symbol_address);
  EXPECT_TRUE(store.src[0].local_symbol);
  EXPECT_EQ(store.src[0].offset, 8);
  EXPECT_EQ(store.src[2].bits, 0x40000000u);

  const Instruction parameter = first_instruction("ld.param.u32 %r1, [n];");
  EXPECT_EQ(parameter.src[0].kind, Value::Kind::param);
  EXPECT_EQ(parameter.src[0].index, 1);

  const Instruction shuffle = first_instruction("shfl.sync.down.b32 %r1|%p2, %r3, 4, 31, -1;");
  EXPECT_GE(shuffle.predicate_out, 0);
  EXPECT_EQ(shuffle.src[3].bits, 0xffffffffu);

  const Instruction compare = first_instruction("setp.lt.and.s32 %p1|%p2, %r1, -1, !%p3;");
  EXPECT_TRUE(compare.has_predicate_in);
  EXPECT_TRUE(compare.src.back().negated);
  EXPECT_EQ(compare.src[1].bits, 0xffffffffu);

  const Instruction hinted =
      first_instruction("ld.global.L1::evict_last.L2::cache_hint.v2.b32 {%r1, %r2}, [%rd1], %rd2;");
  EXPECT_EQ(hinted.src.size(), 1u);
  EXPECT_GE(hinted.cache_policy, 0);

  const Instruction barrier = first_instruction("bar.red.popc.u32 %r1, 0, 64, !%p1;");
  EXPECT_EQ(barrier.src.size(), 3u);
  const Instruction all = first_instruction("bar.red.popc.u32 %r1, 0, !%p1;");
  EXPECT_EQ(all.src.size(), 2u);
  EXPECT_TRUE(all.src[1].negated);

  EXPECT_EQ(first_instruction("ld.local.u32 %r1, [16];").src[0].kind, Value::Kind::absolute);
}

TEST(Bind, SpecialRegisters) {
  EXPECT_EQ(first_instruction("mov.u32 %r1, %nctaid.z;").src[0].special, Special::nctaid_z);
  const Module module = decode(kernel("mov.u32 %r1, %pm0;"), "test.ptx");
  ASSERT_EQ(module.unsupported.size(), 1u);
  EXPECT_EQ(module.unsupported[0], "line 12: mov.u32: special register %pm0");
  EXPECT_EQ(module.functions[0].code[0].row, -1);
}

}  // namespace
}  // namespace assay::ptx
