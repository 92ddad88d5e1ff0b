#include "kernels_under_test/contract.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/generators/contracts.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

const std::string kFolder = std::string(ASSAY_SOURCE_DIR) + "/tests/data/contracts/";

const std::string kSoftmax = testing_contracts::with_source(testing_contracts::kSoftmax, "pool.cu");

std::string text(const ExprPtr& expr) { return expr == nullptr ? "" : to_text(*expr); }

// A contract around given arguments and formula; T, rows and cols are there.
Contract around(const std::string& args, const std::string& formula, const std::string& more = "") {
  return parse_contract(
      "name = \"k\"\nsource = { cuda = \"pool.cu\", entry = \"k\" }\n"
      "types = { T = [\"f32\", \"f16\"] }\n"
      "sizes = { rows = { max = 9 }, cols = { max = 9 } }\n" +
          more + "launch = { grid = \"rows\", block = 32 }\nargs = [\n" + args + "]\n[formula]\n" +
          formula,
      kFolder + "k.toml");
}

TEST(Contract, SoftmaxIsReadWhole) {
  const Contract c = parse_contract(kSoftmax, kFolder + "softmax.toml");
  EXPECT_EQ(c.name, "softmax");
  EXPECT_EQ(c.path, kFolder + "softmax.toml");
  EXPECT_EQ(c.source.language, Language::cuda);
  EXPECT_EQ(c.source.path, kFolder + "pool.cu");
  EXPECT_EQ(c.source.entry, "softmax<{T}, {BLOCK}>");
  EXPECT_EQ(c.source.compiler, CudaCompiler::nvrtc);
  EXPECT_EQ(c.source.target, "sm_80");
  ASSERT_EQ(c.types.size(), 1u);
  EXPECT_EQ(c.types[0].kinds, (std::vector<DType>{DType::f32, DType::f16, DType::bf16}));
  ASSERT_EQ(c.sizes.size(), 2u);
  EXPECT_EQ(c.sizes[0].name, "rows");
  EXPECT_EQ(c.sizes[0].min, 0);
  EXPECT_EQ(c.sizes[0].max, 70000);
  EXPECT_EQ(c.sizes[1].min, 1);
  ASSERT_EQ(c.knobs.size(), 1u);
  EXPECT_EQ(c.knobs[0].values, (std::vector<int64_t>{128, 256}));
  ASSERT_EQ(c.args.size(), 4u);
  EXPECT_EQ(c.args[0].kind, OperandKind::output);
  EXPECT_TRUE(c.args[0].strides.empty());
  ASSERT_EQ(c.args[1].strides.size(), 2u);
  EXPECT_TRUE(c.args[1].strides[0].any);
  EXPECT_EQ(text(c.args[1].strides[1].value), "1");
  EXPECT_EQ(c.args[1].shape[1].name, "cols");
  EXPECT_EQ(text(c.args[2].value), "stride(x, 0)");
  EXPECT_EQ(c.args[3].where, (SourceLocation{kFolder + "softmax.toml", 14, 13}));
  ASSERT_EQ(c.launches.size(), 1u);
  EXPECT_EQ(text(c.launches[0].grid[0]), "rows");
  EXPECT_EQ(text(c.launches[0].grid[2]), "1");
  EXPECT_EQ(text(c.launches[0].block[0]), "BLOCK");
  EXPECT_EQ(c.launches[0].shared, nullptr);
  ASSERT_NE(c.find_ownership("y"), nullptr);
  EXPECT_EQ(text(c.find_ownership("y")->relation), "rows == block.x");
  EXPECT_EQ(c.find_ownership("x"), nullptr);
  EXPECT_EQ(c.find_operand("x"), &c.args[1]);
  EXPECT_EQ(c.find_operand("z"), nullptr);
  ASSERT_EQ(c.formula.size(), 3u);
  EXPECT_EQ(c.formula[0].name, "m");  // in the file's order, not the alphabet's
  EXPECT_EQ(c.formula[1].name, "e");
  EXPECT_EQ(text(c.formula[2].expr), "e / sum(e, cols)");
  EXPECT_EQ(text(c.accuracy.depth), "ceil_div(cols, BLOCK) + 10");
  EXPECT_EQ(c.policy.nan, NanPolicy::propagate);
  EXPECT_FALSE(c.policy.range);
  ASSERT_EQ(c.properties.size(), 1u);
  EXPECT_EQ(c.properties[0].kind, PropertyKind::rows_independent);
  EXPECT_EQ(c.properties[0].of, "rows") << "the first dimension of the first output";
  EXPECT_EQ(c.properties[0].text(), "rows_independent(rows)");
  EXPECT_TRUE(c.not_yet.empty());
}

TEST(Contract, EveryOperandKey) {
  const Contract c = load_contract(kFolder + "wide.toml");
  const OperandSpec& out = *c.find_operand("out");
  EXPECT_EQ(text(out.align), "16");
  ASSERT_EQ(out.may_alias.size(), 1u);
  EXPECT_EQ(out.may_alias[0].operand, "q");
  EXPECT_EQ(out.may_alias[0].where.text(), kFolder + "wide.toml:45:15");
  ASSERT_EQ(out.valid.size(), 3u);
  EXPECT_EQ(text(out.valid[0].second), "lens[0]");
  EXPECT_EQ(text(out.valid[1].first), "0");
  EXPECT_EQ(text(out.valid[1].second), "H");
  EXPECT_EQ(text(out.valid[2].second), "D - 1");
  const OperandSpec& q = *c.find_operand("q");
  EXPECT_EQ(text(q.strides[1].value), "D * 2");
  ASSERT_EQ(q.domain.size(), 2u);
  EXPECT_EQ(text(q.domain[0].low), "-8.0");
  EXPECT_EQ(text(q.domain[1].high), "8");
  const OperandSpec& kv = *c.find_operand("kv");
  EXPECT_EQ(kv.kind, OperandKind::inout);
  EXPECT_EQ(kv.shape[0].name, "page");
  EXPECT_EQ(text(kv.shape[0].extent), "pages");
  EXPECT_EQ(text(kv.overread), "DP - D");
  const OperandSpec& table = *c.find_operand("table");
  EXPECT_EQ(text(table.live), "w < ceil_div(lens[B], BS)");
  EXPECT_EQ(table.dead, Dead::in_range);
  EXPECT_TRUE(table.distinct);
  EXPECT_TRUE(c.find_operand("lens")->repeats);
  const OperandSpec& starts = *c.find_operand("starts");
  EXPECT_EQ(starts.prefix_sum_of, "lens");
  EXPECT_TRUE(starts.sorted);
  EXPECT_EQ(starts.shape[0].name, "");
  const OperandSpec& bias = *c.find_operand("bias");
  EXPECT_EQ(text(bias.when), "biased");
  EXPECT_EQ(bias.absent, Absent::null);
  EXPECT_EQ(bias.shape[1].name, "");
  EXPECT_EQ(c.find_operand("shift")->absent, Absent::alias);
  EXPECT_EQ(c.find_operand("shift")->alias.operand, "bias");
  EXPECT_EQ(c.find_operand("mid")->kind, OperandKind::workspace);
  EXPECT_EQ(c.find_operand("eps")->values.size(), 2u);
  EXPECT_EQ(text(c.find_operand("scale")->value), "1 / sqrt(D)");
}

TEST(Contract, StridesOfExpandsInPlace) {
  const Contract c = load_contract(kFolder + "wide.toml");
  ASSERT_GT(c.args.size(), 9u);
  for (int d = 0; d < 3; ++d) {
    const OperandSpec& scalar = c.args[static_cast<size_t>(3 + d)];
    EXPECT_EQ(scalar.name, "kv_stride" + std::to_string(d));
    EXPECT_EQ(scalar.kind, OperandKind::scalar);
    EXPECT_EQ(scalar.dtype, "i64");
    EXPECT_EQ(text(scalar.value), "stride(kv, " + std::to_string(d) + ")");
  }
  EXPECT_EQ(c.args[6].name, "qs0");
  EXPECT_EQ(c.args[8].name, "qs2");
  EXPECT_EQ(c.args[8].dtype, "i32");
}

TEST(Contract, EverySectionKey) {
  const Contract c = load_contract(kFolder + "wide.toml");
  EXPECT_EQ(c.builds, 9);
  EXPECT_EQ(c.flags, (std::vector<std::string>{"biased", "ub"}));
  EXPECT_EQ(c.source.compiler, CudaCompiler::nvcc);
  EXPECT_EQ(c.source.include.size(), 2u);
  EXPECT_EQ(c.source.defines.at("UNROLL"), "4");
  EXPECT_EQ(c.source.defines.at("ON"), "1");
  EXPECT_EQ(c.source.flags.size(), 3u);
  EXPECT_EQ(c.source.target, "sm_90a");
  EXPECT_EQ(c.source.cxx.at(DType::bf16), "__nv_bfloat16");
  EXPECT_EQ(c.sizes[1].in, (std::vector<int64_t>{1, 2, 8}));
  EXPECT_EQ(c.sizes[1].min, 1);
  EXPECT_EQ(c.sizes[1].max, 8);
  EXPECT_EQ(c.derive[1].name, "W2");
  EXPECT_EQ(c.require[1].name, "!ub || Q == e4m3");
  ASSERT_EQ(c.launches.size(), 2u);
  EXPECT_EQ(text(c.launches[0].grid[2]), "2");
  EXPECT_EQ(text(c.launches[0].block[0]), "BS * 4");
  EXPECT_EQ(text(c.launches[0].shared), "4 * BS * D");
  EXPECT_EQ(c.launches[1].entry, "reduce<{T}>");
  EXPECT_EQ(text(c.launches[1].when), "SPLIT > 1");
  EXPECT_EQ(c.launches[1].args, (std::vector<std::string>{"out", "mid"}));
  EXPECT_EQ(c.formula[3].name, "kv");
  ASSERT_EQ(c.formula[3].scatter.size(), 1u);
  EXPECT_EQ(c.formula[3].scatter[0].first, "slot");
  EXPECT_EQ(text(c.formula[3].scatter[0].second), "lens");
  EXPECT_EQ(c.accuracy.accumulate, DType::f64);
  EXPECT_EQ(c.accuracy.math, MathMode::fast);
  EXPECT_EQ(c.accuracy.exp, ExpForm::prescaled);
  EXPECT_EQ(text(c.accuracy.online), "BS");
  EXPECT_EQ(c.accuracy.variance, VarianceForm::one_pass);
  EXPECT_EQ(c.accuracy.weak_reason, "it is only a test");
  EXPECT_EQ(c.policy.nan, NanPolicy::ignore);
  EXPECT_EQ(c.policy.subnormals, SubnormalPolicy::maybe);
  EXPECT_EQ(c.policy.range, RangePolicy::naive);
  EXPECT_EQ(c.policy.tie, TiePolicy::last);
  EXPECT_EQ(c.policy.zero_order, ZeroOrderPolicy::signed_zero);
  EXPECT_EQ(c.policy.empty, EmptyPolicy::zero);
  EXPECT_EQ(c.policy.cast_overflow, CastOverflowPolicy::inf);
  std::vector<std::string> expected;
  for (const char* key :
       {"161: accuracy.peer_ratio", "5: builds"})
    expected.push_back(kFolder + "wide.toml:" + key);
  EXPECT_EQ(c.not_yet, expected);
}

TEST(Contract, FormulasOfTheDocuments) {
  // matmul
  around(R"toml({ name = "y", kind = "output", dtype = "T", shape = ["M", "N"] },
            { name = "x", kind = "input", dtype = "T", shape = ["M", "K"] },
            { name = "w", kind = "input", dtype = "T", shape = ["K", "N"] },)toml",
         "y = \"sum(x * w, K)\"\n", "derive = { M = 4, N = 5, K = 6 }\n");
  // residual add, rms_norm, fp8 a token
  around(R"toml({ name = "out", kind = "output", dtype = "e4m3", shape = ["rows", "H"] },
            { name = "scale", kind = "output", dtype = "f32", shape = ["rows", 1] },
            { name = "residual", kind = "inout", dtype = "T", shape = ["rows", "H"] },
            { name = "x", kind = "input", dtype = "T", shape = ["rows", "H"] },
            { name = "w", kind = "input", dtype = "T", shape = ["H"] },
            { name = "min_scale", kind = "scalar", dtype = "f32", value = 1e-6 },)toml",
         R"toml(s        = "x + residual.before"
n        = "round(round(s * rsqrt(mean(s*s, H) + 1e-6), T) * w, T)"
residual = "round(s, T)"
scale    = "max(max(abs(n), H) / qmax(e4m3), min_scale)"
out      = "quant(n / given(scale), e4m3)"
)toml",
         "derive = { H = \"4 * cols\" }\n");
}

TEST(Contract, LaterPartsAreAcceptedAndNamed) {
  const auto not_yet = [](const std::string& source, const std::string& tail) {
    return parse_contract("name = \"k\"\nsource = " + source + "\n" + tail +
                              "[[args]]\nname = \"y\"\nkind = \"output\"\ndtype = \"f32\"\n"
                              "shape = [4]\n[formula]\ny = \"1\"\n",
                          kFolder + "k.toml")
        .not_yet;
  };
  EXPECT_EQ(not_yet("{ torch = \"aten::softmax.int\" }", ""),
            (std::vector<std::string>{kFolder + "k.toml:2: source.torch"}));
  EXPECT_EQ(not_yet("{ triton = \"pool.cu:kernel\", num_warps = 4, constexpr = { B = 3 } }",
                    "launch = { grid = 1 }\n"),
            (std::vector<std::string>{kFolder + "k.toml:2: source.triton"}));
}

/// The formula of y over a packed w[rows, cols].
std::string unpacked(const std::string& type, const std::string& pack, const std::string& formula) {
  const Contract c = around(
      "{ name = \"y\", kind = \"output\", dtype = \"f32\", shape = [\"rows\"] },\n"
      "{ name = \"w\", kind = \"input\", dtype = \"" +
          type + "\", shape = [\"rows\", \"cols\"], pack = { along = \"cols\"" + pack + " } },\n",
      "y = \"" + formula + "\"\n");
  EXPECT_TRUE(c.not_yet.empty());
  return to_text(*c.formula.front().expr);
}

TEST(Contract, PackedElementsAreTakenOutOfWords) {
  const Contract c = around(
      R"toml({ name = "y", kind = "output", dtype = "f32", shape = ["rows"] },
         { name = "w", kind = "input", dtype = "u4", shape = ["rows", "cols"],)toml"
      R"toml( pack = { along = "cols", word = "i32", low_first = false } },
)toml",
      "y = \"sum(w, cols)\"\n");
  const OperandSpec& w = c.args[1];
  ASSERT_TRUE(w.pack);
  EXPECT_EQ(w.pack->along, "cols");
  EXPECT_EQ(w.pack->in_word(), 8);
  EXPECT_FALSE(w.pack->low_first);
  EXPECT_EQ(w.dtype, "i32") << "in memory there are words";
  EXPECT_EQ(w.shape[1].name, "cols_words");
  EXPECT_EQ(to_text(*w.shape[1].extent), "ceil_div(cols, 8)");
  EXPECT_TRUE(c.not_yet.empty());
  EXPECT_EQ(to_text(*c.formula.front().expr),
            "sum(w[cols_words = cols / 8] >> 4 * (7 - cols % 8) & 15, cols)");
  EXPECT_EQ(unpacked("i4", ", word = \"u8\"", "sum(w, cols)"),
            "sum((w[cols_words = cols / 2] >> 4 * (cols % 2) & 15 ^ 8) - 8, cols)");
  EXPECT_EQ(
      unpacked("u4", "", "w[rows = 2, cols = 3] + size(cols) + w[cols = rows - 1]"),
      "(w[rows = 2, cols_words = div_floor(3, 8)] >> 4 * mod_floor(3, 8) & 15) + size(cols) + "
      "(w[cols_words = div_floor(rows - 1, 8)] >> 4 * mod_floor(rows - 1, 8) & 15)");
  EXPECT_EQ(unpacked("u4", "", "w[rows, 3] + w[rows]"),
            "(w[rows, div_floor(3, 8)] >> 4 * mod_floor(3, 8) & 15) + "
            "(w[rows, cols / 8] >> 4 * (cols % 8) & 15)");
}

TEST(Contract, OracleInPlaceOfAFormula) {
  const auto with = [](const std::string& oracle) {
    return parse_contract("name = \"k\"\nsource = { ptx = \"pool.cu\", entry = \"k\" }\n" + oracle +
                              "\nlaunch = { grid = 1, block = 32 }\n"
                              "[[args]]\nname = \"y\"\nkind = \"output\"\ndtype = \"f32\"\n"
                              "shape = [4]\n[[args]]\nname = \"x\"\nkind = \"input\"\n"
                              "dtype = \"f32\"\nshape = [\"cols: 8\"]\n",
                          kFolder + "k.toml");
  };
  const Contract c = with(
      "oracle = { op = \"topk\", of = \"x\", along = \"cols\", k = 4, values = \"y\", sorted = "
      "false }");
  EXPECT_EQ(c.source.language, Language::ptx);
  ASSERT_EQ(c.oracles.size(), 1u);
  EXPECT_EQ(c.oracles[0].op, "topk");
  EXPECT_EQ(c.oracles[0].find("k")->expr->integer, 4);
  EXPECT_EQ(c.oracles[0].find("values")->text, "y");
  EXPECT_EQ(c.oracles[0].find("sorted")->text, "false");
  EXPECT_EQ(c.oracles[0].find("largest"), nullptr);
  EXPECT_TRUE(c.not_yet.empty());
  const auto message = [&](const std::string& oracle) -> std::string {
    try {
      with(oracle);
    } catch (const InputError& error) {
      return std::string(error.what()).substr(kFolder.size());
    }
    return "accepted";
  };
  EXPECT_EQ(message("oracle = { op = \"topc\" }"),
            "k.toml:3:18: unknown relation 'topc' (did you mean 'topk'?)");
  EXPECT_EQ(message("oracle = { op = \"topk\", of = \"x\" }"),
            "k.toml:3:12: relation 'topk' needs 'along'");
  EXPECT_EQ(message("oracle = { op = \"topk\", off = \"x\" }"),
            "k.toml:3:25: relation 'topk' has no 'off' (did you mean 'of'?)");
  EXPECT_EQ(message("oracle = { op = \"bernoulli\", mask = \"x\", p = 0.5 }"),
            "k.toml:3:38: 'mask' of 'oracle' needs an output, not 'x'; expected y");
  EXPECT_EQ(
      message("oracle = { op = \"topk\", of = \"z\", along = \"cols\", k = 1, values = \"y\" }"),
      "k.toml:3:31: unknown name 'z' in a formula; expected one of cols, y, x");
  EXPECT_EQ(message("oracle = { op = \"topk\", of = \"x\", along = \"cols\", k = 1 }"),
            "k.toml:3:12: relation 'topk' names no output");
}

TEST(Contract, VariantsHaveTextAndGiveTypes) {
  const Contract c = parse_contract(kSoftmax, kFolder + "softmax.toml");
  Variant variant;
  variant.types["T"] = DType::f16;
  variant.knobs["BLOCK"] = 256;
  variant.flags["causal"] = 1;
  EXPECT_EQ(variant.text(), "T=f16 BLOCK=256 causal=1");
  EXPECT_EQ(Variant{}.text(), "");
  EXPECT_EQ(resolve_dtype(c.args[0], variant), DType::f16);
  EXPECT_EQ(resolve_dtype(c.args[2], variant), DType::i64);
  EXPECT_THROW(resolve_dtype(c.args[0], Variant{}), InputError);
}

TEST(Contract, RelativePathsStartAtTheContract) {
  const fs::path folder = fs::path(testing::TempDir()) / "contract_test";
  fs::create_directories(folder / "src");
  std::ofstream(folder / "src/k.cu") << "\n";
  std::ofstream(folder / "k.toml")
      << "name = \"k\"\nsource = { cuda = \"src/k.cu\", entry = \"k\" }\n"
         "launch = { grid = 1, block = 32 }\n[[args]]\nname = \"y\"\nkind = \"output\"\n"
         "dtype = \"f32\"\nshape = [4]\n[formula]\ny = \"1\"\n";
  EXPECT_EQ(load_contract((folder / "k.toml").string()).source.path,
            (folder / "src/k.cu").lexically_normal().string());
  fs::remove_all(folder);
}

std::string load_error(const std::string& path) {
  try {
    load_contract(path);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Contract, UnreadableFiles) {
  EXPECT_EQ(load_error("/nowhere/k.toml"), "/nowhere/k.toml: no such contract file");
  EXPECT_EQ(load_error(kFolder), kFolder + ": not a file: expected a contract");
}

// Every contract of the tree loads.
TEST(Contract, OurOwnContractsLoad) {
  int loaded = 0;
  for (const char* part : {"kernels", "planted"}) {
    const fs::path folder = fs::path(ASSAY_SOURCE_DIR) / "kernels_under_test" / part;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".toml") continue;
      EXPECT_NO_THROW(load_contract(entry.path().string())) << entry.path();
      ++loaded;
    }
  }
  EXPECT_GE(loaded, 8 + 2 * 13);
}

}  // namespace
}  // namespace assay
