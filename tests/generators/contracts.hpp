// Small contracts that tests share.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "kernels_under_test/contract.hpp"

namespace assay::testing_contracts {

/// Relations over strides, and over choices that few combinations satisfy.
inline const char* const kRelated = R"toml(name = "related"
source = { cuda = "kernel.cu", entry = "tile<{BM}, {BN}>" }
sizes = { rows = { min = 1, max = 70000 }, cols = { min = 8, max = 32768 } }
knobs = { BM = [16, 32, 64, 128, 256], BN = [16, 32, 64, 128, 256] }
require = ["BM * BN == 4096", "cols % 8 == 0", "stride(x, 0) % 8 == 0"]
launch = { grid = ["rows"], block = [128] }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["rows", "cols"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["rows", "cols"], strides = ["any", 1] },
  { name = "x_stride", kind = "scalar", dtype = "i64", value = "stride(x, 0)" },
  { name = "cols", kind = "scalar", dtype = "i32", value = "cols" },
]
[formula]
y = "x"
[policy]
nan = "propagate"
)toml";

/// The contract of the documents.
inline const char* const kSoftmax = R"toml(name = "softmax"
about = "Row-wise softmax: one block a row, rows at a stride"
source = { cuda = "kernel.cu", entry = "softmax<{T}, {BLOCK}>" }
types = { T = ["f32", "f16", "bf16"] }
sizes = { rows = { min = 0, max = 70000 }, cols = { min = 1, max = 32768 } }
knobs = { BLOCK = [128, 256] }
launch = { grid = ["rows"], block = ["BLOCK"] }
owns = { y = "rows == block.x" }
properties = ["rows_independent"]
args = [
  { name = "y", kind = "output", dtype = "T", shape = ["rows", "cols"] },
  { name = "x", kind = "input", dtype = "T", shape = ["rows", "cols"], strides = ["any", 1] },
  { name = "x_stride", kind = "scalar", dtype = "i64", value = "stride(x, 0)" },
  { name = "cols", kind = "scalar", dtype = "i32", value = "cols" },
]
[formula]
m = "max(x, cols)"
e = "exp(x - m)"
y = "e / sum(e, cols)"
[accuracy]
depth = "ceil_div(cols, BLOCK) + 10"
[policy]
nan = "propagate"
)toml";

inline const char* const kVectorAdd = R"toml(
name = "vector_add"
source = { cuda = "kernel.cu", entry = "vector_add<{T}>" }
types = { T = ["f32", "f16"] }
sizes = { n = { min = 0, max = 5000000000 } }
knobs = { BLOCK = [64, 256] }
launch = { grid = ["ceil_div(n, BLOCK * 4)"], block = ["BLOCK"] }
owns = { z = "n / (BLOCK * 4) == block.x" }
args = [
  { name = "x", kind = "input", dtype = "T", shape = ["n"] },
  { name = "y", kind = "input", dtype = "T", shape = ["n"] },
  { name = "z", kind = "output", dtype = "T", shape = ["n"] },
  { name = "n", kind = "scalar", dtype = "i64", value = "n" },
]
[formula]
z = "x + y"
)toml";

inline const char* const kTranspose = R"toml(
name = "transpose"
source = { cuda = "kernel.cu", entry = "transpose<{T}>" }
types = { T = ["f32", "i8"] }
sizes = { rows = { min = 0, max = 4000000 }, cols = { min = 0, max = 4000000 } }
require = ["ceil_div(rows, 32) <= 65535 * 32"]
launch = { grid = ["ceil_div(cols, 32)", "ceil_div(rows, 32)"], block = ["32", "8"] }
owns = { y = "cols / 32 == block.x && rows / 32 == block.y" }
args = [
  { name = "y", kind = "output", dtype = "T", shape = ["cols", "rows"] },
  { name = "x", kind = "input", dtype = "T", shape = ["rows", "cols"], strides = ["any", "any"] },
  { name = "sr", kind = "scalar", dtype = "i64", value = "stride(x, 0)" },
  { name = "sc", kind = "scalar", dtype = "i64", value = "stride(x, 1)" },
  { name = "rows", kind = "scalar", dtype = "i64", value = "rows" },
  { name = "cols", kind = "scalar", dtype = "i64", value = "cols" },
]
[formula]
y = "x"
)toml";

inline const char* const kMatmul = R"toml(
name = "matmul"
source = { cuda = "kernel.cu", entry = "matmul" }
sizes = { M = { min = 0, max = 4096 }, N = { min = 0, max = 4096 }, K = { min = 0, max = 4096 } }
launch = { grid = ["ceil_div(N, 16)", "ceil_div(M, 16)"], block = ["16", "16"] }
owns = { y = "M / 16 == block.y && N / 16 == block.x" }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["M", "N"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["M", "K"] },
  { name = "w", kind = "input", dtype = "f32", shape = ["K", "N"] },
  { name = "M", kind = "scalar", dtype = "i32", value = "M" },
  { name = "N", kind = "scalar", dtype = "i32", value = "N" },
  { name = "K", kind = "scalar", dtype = "i32", value = "K" },
]
[formula]
y = "sum(x * w, K)"
)toml";

inline const char* const kGather = R"toml(
name = "gather"
source = { cuda = "kernel.cu", entry = "gather<{T},{I}>" }
types = { T = ["f32", "f16"], I = ["i32", "i64"] }
sizes = { vocab = { min = 1, max = 1000000 }, dim = { min = 1, max = 4096 }, tokens = { min = 0, max = 100000 } }
launch = { grid = ["tokens"], block = ["128"] }
owns = { out = "tokens == block.x" }
args = [
  { name = "out", kind = "output", dtype = "T", shape = ["tokens", "dim"] },
  { name = "table", kind = "input", dtype = "T", shape = ["vocab", "dim"], strides = ["any", 1] },
  { name = "ids", kind = "index", dtype = "I", shape = ["tokens"], domain = "0..vocab-1" },
  { name = "stride", kind = "scalar", dtype = "i64", value = "stride(table, 0)" },
  { name = "dim", kind = "scalar", dtype = "i32", value = "dim" },
]
[formula]
out = "table[vocab = ids]"
)toml";

/// Keys that no operand has, and heads in groups.
inline const char* const kGroupedHeads = R"toml(
name = "grouped_heads"
source = { cuda = "kernel.cu", entry = "k" }
sizes = { B = { min = 0, max = 64 }, token = { min = 1, max = 2048 }, pages = { min = 1, max = 10000 }, Hkv = { in = [1, 2, 8] }, G = { in = [1, 3, 4, 8] }, segments = { in = [1, 2] } }
derive = { H = "Hkv * G", W = "ceil_div(token, 16)" }
launch = { grid = ["H", "B", "segments"], block = [32] }
args = [
  { name = "o", kind = "output", dtype = "f32", shape = ["B", "head: H", "D: 64"] },
  { name = "q", kind = "input", dtype = "f32", shape = ["B", "head: H", "D: 64"] },
  { name = "k", kind = "input", dtype = "f32", shape = ["page: pages", "slot: 16", "kv: Hkv", "D: 64"] },
  { name = "table", kind = "index", dtype = "i32", shape = ["B", "W"], domain = "0..pages - 1" },
]
[formula]
at = "table[W = token / 16]"
p = "softmax(sum(q * k[page = at, slot = token % 16, kv = head / 3], D), token)"
o = "sum(p * k[page = at, slot = token % 16, kv = 0], token)"
)toml";

inline const char* const kDivide = R"toml(
name = "divide"
source = { cuda = "kernel.cu", entry = "divide<{T}>" }
types = { T = ["i8", "i32", "i64", "u8", "u64"] }
sizes = { n = { min = 0, max = 1000000 } }
launch = { grid = ["ceil_div(n, 256)"], block = ["256"] }
owns = { q = "n / 256 == block.x" }
args = [
  { name = "q", kind = "output", dtype = "T", shape = ["n"] },
  { name = "a", kind = "input", dtype = "T", shape = ["n"], domain = "0..100 | -120..-3" },
  { name = "b", kind = "input", dtype = "T", shape = ["n"], domain = "1..127" },
  { name = "n", kind = "scalar", dtype = "i32", value = "n" },
]
[formula]
q = "div_trunc(a, b)"
)toml";

/// The same contract over another source file.
inline std::string with_source(std::string toml, const std::string& file) {
  return toml.replace(toml.find("kernel.cu"), std::string("kernel.cu").size(), file);
}

/// Parses a contract whose source is an empty file: nothing here compiles it.
inline Contract parsed(const std::string& toml) {
  const std::string folder = testing::TempDir() + "assay_generators_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/kernel.cu").flush();
  Contract contract = parse_contract(toml, folder + "/contract.toml");
  std::filesystem::remove_all(folder);
  return contract;
}

}  // namespace assay::testing_contracts
