// `assay check` runs what a contract admits: contracts that cannot be run, or of which nothing
// would be judged, have a remark at its place.
#include <nlohmann/json.hpp>

#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

std::string whole_contract() { return std::string(kScaleContract) + "range = \"naive\"\n"; }

nlohmann::json checked(const Project& p) {
  const Outcome outcome = run_assay({"check", p.contract, "--json"});
  return nlohmann::json::parse(outcome.out);
}

struct Broken {
  const char* name;
  const char* from;
  const char* to;
  const char* kind;
  int line;  ///< of the remark in the contract
  const char* says;
};

class CheckRuns : public ::testing::TestWithParam<Broken> {};

TEST_P(CheckRuns, AContractThatCannotRunHasARemark) {
  const Project p;
  p.folder.write("scale_rows.toml", replaced(whole_contract(), GetParam().from, GetParam().to));
  const auto report = checked(p);
  EXPECT_EQ(report.at("exit"), 1);
  const auto& lints = report.at("kernels")[0].at("lints");
  const auto at = std::find_if(lints.begin(), lints.end(), [](const auto& lint) {
    return lint.at("kind") == GetParam().kind;
  });
  ASSERT_NE(at, lints.end()) << report.dump(1);
  EXPECT_EQ(at->at("file"), p.contract) << *at;
  EXPECT_EQ(at->at("line"), GetParam().line) << *at;
  EXPECT_NE(at->at("message").template get<std::string>().find(GetParam().says), std::string::npos)
      << *at;
}

INSTANTIATE_TEST_SUITE_P(
    All, CheckRuns,
    ::testing::Values(
        Broken{"nothing_satisfies", "launch =", "require = [\"n > 5000\"]\nlaunch =", "no_case", 5,
               "n > 5000 does not hold"},
        Broken{"none_found", "launch =", "require = [\"n * n == 1001 * n + 7\"]\nlaunch =",
               "no_case", 5, "no case was found"},
        Broken{"error_in_launch", "ceil_div(n, 64)", "n / 0", "no_case", 5,
               "division by 0"},
        Broken{"error_in_launch_for_a_size", "ceil_div(n, 64)", "ceil_div(n, 64) + 0 / n", "error",
               5, "never runs with n=0"},
        Broken{"block_of_2048", "block = [64]", "block = [2048]", "fails", 5,
               "launch_limit: the contract launches block.x = 2048, more than the limit of 1024"},
        Broken{"block_of_0", "block = [64]", "block = [0]", "fails", 5,
               "launch_limit: the contract launches block.x = 0, which no device launches"},
        Broken{"a_size_on_grid_y", "ceil_div(n, 64)", "1\", \"n * 20", "launch", 5,
               "n = 3277 is admitted and launches grid.y = 65540, more than the limit of 65535"},
        Broken{"sizes_of_0", "max = 5000", "max = 0", "unjudged", 4, "never have an element"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(CheckRuns, AnAliasThatNoCaseHasIsTold) {
  const Project p;
  std::string contract = replaced(whole_contract(), "min = 0", "min = 2");
  contract = replaced(contract, "shape = [\"n\"] }", "shape = [\"n\"], may_alias = [\"x\"] }");
  p.folder.write("scale_rows.toml", contract);
  EXPECT_EQ(checked(p).at("kernels")[0].at("lints").size(), 0u) << "cases have it";
  p.folder.write("scale_rows.toml",
                 replaced(contract, "shape = [\"n\"] }", "shape = [\"n\"], strides = [2] }"));
  const auto lints = checked(p).at("kernels")[0].at("lints");
  const auto at = std::find_if(lints.begin(), lints.end(), [](const auto& lint) {
    return lint.at("kind") == "unreachable";
  });
  ASSERT_NE(at, lints.end()) << lints.dump(1);
  EXPECT_EQ(at->at("line"), 7);
  EXPECT_EQ(at->at("message"),
            "no case puts 'y' into the memory of 'x': 'y' must be contiguous: stride 2 in "
            "dimension 0, not 1");
}

TEST(CheckRuns, AFormulaOfSomethingElseFailsInMostCases) {
  const Project p;
  p.folder.write("scale_rows.toml", replaced(whole_contract(), "x + x", "x - 1"));
  const auto lints = checked(p).at("kernels")[0].at("lints");
  ASSERT_EQ(lints.size(), 1u) << lints;
  EXPECT_EQ(lints[0].at("kind"), "fails");
  EXPECT_EQ(lints[0].at("file"), p.source);
  EXPECT_EQ(lints[0].at("line"), 4);  // where the wrong value is stored
  EXPECT_NE(lints[0].at("message").get<std::string>().find("mismatch"), std::string::npos);
}

struct WrongType {
  const char* name;
  const char* source;    ///< parameters
  const char* contract;  ///< what stands for the three operands' dtypes: y, x, n
  const char* says;
};

class CheckSignature : public ::testing::TestWithParam<WrongType> {};

TEST_P(CheckSignature, ADtypeThatIsNotTheParametersHasARemark) {
  const Project p;
  const std::string wanted = GetParam().contract;
  const size_t comma = wanted.find(',');
  std::string contract = replaced(whole_contract(), "scale_rows<{T}>", "scale_rows");
  contract = replaced(contract, "types = { T = [\"f32\"] }", "");
  for (int i = 0; i < 2; ++i)
    contract = replaced(contract, "dtype = \"T\"", "dtype = \"" + wanted.substr(0, comma) + "\"");
  contract = replaced(contract, "dtype = \"i32\"", "dtype = \"" + wanted.substr(comma + 1) + "\"");
  p.folder.write("scale_rows.toml", contract);
  p.folder.write("scale_rows.cu",
                 "#include <cuda_fp16.h>\n" + std::string(GetParam().source) + " {}\n");
  const auto report = checked(p);
  EXPECT_EQ(report.at("exit"), 1);
  const auto& first = report.at("kernels")[0].at("lints").at(0);
  EXPECT_EQ(first.at("kind"), "signature") << report.dump(1);
  EXPECT_NE(first.at("message").get<std::string>().find(GetParam().says), std::string::npos)
      << first;
}

INSTANTIATE_TEST_SUITE_P(
    All, CheckSignature,
    ::testing::Values(
        WrongType{"float_for_half", "__global__ void scale_rows(__half* y, const __half* x, int n)",
                  "f32,i32", "'y' is f32 here and __half* in the kernel: expected f16"},
        WrongType{"extern_c", "extern \"C\" __global__ void scale_rows(float* y, const float* x, int n)",
                  "f16,i32", "'y' is f16 here and float* in the kernel: expected f32"},
        WrongType{"float_for_an_int", "__global__ void scale_rows(float* y, const float* x, int n)",
                  "f32,f32", "'n' is f32 here and int in the kernel: expected i32"},
        WrongType{"wide_integers", "__global__ void scale_rows(int* y, const int* x, int n)",
                  "i64,i32", "'y' is i64 here and int* in the kernel"},
        WrongType{"vectors_at_any_address",
                  "__global__ void scale_rows(float4* y, const float4* x, int n)", "f32,i32",
                  "reads 16 bytes at once: expected align = 16"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(CheckRuns, ReinterpretedBytesAndPairsAreNoConflict) {
  const Project p;
  p.folder.write("scale_rows.toml", replaced(whole_contract(), "scale_rows<{T}>", "scale_rows"));
  p.folder.write("scale_rows.cu",
                 replaced(kScaleSource, "template <typename T>\n__global__ void scale_rows(T* y, "
                                        "const T* x, int n) {",
                          "__global__ void scale_rows(unsigned char* yb, const void* xb, int n) {\n"
                          "  float* y = (float*)yb; const float* x = (const float*)xb;"));
  const Outcome outcome = run_assay({"check", p.contract});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
}

TEST(CheckRuns, VariantsThatTheEmulatorLacksAreNamedWithTheirLine) {
  const Project p;
  p.folder.write("scale_rows.toml", replaced(whole_contract(), "launch =",
                                             "knobs = { FAST = [0, 1] }\nlaunch ="));
  p.folder.write("scale_rows.cu",
                 replaced(kScaleSource, "if (i < n)",
                          "if (FAST) asm volatile(\"discard.global.L2 [%0], 128;\" :: \"l\"(y));\n"
                          "  if (i < n)"));
  const auto report = checked(p);
  const auto& lints = report.at("kernels")[0].at("lints");
  ASSERT_EQ(lints.size(), 1u) << report.dump(1);
  EXPECT_EQ(lints[0].at("kind"), "unsupported");
  EXPECT_EQ(lints[0].at("file"), p.source);
  EXPECT_EQ(lints[0].at("line"), 4);
  EXPECT_NE(lints[0].at("message").get<std::string>().find("1 of the 2 variants"),
            std::string::npos);
  const Outcome text = run_assay({"check", p.contract});
  EXPECT_NE(text.out.find("scale_rows: 1 remark; of "), std::string::npos) << text.out;
}

TEST(CheckRuns, ThreeCasesAreShownWhateverIsAdmitted) {
  const Project p;
  p.folder.write("scale_rows.toml", replaced(whole_contract(), "{ min = 0, max = 5000 }",
                                             "{ in = [64] }"));
  EXPECT_EQ(checked(p).at("kernels")[0].at("examples").size(), 3u);
}

TEST(CheckRuns, AnOperandMayBeUnreadOnPurpose) {
  const Project p;
  const std::string unread = replaced(whole_contract(), "y = \"x + x\"", "y = \"2\"");
  p.folder.write("scale_rows.cu", replaced(kScaleSource, "x[i] + x[i]", "T(2)"));
  p.folder.write("scale_rows.toml", unread);
  EXPECT_EQ(run_assay({"check", p.contract}).status, 1);
  p.folder.write("scale_rows.toml", "# unread: x, kept for callers of an older version\n" + unread);
  EXPECT_EQ(run_assay({"check", p.contract}).status, 0);
  // Of one value there is nothing to read.
  p.folder.write("scale_rows.toml",
                 replaced(whole_contract(), "  { name = \"n\",",
                          "  { name = \"slope\", kind = \"scalar\", dtype = \"f32\", value = [0.0] },\n"
                          "  { name = \"n\","));
  p.folder.write("scale_rows.cu", replaced(kScaleSource, "int n)", "float slope, int n)"));
  const Outcome one = run_assay({"check", p.contract});
  EXPECT_EQ(one.status, 0) << one.out << one.err;
}

}  // namespace
}  // namespace assay::testing
