// `assay init` and `assay check`: from a kernel's signature to a contract that runs, and what is
// said of a contract.
#include <nlohmann/json.hpp>

#include "compilers/signature.hpp"
#include "fuzz/lint.hpp"
#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

using nlohmann::json;

constexpr const char* kSigmoid = R"(// no __global__ void commented(int n);
#include <cuda_fp16.h>
#include <stdint.h>
#define LAUNCH __global__
namespace engine {
namespace detail { struct Empty {}; }
template <typename T, int BLOCK, bool NEGATE = false>
__global__ void __launch_bounds__(BLOCK)
    scale(T* __restrict__ out, const T *x, T const* w, int64_t count, float factor) {
  const int64_t i = int64_t{blockIdx.x} * BLOCK + threadIdx.x;
  if (i < count) out[i] = T(float(x[i]) * float(w[i]) * factor * (NEGATE ? -1.f : 1.f));
}
}  // namespace engine
)";

std::vector<std::string> kinds_of(const Outcome& outcome) {
  std::vector<std::string> kinds;
  const json parsed = json::parse(outcome.out);
  for (const auto& lint : parsed.at("kernels")[0].at("lints")) {
    kinds.push_back(lint.at("kind"));
  }
  return kinds;
}

std::string first_message(const Outcome& outcome) {
  return json::parse(outcome.out).at("kernels")[0].at("lints").at(0).at("message");
}

TEST(Signature, IsReadFromTheText) {
  const auto kernels = kernel_signatures(kSigmoid);
  ASSERT_EQ(kernels.size(), 1u);
  const KernelSignature& k = kernels[0];
  EXPECT_EQ(k.scope + k.name, "engine::scale");
  EXPECT_EQ(k.line, 9);
  ASSERT_EQ(k.templates.size(), 3u);
  EXPECT_EQ(k.templates[0].type + " " + k.templates[0].name, "typename T");
  EXPECT_EQ(k.templates[2].type + " " + k.templates[2].fallback, "bool false");
  ASSERT_EQ(k.parameters.size(), 5u);
  EXPECT_TRUE(k.parameters[0].pointer && !k.parameters[0].pointee_const);
  EXPECT_TRUE(k.parameters[1].pointer && k.parameters[1].pointee_const);
  EXPECT_TRUE(k.parameters[2].pointer && k.parameters[2].pointee_const);
  EXPECT_EQ(k.parameters[2].type + " " + k.parameters[2].name, "T w");
  EXPECT_EQ(k.parameters[3].type + " " + k.parameters[3].name, "int64_t count");
  EXPECT_FALSE(k.parameters[4].pointer);
}

TEST(Signature, DeclarationsAndSpecialisationsAreNoOverloads) {
  const auto kernels = kernel_signatures(
      "__global__ void a(float*, int);\n__global__ void a(float* x, int n) {}\n"
      "template <typename T> __global__ void b(T* x) {}\n"
      "template <> __global__ void b<int>(int* x) {}\n"
      "extern \"C\" __global__ void c(const unsigned long long* p, unsigned char q[4]) {}\n");
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[2].parameters[0].type, "unsigned long long");
  EXPECT_TRUE(kernels[2].parameters[1].pointer);
}

TEST(Init, AFilledInContractRuns) {
  const TemporaryFolder folder;
  const std::string source = folder.write("scale.cu", kSigmoid);
  const std::string contract = folder / "scale.toml";
  const Outcome init = run_assay({"init", source + ":scale", "--out", contract});
  EXPECT_EQ(init.status, 0) << init.err;
  const std::string text = read_whole(contract);
  EXPECT_NE(text.find("engine::scale<{T}, {BLOCK}, {NEGATE}>"), std::string::npos) << text;
  EXPECT_NE(text.find("T = [\"f32\", \"f16\"]"), std::string::npos) << "bf16 needs its header";

  // As it is, it has questions and nothing else.
  const Outcome asked = run_assay({"check", contract, "--json"});
  EXPECT_EQ(asked.status, 1) << asked.err;
  const auto kinds = kinds_of(asked);
  EXPECT_EQ(kinds, std::vector<std::string>(kinds.size(), "question"));
  EXPECT_GE(kinds.size(), 8u);

  // With the formula filled in and the questions answered it is checked, and runs.
  std::string answered =
      replaced(text, "out = \"x + w\"", "out = \"x * w * factor * (NEGATE == 1 ? -1 : 1)\"");
  answered = replaced(answered, "value = [1.0]", "value = [2.0, -0.5]");
  std::istringstream lines(answered);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("# ? ") == std::string::npos) kept += line + "\n";
  }
  folder.write("scale.toml", kept + "range = \"naive\"\n");
  const Outcome checked = run_assay({"check", contract});
  EXPECT_EQ(checked.status, 0) << checked.out << checked.err;
  EXPECT_NE(checked.out.find("example case 3"), std::string::npos) << checked.out;
  const Outcome smoke = run_assay({"smoke", contract, "--cases", "150", "--out", folder / "out"});
  EXPECT_EQ(smoke.status, 0) << smoke.out << smoke.err;
  EXPECT_NE(smoke.out.find("4 of 4 variants reached"), std::string::npos) << smoke.out;
}

std::string started(const Project& p, const std::string& source) {
  p.folder.write("started.cu", source);
  const Outcome init = run_assay({"init", p.folder / "started.cu"});
  EXPECT_EQ(init.status, 0) << init.err;
  return init.out;
}

TEST(Init, AsksWhetherAnOutputMayLieInAnInput) {
  const Project p;
  const std::string asked = " May a host call it in place (may_alias = [\"x\"])?\n";
  const std::string body = "{ y[threadIdx.x] = x[threadIdx.x]; }\n";
  EXPECT_NE(started(p, "__global__ void f(float* y, const float* x) " + body).find(asked),
            std::string::npos);
  EXPECT_EQ(started(p, "__global__ void f(double* y, const float* x) " + body).find(asked),
            std::string::npos)
      << "of another type";
}

TEST(Init, VectorsAreAlignedArraysOfTheirElements) {
  const Project p;
  std::string text = started(p, R"(__global__ void add4(float4* y, const float4* x, int n4) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n4) { float4 v = x[i]; v.x += v.x; v.y += v.y; v.z += v.z; v.w += v.w; y[i] = v; }
}
)");
  EXPECT_NE(text.find("shape = [\"n4_x4: 4 * n4\"], align = 16 }"), std::string::npos) << text;
  std::istringstream lines(replaced(text, "y = \"x\"", "y = \"x + x\""));
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("# ? ") == std::string::npos) kept += line + "\n";
  }
  const std::string contract = p.folder.write("started.toml", kept + "range = \"naive\"\n");
  const Outcome checked = run_assay({"check", contract});
  EXPECT_EQ(checked.status, 0) << checked.out << checked.err;
  const Outcome smoke =
      run_assay({"smoke", contract, "--cases", "100", "--out", p.folder / "out"});
  EXPECT_EQ(smoke.status, 0) << smoke.out << smoke.err;
}

TEST(Init, WordsOfTheLanguageAreRenamed) {
  const Project p;
  const std::string text = started(
      p, "template <int any> __global__ void k(float* inf, const float* nan, float e4m3, int block)"
         " { if (block > any) inf[0] = nan[0] * e4m3; }\n");
  for (const char* name : {"inf_", "nan_", "e4m3_", "block_", "any_"}) {
    EXPECT_NE(text.find(std::string("# ") + name + " is `"), std::string::npos) << name << text;
  }
  EXPECT_NE(text.find("entry = \"k<{any_}>\""), std::string::npos) << text;
}

TEST(Init, ACutOffSourceGivesOneLineAtTheKernel) {
  const Project p;
  for (const char* source : {"\n__global__ void k(float* x, int n", "\n__global__ void k(float* x, int n) {"}) {
    p.folder.write("cut.cu", source);
    const Outcome init = run_assay({"init", p.folder / "cut.cu"});
    EXPECT_EQ(init.status, 2);
    EXPECT_TRUE(init.err.starts_with("assay: " + p.folder / "cut.cu" + ":")) << init.err;
    EXPECT_EQ(init.err.find(".toml"), std::string::npos) << init.err;
  }
}

TEST(Init, DoesNotReplaceAContract) {
  const Project p;
  const Outcome outcome = run_assay({"init", p.source, "--out", p.contract});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(read_whole(p.contract), kScaleContract);
}

TEST(Check, ARightContractHasNoRemarks) {
  const Project p;
  p.folder.write("scale_rows.toml", std::string(kScaleContract) + "range = \"naive\"\n");
  const Outcome outcome = run_assay({"check", p.contract});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("example case 3\nassay-case 1"), std::string::npos);
}

struct Remark {
  const char* name;
  const char* from;
  const char* to;
  const char* kind;
  const char* says;
};

class CheckRemarks : public ::testing::TestWithParam<Remark> {};

TEST_P(CheckRemarks, NameTheirPlace) {
  const Project p;
  const std::string whole = std::string(kScaleContract) + "range = \"naive\"\n";
  p.folder.write("scale_rows.toml", replaced(whole, GetParam().from, GetParam().to));
  const Outcome outcome = run_assay({"check", p.contract, "--json"});
  ASSERT_EQ(outcome.status, 1) << outcome.out << outcome.err;
  std::vector<std::string> kinds = kinds_of(outcome);
  std::erase(kinds, "fails");  // without its operand the formula is wrong too
  EXPECT_EQ(kinds, std::vector<std::string>{GetParam().kind}) << outcome.out;
  EXPECT_NE(first_message(outcome).find(GetParam().says), std::string::npos)
      << first_message(outcome);
  const Outcome github = run_assay({"check", p.contract, "--format", "github"});
  EXPECT_NE(github.out.find("::error file="), std::string::npos) << github.out;
}

INSTANTIATE_TEST_SUITE_P(
    All, CheckRemarks,
    ::testing::Values(
        Remark{"operand", "y = \"x + x\"", "y = \"2\"", "unused", "operand 'x' is in no formula"},
        Remark{"size", "sizes = {", "sizes = { idle = { max = 3 },", "unused",
               "size 'idle' is used nowhere"},
        Remark{"flag", "launch =", "flags = [\"causal\"]\nlaunch =", "unused", "flag 'causal'"},
        Remark{"knob", "launch =", "knobs = { STAGES = [1, 2] }\nlaunch =", "unused",
               "knob 'STAGES'"},
        Remark{"type", "T = [\"f32\"]", "T = [\"f32\"], Q = [\"f16\"]", "unused", "type 'Q'"},
        Remark{"derived", "launch =", "derive = { twice = \"2 * n\" }\nlaunch =", "unused",
               "derived value 'twice'"},
        Remark{"size_largest", "launch =", "require = [\"n < 100\"]\nlaunch =", "unreachable",
               "near its largest, 5000: `n < 100`"},
        Remark{"size_in_list", "n = { min = 0, max = 5000 }",
               "n = { in = [32, 48] } }\nrequire = [\"n % 32 == 0\"]\n#", "unreachable",
               "size 'n' is never 48"},
        Remark{"dtype", "T = [\"f32\"]", "T = [\"f32\", \"bf16\"]", "compile",
               "T=bf16 does not compile"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Check, WhatTheDepthOfADimensionNamesIsUsed) {
  const Project p;
  const std::string contract =
      replaced(kScaleContract, "launch =", "derive = { twice = \"2 * n\" }\nlaunch =");
  p.folder.write("scale_rows.toml",
                 contract + "range = \"naive\"\n[accuracy]\ndepth = { n = \"twice\" }\n");
  const Outcome outcome = run_assay({"check", p.contract});
  EXPECT_EQ(outcome.out.find("twice"), std::string::npos) << outcome.out << outcome.err;
  EXPECT_NE(outcome.status, 2) << outcome.err;
}

TEST(Check, AsksForAPolicyThatMatters) {
  const Project p;
  p.folder.write("scale_rows.cu", replaced(kScaleSource, "x[i] + x[i]", "fmaxf(x[i], 0.f)"));
  std::string contract = replaced(kScaleContract, "y = \"x + x\"", "y = \"max(x, 0)\"");
  contract = replaced(contract, "nan = \"propagate\"", "range = \"naive\"");
  p.folder.write("scale_rows.toml", contract);
  const Outcome outcome = run_assay({"check", p.contract, "--json"});
  EXPECT_EQ(outcome.status, 1) << outcome.out << outcome.err;
  EXPECT_EQ(kinds_of(outcome), std::vector<std::string>{"policy"});
  EXPECT_NE(first_message(outcome).find("nan = \"propagate\""), std::string::npos);
  p.folder.write("scale_rows.toml", contract + "nan = \"ignore\"\n");
  EXPECT_EQ(run_assay({"check", p.contract}).status, 0);
}

// (x + 2^100) - 2^100 has lost nearly all of an ordinary x: a bound holds, and says nothing.
TEST(Check, AWeaklyJudgedKernelIsRemarked) {
  const Project p;
  p.folder.write("scale_rows.cu",
                 replaced(kScaleSource, "x[i] + x[i]", "(x[i] + 0x1p100f) - 0x1p100f"));
  std::string contract =
      replaced(kScaleContract, "y = \"x + x\"", "y = \"(x + 1267650600228229401496703205376.0) - 1267650600228229401496703205376.0\"") +
      "range = \"naive\"\n";
  p.folder.write("scale_rows.toml", contract);
  const Outcome outcome = run_assay({"check", p.contract, "--json"});
  EXPECT_EQ(outcome.status, 1) << outcome.out << outcome.err;
  EXPECT_EQ(kinds_of(outcome), std::vector<std::string>{"weak"});
  EXPECT_NE(first_message(outcome).find("weak_reason"), std::string::npos);
  p.folder.write("scale_rows.toml",
                 contract + "[accuracy]\nweak_reason = \"the example of a weak bound\"\n");
  EXPECT_EQ(run_assay({"check", p.contract}).status, 0);
}

// The CUDA C++ Programming Guide documents __sinf within [-pi, pi] alone.
TEST(Check, ElementsWithoutABoundAreRemarked) {
  const Project p;
  p.folder.write("scale_rows.cu",
                 replaced(kScaleSource, "x[i] + x[i]", "x[i] < 0 ? __sinf(x[i] * 100) : x[i]"));
  std::string contract =
      replaced(kScaleContract, "y = \"x + x\"", "y = \"x < 0 ? sin(x * 100) : x\"") +
      "[accuracy]\nmath = \"fast\"\n";
  p.folder.write("scale_rows.toml", contract);
  const Outcome outcome = run_assay({"check", p.contract, "--json"});
  EXPECT_EQ(outcome.status, 1) << outcome.out << outcome.err;
  EXPECT_EQ(kinds_of(outcome), std::vector<std::string>{"no_bound"});
  EXPECT_NE(first_message(outcome).find("(sin((x * 100))"), std::string::npos)
      << first_message(outcome);
  p.folder.write("scale_rows.toml", contract + "weak_reason = \"the example of no bound\"\n");
  EXPECT_EQ(run_assay({"check", p.contract}).status, 0);
}

TEST(Check, AMacroOfTheSourceIsUsed) {
  const Project p;
  p.folder.write("scale_rows.toml", replaced(std::string(kScaleContract) + "range = \"naive\"\n",
                                             "launch =", "knobs = { FACTOR = [2] }\nlaunch ="));
  p.folder.write("scale_rows.cu", replaced(kScaleSource, "x[i] + x[i]", "x[i] * FACTOR"));
  EXPECT_EQ(run_assay({"check", p.contract}).status, 0);
}

TEST(List, NamesWhatTheEmulatorDoesNotSupport) {
  const Project p;
  const Outcome right = run_assay({"list", p.contract});
  EXPECT_EQ(right.status, 0);
  EXPECT_NE(right.out.find("every instruction of the 1 variant looked at"), std::string::npos) << right.out;
  p.folder.write(
      "scale_rows.cu",
      replaced(kScaleSource, "if (i < n)",
               "asm volatile(\"discard.global.L2 [%0], 128;\" :: \"l\"(y));\n  if (i < n)"));
  const Outcome outcome = run_assay({"list", p.contract});
  EXPECT_NE(outcome.out.find("unsupported in 1 of the 1 variant looked at: " + p.source + ":4: discard.global.L2"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("discard"), std::string::npos) << outcome.out;
  const Outcome data = run_assay({"list", p.contract, "--json"});
  const auto lacking = json::parse(data.out).at("kernels")[0].at("unsupported");
  ASSERT_EQ(lacking.size(), 1u) << data.out;
  EXPECT_EQ(lacking[0].at("file"), p.source);
  EXPECT_EQ(lacking[0].at("line"), 4);
  EXPECT_EQ(lacking[0].at("variants"), 1);
  p.folder.write("scale_rows.toml", replaced(kScaleContract, "\"f32\"", "\"bf16\""));
  const Outcome broken = run_assay({"list", p.contract});
  EXPECT_EQ(broken.status, 0);
  EXPECT_NE(broken.out.find("not looked at: T=bf16 does not compile"), std::string::npos);
}

}  // namespace
}  // namespace assay::testing
