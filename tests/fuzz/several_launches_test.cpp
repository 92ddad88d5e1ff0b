// A contract with several launches of one source: they run in order and share its __device__
// variables, as they do in the user's own program.
#include <gtest/gtest.h>

#include "tests/fuzz/run_assay.hpp"
#include "tests/fuzz/starting_findings.hpp"

namespace assay::testing {
namespace {

constexpr const char* kSource = R"toml(
__device__ float staged[8192];
__device__ int seen;
template <class T> __global__ void first(T* y, const T* x, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) staged[i] = x[i];
  if (i == 0) seen = 1;
}
template <class T> __global__ void second(T* y, const T* x, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = seen == 1 ? staged[i] : 77.f;
}
)toml";

std::string contract(const std::string& compiler) {
  return "name = \"two\"\n"
         "source = { cuda = \"two.cu\", entry = \"first<{T}>\", compiler = \"" +
         compiler + "\" }\n" + R"toml(
types = { T = ["f32"] }
sizes = { n = { min = 0, max = 5000 } }
args = [
  { name = "y", kind = "output", dtype = "T", shape = ["n"] },
  { name = "x", kind = "input", dtype = "T", shape = ["n"] },
  { name = "n", kind = "scalar", dtype = "i32", value = "n" },
]
[[launch]]
grid = ["ceil_div(n, 64)"]
block = [64]
[[launch]]
entry = "second<{T}>"
grid = ["ceil_div(n, 64)"]
block = [64]
[formula]
y = "x"
[policy]
nan = "propagate"
)toml";
}

void expect_clean(const std::string& compiler) {
  TemporaryFolder folder;
  folder.write("two.cu", kSource);
  const std::string path = folder.write("two.toml", contract(compiler));
  const Outcome outcome = run_assay({"smoke", path, "--cases", "60", "--out", folder / "out"});
  if (outcome.status == 3) GTEST_SKIP() << outcome.err;
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
}

TEST(SeveralLaunches, ShareTheSourcesVariables) { expect_clean("nvrtc"); }
TEST(SeveralLaunches, ShareTheSourcesVariablesUnderNvcc) { expect_clean("nvcc"); }

TEST(SeveralLaunches, OwnershipThatDoesNothingIsTold) {
  TemporaryFolder folder;
  folder.write("two.cu", kSource);
  const std::string owning = replaced(contract("nvrtc"), "[formula]",
                                      "[owns]\ny = \"n / 64 == block.x\"\n[formula]");
  const std::string path = folder.write("two.toml", owning);
  const std::string told = "two.toml:19:1: `owns` does nothing: every case has several launches";
  const Outcome smoke = run_assay({"smoke", path, "--cases", "20", "--out", folder / "out"});
  if (smoke.status == 3) GTEST_SKIP() << smoke.err;
  EXPECT_EQ(smoke.status, 0) << smoke.out;
  EXPECT_NE(smoke.out.find(told), std::string::npos) << smoke.out;
  EXPECT_NE(run_assay({"list", path}).out.find(told), std::string::npos);
  const Outcome check = run_assay({"check", path});
  EXPECT_NE(check.out.find("two.toml:19:1: unused: `owns` does nothing"), std::string::npos)
      << check.out;
  const std::string plain = folder.write("plain.toml", contract("nvrtc"));
  EXPECT_EQ(run_assay({"check", plain}).out.find("`owns`"), std::string::npos);
}

// One launch or the other: a few blocks of each run, and reach far offsets.
constexpr const char* kEither = R"cu(
template <class T> __global__ void narrow(T* y, const T* x, int cols) {
  const OFFSET i = (OFFSET)blockIdx.x * cols + threadIdx.x;
  if (threadIdx.x < cols) y[i] = x[i];
}
template <class T> __global__ void wide(T* y, const T* x, int cols) {
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    y[(OFFSET)blockIdx.x * cols + c] = x[(OFFSET)blockIdx.x * cols + c];
}
)cu";

std::vector<Finding> either_findings(const std::string& offset) {
  const TemporaryFolder folder;
  std::string source = kEither;
  for (int i = 0; i < 4; ++i) source = replaced(source, "OFFSET", offset);
  folder.write("either.cu", source);
  return starting_findings(folder.write("either.toml", R"toml(
name = "either"
source = { cuda = "either.cu", entry = "narrow<{T}>" }
types = { T = ["f32"] }
sizes = { rows = { min = 0, max = 1000000 }, cols = { min = 1, max = 65536 } }
owns = { y = "rows == block.x" }
args = [
  { name = "y", kind = "output", dtype = "T", shape = ["rows", "cols"] },
  { name = "x", kind = "input", dtype = "T", shape = ["rows", "cols"] },
  { name = "cols", kind = "scalar", dtype = "i32", value = "cols" },
]
[[launch]]
when = "cols <= 64"
grid = ["rows"]
block = [64]
[[launch]]
when = "cols > 64"
entry = "wide<{T}>"
grid = ["rows"]
block = [128]
[formula]
y = "x"
[policy]
nan = "propagate"
)toml"));
}

TEST(SeveralLaunches, OfWhichOneRunsReachFarOffsets) {
  const std::vector<Finding> found = either_findings("int");
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().kind, "wrap") << found.front().message;
  for (const Finding& finding : either_findings("long long")) ADD_FAILURE() << finding.message;
}

TEST(SeveralLaunches, AnEndlessLoopEndsInAMoment) {
  TemporaryFolder folder;
  folder.write("endless.cu",
               "__global__ void endless(float* y, const float* x, int n) {\n"
               "  for (int i = 0; i != n; i += 2) y[0] = x[0] + i;\n}\n");
  const std::string path = folder.write("endless.toml", R"toml(
name = "endless"
source = { cuda = "endless.cu", entry = "endless" }
launch = { grid = [1], block = [32] }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = [1] },
  { name = "x", kind = "input", dtype = "f32", shape = [1] },
  { name = "n", kind = "scalar", dtype = "i32", value = 1 },
]
[formula]
y = "x"
)toml");
  const Outcome outcome = run_assay({"smoke", path, "--cases", "1", "--out", folder / "out"});
  if (outcome.status == 3) GTEST_SKIP() << outcome.err;
  EXPECT_EQ(outcome.status, 1) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("hang"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace assay::testing
