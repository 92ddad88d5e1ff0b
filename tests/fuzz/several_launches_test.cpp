// A contract with several launches of one source: they run in order and share its __device__
// variables, as they do in the user's own program.
#include <gtest/gtest.h>

#include "tests/fuzz/run_assay.hpp"

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
