// Kernels of the tests of `assay exhaust`, each with its contract in a folder of its own.
#pragma once

#include <nlohmann/json.hpp>

#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {

using nlohmann::json;

inline constexpr const char* kF16 = R"(#include <cuda_fp16.h>
__global__ void twice(__half* y, const __half* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned short bits = __half_as_ushort(x[i]);
  float v = __half2float(x[i]);
  y[i] = __float2half(v + v);
}
)";

inline constexpr const char* kPairs = R"(
__global__ void product(int* z, const signed char* x, const signed char* w, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] * w[i];
}
)";

/// A kernel and its contract in a folder of their own. `args` without the sizes' scalar.
struct Kernel {
  TemporaryFolder folder;
  std::string contract;
  std::string out = folder / "out";

  Kernel(const std::string& name, const std::string& source, const std::string& args,
         const std::string& formula, const std::string& most = "70000") {
    folder.write(name + ".cu", source);
    contract =
        folder.write(name + ".toml",
                     "name = \"" + name + "\"\nsource = { cuda = \"" + name + ".cu\", entry = \"" +
                         name + "\" }\nsizes = { n = { min = 0, max = " + most +
                         " } }\nlaunch = { grid = [\"ceil_div(n, 128)\"], block = [128] }"
                         "\nargs = [\n" +
                         args +
                         "  { name = \"n\", kind = \"scalar\", dtype = \"i32\", value = \"n\" },"
                         "\n]\n[formula]\n" +
                         formula + "\n[policy]\nnan = \"propagate\"\nrange = \"naive\"\n");
  }
  Outcome exhaust(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"exhaust", contract, "--out", out, "--jobs", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_assay(arguments);
  }
  /// Changes the contract.
  void change(const std::string& from, const std::string& to) const {
    const std::string changed = replaced(read_whole(contract), from, to);
    std::ofstream(contract) << changed;
  }
  json report(std::vector<std::string> more = {}) const {
    more.push_back("--json");
    return json::parse(exhaust(more).out);
  }
  /// Of the first variant.
  json result() const { return report().at("kernels")[0].at("results")[0]; }
  /// What it showed of its first output.
  json stats() const { return result().at("outputs")[0]; }
  std::string journal(const std::string& name) const { return out + "/" + name + "/journal.jsonl"; }
};

inline Kernel twice(const std::string& from = "", const std::string& to = "",
                    const std::string& domain = "") {
  const std::string source = from.empty() ? kF16 : replaced(kF16, from, to);
  return Kernel("twice", source,
                "  { name = \"y\", kind = \"output\", dtype = \"f16\", shape = [\"n\"] },\n"
                "  { name = \"x\", kind = \"input\", dtype = \"f16\", shape = [\"n\"]" +
                    domain + " },\n",
                "y = \"x + x\"");
}

inline Kernel product(const std::string& from = "", const std::string& to = "",
                      const std::string& most = "70000") {
  const std::string source = from.empty() ? kPairs : replaced(kPairs, from, to);
  return Kernel("product", source,
                "  { name = \"z\", kind = \"output\", dtype = \"i32\", shape = [\"n\"] },\n"
                "  { name = \"x\", kind = \"input\", dtype = \"i8\", shape = [\"n\"] },\n"
                "  { name = \"w\", kind = \"input\", dtype = \"i8\", shape = [\"n\"] },\n",
                "z = \"x * w\"", most);
}

}  // namespace assay::testing
