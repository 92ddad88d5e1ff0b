// The language: declarations, scopes, calls, debug lines, as nvcc and LLVM write them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "decoding.hpp"
#include "devices/ptx/counters.hpp"
#include "devices/ptx/table.hpp"
#include "kernels_under_test/input_error.hpp"

namespace assay::ptx {
namespace {

Module decoded(const std::string& text) { return decode(kHeader + text, "test.ptx"); }

Module language() {
  return decode(read_file(data_folder() / "nvcc_sm80" / "language.ptx"), "language.ptx");
}

const Variable& variable(const Module& module, const std::string& name) {
  for (const Variable& candidate : module.variables) {
    if (candidate.name == name) return candidate;
  }
  throw std::runtime_error("no variable " + name);
}

const Instruction& find(const Function& function, const std::string& spelling, int skip = 0) {
  for (const Instruction& instruction : function.code) {
    if (instruction.spelling == spelling && skip-- == 0) return instruction;
  }
  throw std::runtime_error("no instruction " + spelling);
}

TEST(Decode, ParameterLayout) {
  const Module module = decoded(
      ".visible .entry k(.param .u8 a, .param .u64 .ptr .global .align 1 b,\n"
      ".param .align 16 .b8 c[20], .param .f32 d, .param .u64 .ptr .align 16 e) { ret; }");
  const auto& params = module.functions[0].params;
  ASSERT_EQ(params.size(), 5u);
  const int64_t offsets[] = {0, 8, 16, 36, 40}, bytes[] = {1, 8, 20, 4, 8},
                aligns[] = {1, 8, 16, 4, 8};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(params[i].offset, offsets[i]) << i;
    EXPECT_EQ(params[i].bytes, bytes[i]) << i;
    EXPECT_EQ(params[i].align, aligns[i]) << i;
  }
  EXPECT_EQ(params[2].type, Type::b8);
}

TEST(Decode, VariablesAndInitialisers) {
  const Module module = language();
  const Variable& constants = variable(module, "ctab");
  EXPECT_EQ(constants.space, Space::const_);
  EXPECT_EQ(constants.bytes, 16);
  float last = 1;
  ASSERT_EQ(constants.initial.size(), 16u);
  std::memcpy(&last, constants.initial.data() + 12, 4);
  EXPECT_EQ(last, 0.0f);
  EXPECT_TRUE(std::signbit(last));

  const Variable& numbers = variable(module, "garr");
  EXPECT_EQ(numbers.bytes, 20);
  EXPECT_EQ(numbers.initial, (std::vector<uint8_t>{1, 0, 0, 0, 2, 0, 0, 0, 3}));

  const Variable& strings = variable(module, "strs");
  ASSERT_EQ(strings.pointers.size(), 3u);
  EXPECT_EQ(strings.pointers[1], (std::pair<int64_t, std::string>(8, "$str$1")));
  const Variable& functions = variable(module, "ft");
  EXPECT_EQ(functions.pointers[1].second, "_Z2f2i");
  EXPECT_NE(module.find("_Z2f2i"), nullptr);

  const Variable& pointer = variable(module, "garrp");
  EXPECT_EQ(pointer.pointers[0].second, "garr");
  EXPECT_EQ(pointer.initial[0], 8);

  double value = 0;
  std::memcpy(&value, variable(module, "gd").initial.data(), 8);
  EXPECT_EQ(value, 3.5);

  const Variable& dynamic = variable(module, "dyn");
  EXPECT_TRUE(dynamic.is_extern);
  EXPECT_EQ(dynamic.space, Space::shared);
  EXPECT_EQ(dynamic.bytes, 0);
  EXPECT_EQ(dynamic.align, 16);
}

TEST(Decode, InitialiserForms) {
  const Module module = decoded(
      ".global .align 4 .u32 matrix[2][3] = {{1, 2}, {-1}};\n"
      ".global .u16 flat[2][2] = {1, 2, 3, 0xFFFF};\n"
      ".const .f32 open[] = {1.0, 0f40000000};\n"
      ".global .b8 masked[16] = {7, 0, 0, 0, 0, 0, 0, 0, 0xFF(flat), 0xFF00(flat), "
      "0xFF0000(flat),\n"
      "0xFF000000(flat), 0xFF00000000(flat), 0xFF0000000000(flat), 0xFF000000000000(flat),\n"
      "0xFF00000000000000(flat)};\n"
      ".global .v2 .f32 pair;\n"
      ".global .u32 x, y[2];");
  EXPECT_EQ(variable(module, "matrix").initial,
            (std::vector<uint8_t>{1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255}));
  EXPECT_EQ(variable(module, "flat").initial, (std::vector<uint8_t>{1, 0, 2, 0, 3, 0, 255, 255}));
  EXPECT_EQ(variable(module, "open").bytes, 8);
  EXPECT_EQ(variable(module, "open").initial, (std::vector<uint8_t>{0, 0, 128, 63, 0, 0, 0, 64}));
  ASSERT_EQ(variable(module, "masked").pointers.size(), 1u);
  EXPECT_EQ(variable(module, "masked").pointers[0].first, 8);
  EXPECT_EQ(variable(module, "masked").initial[0], 7);
  EXPECT_EQ(variable(module, "pair").bytes, 8);
  EXPECT_EQ(variable(module, "y").bytes, 8);
}

TEST(Decode, CallsThroughParameterSpace) {
  const Module module = language();
  const Function& k1 = *module.find("k1");
  const Instruction& indirect = find(k1, "call");
  EXPECT_TRUE(indirect.indirect);
  EXPECT_EQ(indirect.target, -1);
  ASSERT_EQ(indirect.src.size(), 2u);
  EXPECT_EQ(indirect.src[0].kind, Value::Kind::reg);

  const Instruction& direct = find(k1, "call.uni");
  EXPECT_EQ(direct.callee, "_Z2f31S");
  ASSERT_GE(direct.target, 0);
  EXPECT_EQ(module.functions[direct.target].name, "_Z2f31S");
  ASSERT_EQ(direct.src.size(), 1u);
  ASSERT_EQ(direct.dst.size(), 1u);
  EXPECT_TRUE(direct.src[0].local_symbol);
  const Variable& argument = k1.variables[direct.src[0].index];
  EXPECT_EQ(argument.name, "param0");
  EXPECT_EQ(argument.space, Space::param);
  EXPECT_EQ(argument.bytes, 24);
  EXPECT_EQ(k1.variables[direct.dst[0].index].bytes, 16);

  const Instruction& builtin = find(k1, "call.uni", 1);
  EXPECT_EQ(builtin.callee, "vprintf");
  EXPECT_EQ(builtin.target, -1);
  EXPECT_FALSE(builtin.indirect);
  EXPECT_TRUE(module.find("vprintf")->is_declaration);

  const Function& callee = *module.find("_Z2f31S");
  EXPECT_FALSE(callee.is_declaration);
  EXPECT_EQ(callee.results[0].bytes, 16);
  const Instruction& result = find(callee, "st.param.f64");
  EXPECT_EQ(result.src[0].kind, Value::Kind::result);
  EXPECT_EQ(result.src[0].offset, 8);
}

TEST(Decode, NamesOfInnerScopes) {
  const Module module = decoded(
      ".visible .entry k(.param .u32 n) {\n"
      ".reg .b32 %r<4>;\n"
      "{ .reg .b32 %r1; .reg .pred p; mov.u32 %r1, 1; setp.eq.u32 p, %r1, 0; @p bra L;\n"
      "  mov.u32 %r2, %r1; L: membar.gl; }\n"
      "{ .reg .pred p; setp.eq.u32 p, %r1, 0; @p bra L; L: membar.sys; }\n"
      "mov.u32 %r3, %r1; ret; }");
  const Function& f = module.functions[0];
  const int32_t inner = find(f, "mov.u32").dst[0].index;
  const int32_t outer = find(f, "mov.u32", 2).src[0].index;
  EXPECT_NE(inner, outer);
  EXPECT_EQ(find(f, "mov.u32", 1).src[0].index, inner);
  EXPECT_NE(find(f, "bra").target, find(f, "bra", 1).target);
  EXPECT_NE(find(f, "bra").guard, find(f, "bra", 1).guard);
  EXPECT_EQ(f.registers[outer].name, "%r1");
}

TEST(Decode, OnlyNamedRegistersAreThere) {
  const Module module = decoded(
      ".entry k() { .reg .b32 %r<1000000>, %x; .reg .f64 %f1_<20>;\n"
      "add.u32 %r999999, %r0, %x; add.f64 %f1_11, %f1_0, %f1_0; ret; }");
  const auto& registers = module.functions[0].registers;
  ASSERT_EQ(registers.size(), 5u);
  EXPECT_EQ(registers[0].name, "%r999999");
  EXPECT_EQ(registers[3].type, Type::f64);
  EXPECT_THROW(decoded(".entry k() { .reg .b32 %r<4>; mov.u32 %r4, 0; }"), InputError);
  EXPECT_THROW(decoded(".entry k() { .reg .b32 %r<4>; mov.u32 %r01, 0; }"), InputError);
}

TEST(Decode, LinesWithTheirCallSites) {
  const Module module = decoded(
      ".entry k() {\n"
      ".loc 1 10 3\n"
      "membar.cta;\n"
      ".loc 2 20 5, function_name $L__info_string0, inlined_at 1 10 3\n"
      ".loc 3 30 7, function_name $L__info_string1+4, inlined_at 2 20 5\n"
      "membar.gl;\n"
      ".loc 1 10 3\n"
      "ret; }\n"
      ".file 1 \"a.cu\", 123, 456\n.file 2 \"b.h\"\n");
  const Function& f = module.functions[0];
  EXPECT_EQ(module.files.at(1), "a.cu");
  const SourceLine& inner = f.lines[f.code[1].line];
  EXPECT_EQ(inner.file, 3);
  EXPECT_EQ(inner.line, 30);
  ASSERT_GE(inner.inlined_at, 0);
  const SourceLine& middle = f.lines[inner.inlined_at];
  EXPECT_EQ(middle.line, 20);
  ASSERT_GE(middle.inlined_at, 0);
  EXPECT_EQ(f.lines[middle.inlined_at].line, 10);
  EXPECT_EQ(f.lines[middle.inlined_at].inlined_at, -1);
  EXPECT_EQ(f.code[0].line, f.code[2].line);
}

TEST(Decode, FunctionAttributes) {
  const Module module = decoded(
      ".extern .func __assertfail\n(\n.param .b64 a,\n.param .b64 b\n)\n.noreturn;\n"
      ".visible .entry k()\n.reqntid 128, 2\n.minnctapersm 2\n.maxnreg 64\n{\n.pragma "
      "\"nounroll\";\n ret; }\n"
      ".weak .entry m() .maxntid 64 { exit; }");
  EXPECT_TRUE(module.functions[0].is_noreturn);
  EXPECT_TRUE(module.functions[0].is_declaration);
  EXPECT_EQ(module.find("k")->required_block, (std::array<int32_t, 3>{128, 2, 1}));
  EXPECT_EQ(module.find("k")->max_block, (std::array<int32_t, 3>{0, 0, 0}));
  EXPECT_EQ(module.find("m")->max_block, (std::array<int32_t, 3>{64, 1, 1}));
  EXPECT_TRUE(module.find("m")->is_entry);
  EXPECT_EQ(module.find("nothing"), nullptr);
}

TEST(Decode, OtherSyntax) {
  const Module module = decoded(
      "@@DWARF .file 1\n"
      "/* a comment\n over lines */\n"
      ".section .debug_info { .b8 1\n.b32 L+2\n { } }\n"
      ".entry k() {\n"
      ".reg .pred %p; .reg .b32 r, $x; .reg.b64 _a;\n"
      "\"$L quoted\": @!%p bra \"$L quoted\";;\n"
      "mov.b32 r, $x;\n"
      "bar.warp.sync -1;\n"
      "ret; }");
  const Function& f = module.functions[0];
  EXPECT_EQ(f.code[0].op, Op::bra);
  EXPECT_EQ(f.code[0].target, 0);
  EXPECT_EQ(f.code[0].ptx_line, 12);
  EXPECT_EQ(f.code[2].src[0].bits, 0xffffffffu);
}

TEST(Decode, UnsupportedInstructionsAreListedWithTheirLine) {
  const Module module = decode(kernel("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
                                      "{%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4},\n"
                                      " %rd1, 1, 1, 1, 0;\n"
                                      "@%p1 frobnicate.b32 [%r1], {nothing};\n"
                                      "add.u32 %r1, %r1, 1;"),
                               "test.ptx");
  ASSERT_EQ(module.unsupported.size(), 2u);
  EXPECT_EQ(module.unsupported[0],
            "line 12: wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16: sm_90");
  EXPECT_EQ(module.unsupported[1], "line 14: frobnicate.b32: unknown instruction frobnicate");
  const auto& code = module.functions[0].code;
  EXPECT_EQ(code[0].op, Op::wgmma);
  EXPECT_EQ(code[0].row, -1);
  EXPECT_EQ(code[1].op, Op::unknown);
  EXPECT_GE(code[1].guard, 0);
  EXPECT_EQ(code[2].op, Op::add);
}

TEST(Decode, NumbersOfCounters) {
  const Module module = language();
  int32_t blocks = 0, edges = 0, accesses = 0, results = 0, compares = 0;
  for (const Function& f : module.functions) {
    EXPECT_EQ(f.first_block_id, blocks);
    EXPECT_EQ(f.first_edge_id, edges);
    EXPECT_EQ(f.first_access_id, accesses);
    EXPECT_EQ(f.first_result_id, results);
    EXPECT_EQ(f.first_compare_id, compares);
    blocks += static_cast<int32_t>(f.blocks.size());
    int32_t own_edges = f.blocks.empty() ? 0 : 1;  // the entry
    for (const BasicBlock& block : f.blocks) {
      EXPECT_EQ(block.first_edge, own_edges);
      const Instruction& last = f.code[block.last - 1];
      own_edges += (block.successors[0] >= 0) + (block.successors[1] >= 0) +
                   static_cast<int32_t>(last.targets.size());
    }
    edges += own_edges;
    for (const Instruction& i : f.code) {
      accesses += accesses_memory(i);
      results += result_format(i) != ResultFormat::none;
      compares += compare_format(i) != CompareFormat::none;
    }
  }
  EXPECT_EQ(module.block_count, blocks);
  EXPECT_EQ(module.edge_count, edges);
  EXPECT_EQ(module.access_count, accesses);
  EXPECT_EQ(module.result_count, results);
  EXPECT_EQ(module.compare_count, compares);
  EXPECT_GT(edges, blocks);
  EXPECT_GT(accesses, 30);
  EXPECT_GT(results, 30);
  EXPECT_GT(compares, 10);
}

TEST(Decode, RowsLeadBackToTheTable) {
  const Module module = language();
  for (const Function& f : module.functions) {
    for (const Instruction& instruction : f.code) {
      ASSERT_GE(instruction.row, 0) << instruction.spelling;
      const Row& row = table()[instruction.row];
      EXPECT_EQ(row.op, instruction.op);
      EXPECT_TRUE(instruction.spelling.starts_with(row.mnemonic)) << instruction.spelling;
    }
  }
}

}  // namespace
}  // namespace assay::ptx
