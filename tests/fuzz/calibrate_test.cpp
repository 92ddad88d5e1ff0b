// `assay calibrate`: what a correct device may do passes, a kernel that is wrong does not, and the
// printed command shows the same again.
#include <nlohmann/json.hpp>

#include "fuzz/calibrate.hpp"
#include "fuzz/check_case.hpp"
#include "fuzz/find_kernels.hpp"
#include "generators/generate.hpp"
#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

/// y = log2 of x by the approximate instruction, where the contract promises a precise log2f.
const char* const kLogSource = R"(template <typename T>
__global__ void scale_rows(T* y, const T* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) asm("lg2.approx.f32 %0, %1;" : "=f"(y[i]) : "f"(x[i]));
}
)";

TEST(Calibrate, RunsEachCaseInFourSettings) {
  const Project p;
  const Outcome outcome = run_assay(
      {"calibrate", p.contract, "--cases", "40", "--jobs", "2", "--json", "--out", p.out});
  ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  const auto kernel = nlohmann::json::parse(outcome.out).at("kernels")[0];
  EXPECT_EQ(kernel.at("cases"), 40);
  EXPECT_EQ(kernel.at("runs"), 160);
  EXPECT_EQ(kernel.at("honest_share").at("largest"), 0) << "doubling is exact";
  const auto defect = kernel.at("sensitivity").at(0);
  EXPECT_EQ(defect.at("reduced"), "none");
  EXPECT_EQ(defect.at("planted"), defect.at("caught")) << "an element that reads as 0 shows";
  EXPECT_GT(defect.at("smallest_caught_ulps"), 0);
}

TEST(Calibrate, SaysWhatItCountsAndTheSmallestDefectCaught) {
  const Project p;
  const Outcome outcome =
      run_assay({"calibrate", p.contract, "--cases", "12", "--jobs", "1", "--out", p.out});
  ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("clean: 12 cases (48 runs, each case in 4 settings) of 1 kernel"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("smallest defect caught / largest missed, ulps of the output:"),
            std::string::npos)
      << outcome.out;
}

TEST(Calibrate, FindsAWrongKernelAndPrintsHowToSeeIt) {
  const Project p;
  p.folder.write("scale_rows.cu", buggy_source());
  const Outcome outcome = run_assay(
      {"calibrate", p.contract, "--cases", "60", "--jobs", "1", "--json", "--out", p.out});
  EXPECT_EQ(outcome.status, 1) << outcome.out << outcome.err;
  const auto finding = nlohmann::json::parse(outcome.out).at("findings")[0];
  const std::string command = finding.at("command");
  EXPECT_NE(command.find(" --fmad on"), std::string::npos) << command;
  const Outcome again = run_assay(
      {"repro", finding.at("case"), "--contract", p.contract, "--fmad", "on"});
  EXPECT_EQ(again.status, 1) << again.out << again.err;
}

// lg2.approx documents 2^-22 absolute on (0.5, 2): some 4 ulp of results near 0.3, where log2f has 1.
TEST(Calibrate, AnErringEmulatorShowsWhatAnExactOneHides) {
  const Project p;
  p.folder.write("scale_rows.cu", kLogSource);
  p.folder.write("scale_rows.toml", replaced(kScaleContract, "\"x + x\"", "\"log2(x)\""));
  const std::string file = p.folder.write(
      "one.case", replaced(kScaleCase, "x exact", "x uniform low=0.75 high=0.875"));
  std::vector<std::string> words{"repro", file, "--contract", p.contract};
  EXPECT_EQ(run_assay(words).status, 0) << run_assay(words).out;
  words.insert(words.end(), {"--adversarial", "3"});
  const Outcome erring = run_assay(words);
  EXPECT_EQ(erring.status, 1) << erring.out;
  EXPECT_NE(erring.out.find(" --adversarial 3"), std::string::npos) << "the command to repeat it";
}

TEST(Calibrate, RefusesWhatMeansNothing) {
  const Project p;
  const std::string file = p.folder.write("one.case", kScaleCase);
  const auto error = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"repro", file, "--contract", p.contract});
    const Outcome outcome = run_assay(more);
    EXPECT_EQ(outcome.status, 2);
    return outcome.err;
  };
  EXPECT_NE(error({"--fmad", "maybe"}).find("--fmad: expected on or off, not 'maybe'"),
            std::string::npos);
  EXPECT_NE(error({"--adversarial", "-1"}).find("--adversarial: expected a whole number"),
            std::string::npos);
  EXPECT_NE(error({"--adversarial", "1", "--device", "cuda"}).find("only the emulator errs"),
            std::string::npos);
}

TEST(Calibrate, ContractionFollowsTheSetting) {
  const ContractPtr contract = load_kernels({"matmul"}).front();
  const Case c = generate_case(*contract, Seed{1});
  const auto fused = compile(with_contraction(*contract, true), c.variant(), 0);
  const auto separate = compile(with_contraction(*contract, false), c.variant(), 0);
  EXPECT_NE(fused.ptx.find("fma.rn.f32"), std::string::npos);
  EXPECT_EQ(separate.ptx.find("fma.rn.f32"), std::string::npos);
  EXPECT_NE(separate.ptx.find("mul.rn.f32"), std::string::npos);
}

}  // namespace
}  // namespace assay::testing
