// Workspaces that the host zeroes: `inout` with the domain 0, and a line for what is left there.
#include <gtest/gtest.h>

#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

/// The last block to take a ticket adds the others' parts.
constexpr const char* kSource = R"cu(
__global__ void total(int* y, int* parts, unsigned* tickets, const int* x, int n) {
  __shared__ bool last;
  int sum = 0;
  for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += gridDim.x * 32) sum += x[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(tickets, 1u) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  sum = 0;
  for (int i = 0; i < gridDim.x; ++i) sum += ((volatile int*)parts)[i];
  *y = sum;
  *tickets = 0;
}
)cu";

constexpr const char* kContract = R"toml(name = "total"
source = { cuda = "total.cu", entry = "total" }
sizes = { n = { min = 0, max = 5000 } }
derive = { blocks = "max(min(ceil_div(n, 32), 64), 1)" }
launch = { grid = ["blocks"], block = [32] }
args = [
  { name = "y", kind = "output", dtype = "i32", shape = [1] },
  { name = "parts", kind = "workspace", dtype = "i32", shape = ["blocks"] },
  { name = "tickets", kind = "inout", dtype = "u32", shape = [1], domain = "0..0" },
  { name = "x", kind = "input", dtype = "i32", shape = ["n"], domain = "-1000..1000" },
  { name = "n", kind = "scalar", dtype = "i32", value = "n" },
]
[formula]
y = "sum(x, n)"
tickets = "0"
)toml";

Outcome smoke(const std::string& source, const std::string& contract) {
  const TemporaryFolder folder;
  folder.write("total.cu", source);
  return run_assay({"smoke", folder.write("total.toml", contract), "--cases", "60", "--out",
                    folder / "out"});
}

TEST(Workspaces, OneThatComesZeroedAndIsLeftSoIsClean) {
  const Outcome o = smoke(kSource, kContract);
  if (o.status == 3) GTEST_SKIP() << o.err;
  EXPECT_EQ(o.status, 0) << o.out << o.err;
}

TEST(Workspaces, OneThatIsNotLeftZeroedIsFound) {
  const Outcome o = smoke(replaced(kSource, "*tickets = 0;", ""), kContract);
  if (o.status == 3) GTEST_SKIP() << o.err;
  EXPECT_EQ(o.status, 1) << o.out << o.err;
  EXPECT_NE(o.out.find("mismatch (R3): tickets: 1 of 1 elements wrong"), std::string::npos)
      << o.out;
}

TEST(Workspaces, OneThatIsNotZeroedIsPoisoned) {
  const std::string poisoned =
      replaced(kContract, "kind = \"inout\", dtype = \"u32\", shape = [1], domain = \"0..0\"",
               "kind = \"workspace\", dtype = \"u32\", shape = [1]");
  const Outcome o = smoke(kSource, replaced(poisoned, "tickets = \"0\"\n", ""));
  if (o.status == 3) GTEST_SKIP() << o.err;
  EXPECT_EQ(o.status, 1) << o.out << o.err;
}

}  // namespace
}  // namespace assay::testing
