// What `assay init` writes loads, whatever the kernel: of our own kernels, of the planted ones, and of
// shapes of signatures that a formula or a launch may go wrong with.
#include "kernels_under_test/contract_reader.hpp"
#include "compilers/signature.hpp"
#include "fuzz/findings.hpp"
#include "oracles/verdict.hpp"
#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

struct Started {
  Outcome outcome;
  std::string text;
};

Started start(const std::string& source, const TemporaryFolder& folder) {
  const std::string path = folder / "started.toml";
  fs::remove(path);
  Started started{run_assay({"init", source, "--out", path}), ""};
  if (started.outcome.status != 0) return started;
  started.text = read_whole(path);
  EXPECT_NO_THROW(Judge(load_contract(path))) << source << "\n" << started.text;
  return started;
}

std::vector<std::string> sources_under(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry :
       fs::recursive_directory_iterator(std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/" + folder))
    if (entry.path().extension() == ".cu") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// Every `stride`-th source of one kernel: starts that are written load, others are refused for
/// what a contract cannot describe.
void all_load(const std::string& folder, size_t stride) {
  const TemporaryFolder out;
  const std::vector<std::string> files = sources_under(folder);
  int64_t written = 0, looked_at = 0;
  for (size_t i = 0; i < files.size(); i += stride) {
    if (kernel_signatures(read_text(files[i])).size() != 1) continue;
    ++looked_at;
    const Started started = start(files[i], out);
    if (started.outcome.status == 3) GTEST_SKIP() << started.outcome.err;
    written += started.outcome.status == 0;
    if (started.outcome.status == 0) continue;
    EXPECT_EQ(started.outcome.status, 2) << files[i];
    EXPECT_TRUE(started.outcome.err.starts_with("assay: " + files[i]) ||
                started.outcome.err.starts_with("assay: no usual choice of types and knobs compiles"))
        << started.outcome.err;
  }
  EXPECT_GE(looked_at, 8);
  EXPECT_GE(2 * written, looked_at) << "most of " << folder << " are refused";
}

TEST(InitLoads, OfOurKernels) { all_load("kernels", 1); }
TEST(InitLoads, OfPlantedOnes) { all_load("planted", 12); }

struct Shape {
  const char* name;
  const char* source;
  const char* says;  ///< in the contract
};

class InitLoadsShape : public ::testing::TestWithParam<Shape> {};

TEST_P(InitLoadsShape, AndSaysWhatTheKernelAsks) {
  const TemporaryFolder folder;
  const std::string source = folder.write("shape.cu", GetParam().source);
  const Started started = start(source, folder);
  if (started.outcome.status == 3) GTEST_SKIP() << started.outcome.err;
  ASSERT_EQ(started.outcome.status, 0) << started.outcome.err;
  EXPECT_NE(started.text.find(GetParam().says), std::string::npos) << started.text;
}

INSTANTIATE_TEST_SUITE_P(
    All, InitLoadsShape,
    ::testing::Values(
        Shape{"an_int_of_floats",
              "__global__ void k(int* c, const float* x, int n) { c[0] = x[0] > n; }",
              "c = \"0\"\n"},
        Shape{"an_int_of_ints", "__global__ void k(int* c, const int* i, const float* x, int n) {"
                                " c[0] = i[0] + int(x[n]); }",
              "c = \"i\"\n"},
        Shape{"a_float_of_ints",
              "__global__ void k(float* y, const int* i, const float* x, int n) {"
              " y[0] = x[n] + i[0]; }",
              "y = \"i + x\"\n"},
        Shape{"bytes_and_bools",
              "__global__ void k(bool* b, unsigned char* u, const void* p, int n) {"
              " b[n] = u[n] > 1; u[n] = 0; }",
              "b = \""},
        Shape{"bounds_of_a_knob",
              "template <typename T, int WARPS> __global__ void __launch_bounds__(WARPS * 32)\n"
              "k(T* y, const T* x, int n) { y[n] = x[n]; }",
              "launch = { grid = [\"ceil_div(n, WARPS * 32)\"], block = [\"WARPS * 32\"] }"},
        Shape{"bounds_of_a_macro",
              "#define THREADS 192\n__global__ void __launch_bounds__(THREADS, 2)\n"
              "k(float* y, const float* x, int n) { y[n] = x[n]; }",
              "launch = { grid = [\"ceil_div(n, 192)\"], block = [192] }"},
        Shape{"a_knob_within_its_bounds",
              "template <int BLOCK> __global__ void __launch_bounds__(1024)\n"
              "k(float* y, const float* x, int n) { y[n] = x[n] + BLOCK; }",
              "block = [\"BLOCK\"]"},
        Shape{"no_bounds", "__global__ void k(float* y, const float* x, int n) { y[n] = x[n]; }",
              "block = [128]"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace assay::testing
