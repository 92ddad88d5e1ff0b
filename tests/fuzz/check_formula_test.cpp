// `assay check` on what a formula says: policies that it makes matter, indices for extents,
// quotients of integers, NaN of finite inputs, and the table of accuracies that the kernel needs.
#include <nlohmann/json.hpp>

#include "compilers/program.hpp"
#include "fuzz/lint.hpp"
#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

using Names = std::vector<std::string>;

/// Of the usual contract with another formula and policies: T may be more types than f32.
Contract with(const Project& p, const std::string& formula, const std::string& policy,
              const std::string& dtype = "T") {
  std::string text = replaced(kScaleContract, "y = \"x + x\"", formula);
  text = replaced(text, "nan = \"propagate\"\n", policy);
  text = replaced(text, "kind = \"output\", dtype = \"T\"",
                  "kind = \"output\", dtype = \"" + dtype + "\"");
  p.folder.write("scale_rows.toml", text);
  return load_contract(p.contract);
}

Names policies_of(const std::string& formula, const std::string& policy = "",
                  const std::string& dtype = "T") {
  const Project p;
  Names names;
  for (const std::string& line : open_policies(with(p, formula, policy, dtype)))
    names.push_back(line.substr(0, line.find(' ')));
  return names;
}

TEST(OpenPolicies, FollowFromTheFormulaAlone) {
  EXPECT_EQ(policies_of("y = \"x + x\""), Names{});
  EXPECT_EQ(policies_of("y = \"max(x, 0)\""), Names{"nan"});
  EXPECT_EQ(policies_of("y = \"softmax(x, n)\""), Names{"nan"}) << "e^(x - max) is at most 1";
  EXPECT_EQ(policies_of("y = \"max(x, 0)\"", "nan = \"ignore\"\n"), Names{});
  EXPECT_EQ(policies_of("y = \"max(n, 3)\""), Names{}) << "of integers";
  EXPECT_EQ(policies_of("y = \"argmax(x, n)\"", "nan = \"ignore\"\n", "i32"), Names{"tie"});
  EXPECT_EQ(policies_of("y = \"silu(x)\""), Names{"range"});
  EXPECT_EQ(policies_of("y = \"exp(x)\""), Names{}) << "an infinity is its own value";
  EXPECT_EQ(policies_of("y = \"1 / (1 + exp(-abs(x)))\""), Names{}) << "bounded";
  EXPECT_EQ(policies_of("y = \"1 / (1 + exp(x))\"", "range = \"safe\"\n"), Names{});
}

TEST(OpenPolicies, OfConversionsThatAreNotClamped) {
  const std::string nan = "nan = \"ignore\"\n";
  EXPECT_EQ(policies_of("y = \"cast(x, i8)\"", nan, "i8"), Names{"cast_overflow"});
  EXPECT_EQ(policies_of("y = \"quant(x, i8)\"", nan, "i8"), Names{}) << "saturates by definition";
  EXPECT_EQ(policies_of("y = \"cast(min(max(rint(x), -128), 127), i8)\"", nan, "i8"), Names{});
  EXPECT_EQ(policies_of("y = \"cast(max(x, -128), i8)\"", nan, "i8"), Names{"cast_overflow"});
  EXPECT_EQ(policies_of("y = \"cast(x, f16)\"", nan), Names{});
}

Names slips_of(const std::string& formula) {
  const Project p;
  Names messages;
  for (const Lint& lint : formula_slips(with(p, formula, "nan = \"propagate\"\n")))
    messages.push_back(lint.where.text().substr(p.contract.size()) + " " + lint.message);
  return messages;
}

TEST(FormulaSlips, AnIndexForAnExtent) {
  EXPECT_EQ(slips_of("s = \"sum(x, n)\"\ny = \"s * n + x\""),
            Names{":13:8 `n` here is the index along n; write size(n) for the extent"});
  EXPECT_EQ(slips_of("y = \"x / n\""),
            Names{":12:8 `n` here is the index along n, 0 at first; write size(n) for the extent"});
  EXPECT_EQ(slips_of("s = \"sum(x, n)\"\ny = \"s / size(n) + x\""), Names{});
  EXPECT_EQ(slips_of("y = \"x * n\""), Names{}) << "a ramp of indices";
  EXPECT_EQ(slips_of("y = \"x * (n / 2)\""), Names{});
}

TEST(FormulaSlips, AQuotientOfIntegersThatIsZero) {
  EXPECT_EQ(slips_of("y = \"x * (1 / size(n))\""),
            Names{":12:13 1 / size(n) divides integers and is 0 where size(n) is larger; write 1.0 "
                  "/ size(n) for the real quotient"});
  EXPECT_EQ(slips_of("y = \"x * (1.0 / size(n))\""), Names{});
  EXPECT_EQ(slips_of("y = \"x * (size(n) / 2)\""), Names{});
}

Names remarks(const Project& p) {
  const Outcome outcome = run_assay({"check", p.contract, "--json"});
  Names all;
  const auto report = nlohmann::json::parse(outcome.out);
  for (const auto& lint : report.at("kernels")[0].at("lints"))
    all.push_back(lint.at("kind").get<std::string>() + ": " +
                  lint.at("message").get<std::string>());
  return all;
}

TEST(CheckFormula, MissingPoliciesDoNotDependOnTheCases) {
  const Project p;
  p.folder.write("scale_rows.cu", replaced(kScaleSource, "x[i] + x[i]", "fmaxf(x[i], 0.f)"));
  std::string text = replaced(kScaleContract, "y = \"x + x\"", "y = \"max(x, 0)\"");
  text = replaced(text, "nan = \"propagate\"\n", "range = \"naive\"\n");
  p.folder.write("scale_rows.toml", replaced(text, "max = 5000", "max = 3"));  // few elements
  EXPECT_EQ(remarks(p),
            Names{"policy: a policy that matters here is missing, add under [policy]: nan = "
                  "\"propagate\"  # or \"ignore\", \"exclude\""});
}

TEST(CheckFormula, NamesFastMathWhereTheKernelHasIt) {
  const Project p;
  const std::string fast = "T(x[i] / (1.f + __expf(-x[i])))";
  p.folder.write("scale_rows.cu", replaced(kScaleSource, "x[i] + x[i]", fast));
  std::string text = replaced(kScaleContract, "y = \"x + x\"", "y = \"silu(x)\"");
  text += "range = \"naive\"\nsubnormals = \"maybe\"\n";
  p.folder.write("scale_rows.toml", text);
  Names all = remarks(p);
  std::erase_if(all, [](const std::string& remark) { return remark.starts_with("fails: "); });
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(all[0].starts_with("accuracy: the compiled kernel holds ex2.approx")) << all[0];
  EXPECT_NE(all[0].find("scale_rows.cu:4"), std::string::npos) << all[0];
  EXPECT_NE(all[0].find("math = \"fast\" under [accuracy]"), std::string::npos) << all[0];
  p.folder.write("scale_rows.toml", text + "[accuracy]\nmath = \"fast\"\n");
  EXPECT_EQ(remarks(p), Names{});

  // A kernel that is wrong with either table is not told so.
  p.folder.write("scale_rows.cu",
                 replaced(kScaleSource, "x[i] + x[i]", "T(x[i] / (2.f + __expf(-x[i])))"));
  p.folder.write("scale_rows.toml", text);
  for (const std::string& remark : remarks(p))
    EXPECT_FALSE(remark.starts_with("accuracy")) << remark;
}

constexpr const char* kQuantise =
    R"(__global__ void quantise(signed char* q, float* scale, const float* x, int cols) {
  __shared__ float largest;
  x += blockIdx.x * cols;
  if (threadIdx.x == 0) {
    largest = 0;
    for (int i = 0; i < cols; ++i) largest = fmaxf(largest, fabsf(x[i]));
    scale[blockIdx.x] = largest / 127.0f;
  }
  __syncthreads();
  const float s = largest / 127.0f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x)
    q[blockIdx.x * cols + i] = min(max(__float2int_rn(x[i] / s), -128), 127);
}
)";

constexpr const char* kQuantiseContract = R"toml(name = "quantise"
source = { cuda = "scale_rows.cu", entry = "quantise" }
sizes = { rows = { max = 100 }, cols = { min = 1, max = 100 } }
launch = { grid = ["rows"], block = [32] }
args = [
  { name = "q", kind = "output", dtype = "i8", shape = ["rows", "cols"] },
  { name = "scale", kind = "output", dtype = "f32", shape = ["rows"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["rows", "cols"] },
  { name = "cols", kind = "scalar", dtype = "i32", value = "cols" },
]
[formula]
scale = "max(abs(x), cols) / 127"
q = "quant(x / given(scale), i8)"
[policy]
nan = "ignore"
range = "safe"
subnormals = "maybe"
)toml";

TEST(CheckFormula, NanOfFiniteInputsIsAsked) {
  const Project p;
  p.folder.write("scale_rows.cu", kQuantise);
  p.folder.write("scale_rows.toml", kQuantiseContract);
  const Names all = remarks(p);
  const auto asks = std::find_if(all.begin(), all.end(), [](const std::string& remark) {
    return remark.starts_with(
        "formula: NaN for finite inputs: with every input 0 the formula makes q[");
  });
  EXPECT_NE(asks, all.end()) << (all.empty() ? "no remarks" : all.front());
  const auto asked = [&](const std::string& text) {
    p.folder.write("scale_rows.toml", text);
    for (const std::string& remark : remarks(p))
      if (remark.starts_with("formula: NaN")) return true;
    return false;
  };
  const std::string contract = kQuantiseContract;
  EXPECT_FALSE(asked("# nan: q, because a row of zeros has no scale\n" + contract));
  p.folder.write("scale_rows.cu", replaced(kQuantise, "largest = 0;", "largest = 1e-10f;"));
  EXPECT_FALSE(asked(replaced(contract, "max(abs(x), cols)", "max(max(abs(x), cols), 1e-10)")));
}

TEST(CheckFormula, AnElementwiseQuotientIsNotAskedAbout) {
  const Project p;
  p.folder.write("scale_rows.cu", replaced(kScaleSource, "x[i] + x[i]", "x[i] / x[i]"));
  p.folder.write("scale_rows.toml",
                 replaced(std::string(kScaleContract) + "range = \"naive\"\n", "x + x", "x / x"));
  for (const std::string& remark : remarks(p))
    EXPECT_FALSE(remark.starts_with("formula")) << remark;
}

struct Message {
  const char* name;
  const char* from;
  const char* to;
  const char* says;
};

class FormulaMessage : public ::testing::TestWithParam<Message> {};

TEST_P(FormulaMessage, NamesTheCure) {
  const Project p;
  p.folder.write("scale_rows.toml", replaced(kScaleContract, GetParam().from, GetParam().to));
  const Outcome outcome = run_assay({"check", p.contract});
  EXPECT_EQ(outcome.status, 2) << outcome.out;
  EXPECT_NE((outcome.out + outcome.err).find(GetParam().says), std::string::npos)
      << outcome.out << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(
    All, FormulaMessage,
    ::testing::Values(
        Message{"only_add", "y = \"x + x\"", "\"y[n = n]\" = \"max(x)\"",
                "only 'add(x)' may combine what several indices write to one element, not 'max'"},
        Message{"an_index_in_another_output", "shape = [\"n\"] },\n  { name = \"x\"",
                "shape = [1] },\n  { name = \"x\"", "a dimension that 'y' does not have"},
        Message{"a_function_far_from_all", "y = \"x + x\"", "y = \"x + relu6_like(x)\"",
                "unknown function 'relu6_like' in a formula; the nearest are "},
        Message{"a_function_near_one", "y = \"x + x\"", "y = \"x + sofmax(x, n)\"",
                "(did you mean 'softmax'?)"},
        Message{"an_orphan", "y = \"x + x\"", "out = \"x + x\"\ny = \"out\"\ny2 = \"x\"",
                "formula line 'y2' is used by no output and no later line (did you mean 'y'?)"},
        Message{"an_output_without_a_line", "y = \"x + x\"", "yy = \"x + x\"",
                "output 'y' has no line in [formula] (is 'yy' meant to be it?)"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(FormulaMessages, ASizesIndexIsNamedForWhatItIs) {
  const Project p;
  std::string text = replaced(kScaleContract, "shape = [\"n\"] },\n  { name = \"x\"",
                              "shape = [1] },\n  { name = \"x\"");
  p.folder.write("scale_rows.toml", replaced(text, "y = \"x + x\"", "y = \"sum(x, n) / n\""));
  const Outcome outcome = run_assay({"check", p.contract});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE((outcome.out + outcome.err)
                .find("`n` here is the index along n: write size(n) for the extent, or give the "
                      "dimension another name, \"n_: n\", for the value"),
            std::string::npos)
      << outcome.out << outcome.err;
}

TEST(FormulaMessages, AMisspeltValueOfASizesScalarNamesTheSize) {
  const Project p;
  std::string cols = kScaleContract;
  for (size_t at = 0; (at = cols.find("\"n\"", at)) != std::string::npos; at += 6)
    cols.replace(at, 3, "\"cols\"");
  cols = replaced(cols, "{ n = {", "{ cols = {");
  cols = replaced(cols, "ceil_div(n, 64)", "ceil_div(cols, 64)");
  p.folder.write("scale_rows.toml", replaced(cols, "value = \"cols\"", "value = \"clos\""));
  const Outcome outcome = run_assay({"check", p.contract});
  EXPECT_NE((outcome.out + outcome.err).find("unknown name 'clos' (did you mean 'cols'?)"),
            std::string::npos)
      << outcome.out << outcome.err;
}

}  // namespace
}  // namespace assay::testing
