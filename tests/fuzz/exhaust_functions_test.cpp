// Functions of the CUDA math library that no shipped kernel has, on every f16 number: the library's
// are clean, with the emulator as it is and with one that errs on purpose, and poorer ones are not.
#include "tests/fuzz/exhaust_kernels.hpp"

namespace assay::testing {
namespace {

/// y = `value`, an expression of the f32 number v, by way of f32.
Kernel function_kernel(const std::string& value, const std::string& formula) {
  return Kernel("function",
                "#include <cuda_fp16.h>\n"
                "__global__ void function(__half* y, const __half* x, int n) {\n"
                "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                "  if (i >= n) return;\n"
                "  float v = __half2float(x[i]);\n"
                "  y[i] = __float2half(" +
                    value + ");\n}\n",
                "  { name = \"y\", kind = \"output\", dtype = \"f16\", shape = [\"n\"] },\n"
                "  { name = \"x\", kind = \"input\", dtype = \"f16\", shape = [\"n\"] },\n",
                "y = \"" + formula + "\"");
}

TEST(ExhaustFunctions, TheLibrarysAreClean) {
  for (const std::string name :
       {"asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "exp10"}) {
    const Kernel kernel = function_kernel(name + "f(v)", name + "(x)");
    const Outcome outcome = kernel.exhaust();
    EXPECT_EQ(outcome.status, 0) << name << "\n" << outcome.out << outcome.err;
    const std::string all = kernel.folder.write(
        "all.case",
        "assay-case 1\nkernel function\nsizes n=65536\nvalues x patterns first=0\nend\n");
    const Outcome erring =
        run_assay({"repro", all, "--contract", kernel.contract, "--adversarial", "1"});
    EXPECT_EQ(erring.status, 0) << name << "\n" << erring.out << erring.err;
  }
}

TEST(ExhaustFunctions, PoorerFormsAreFound) {
  const std::pair<const char*, const char*> kernels[] = {
      {"0.5f * (expf(v) - expf(-v))", "sinh(x)"},      // next to 0
      {"logf(v + sqrtf(v * v + 1))", "asinh(x)"},      // below 0
      {"0.5f * logf((1 + v) / (1 - v))", "atanh(x)"},  // next to 0
      {"1.5708f - asinf(v)", "acos(x)"},               // next to 1
      {"v + v * v * v / 6", "asin(x)"},                // far from 0
      {"logf(v + sqrtf(v * v - 1))", "acosh(x)"},      // next to 1
      {"exp2f(v * 3.32f)", "exp10(x)"},                // far from 0
      {"v < -1 || v > 1 ? atanf(v) : v - v * v * v / 3", "atan(x)"},
  };
  for (const auto& [value, formula] : kernels) {
    const Outcome outcome = function_kernel(value, formula).exhaust();
    EXPECT_EQ(outcome.status, 1) << value << "\n" << outcome.out << outcome.err;
  }
}

}  // namespace
}  // namespace assay::testing
