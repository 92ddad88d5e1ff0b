// The functions of cuda_fp16.h and cuda_bf16.h on every input: no correct kernel is called wrong,
// with the emulator as it is and with one that errs on purpose.
#include "tests/fuzz/exhaust_kernels.hpp"

namespace assay::testing {
namespace {

struct HalfFunction {
  std::string name, formula;
};

/// One kernel of one function in one type, by its scalar or its packed form.
Kernel half_kernel(const HalfFunction& f, bool bf16, bool packed) {
  const std::string type = bf16 ? "__nv_bfloat16" : "__half";
  const std::string header = bf16 ? "cuda_bf16.h" : "cuda_fp16.h";
  const std::string pair = bf16 ? "__bfloat162bfloat162" : "__half2half2";
  const std::string value =
      packed ? "h2" + f.name + "(" + pair + "(x[i])).y" : "h" + f.name + "(x[i])";
  const std::string dtype = bf16 ? "bf16" : "f16";
  const auto operand = [&](const std::string& name, const std::string& kind) {
    return "  { name = \"" + name + "\", kind = \"" + kind + "\", dtype = \"" + dtype +
           "\", shape = [\"n\"] },\n";
  };
  return Kernel("half_function",
                "#include <" + header + ">\n__global__ void half_function(" + type + "* y, const " +
                    type + "* x, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
                    "  if (i < n) y[i] = " + value + ";\n}\n",
                operand("y", "output") + operand("x", "input"), "y = \"" + f.formula + "\"");
}

void expect_clean(const HalfFunction& f, bool bf16, bool packed) {
  const Kernel kernel = half_kernel(f, bf16, packed);
  const std::string what = f.name + (bf16 ? " bf16" : " f16") + (packed ? " packed" : "");
  const Outcome outcome = kernel.exhaust();
  EXPECT_EQ(outcome.status, 0) << what << "\n" << outcome.out << outcome.err;
  const std::string all = kernel.folder.write(
      "all.case",
      "assay-case 1\nkernel half_function\nsizes n=65536\nvalues x patterns first=0\nend\n");
  for (const char* seed : {"1", "2736127"}) {
    for (const char* fmad : {"on", "off"}) {
      const Outcome erring = run_assay(
          {"repro", all, "--contract", kernel.contract, "--adversarial", seed, "--fmad", fmad});
      EXPECT_EQ(erring.status, 0) << what << " " << seed << " " << fmad << "\n"
                                  << erring.out << erring.err;
    }
  }
}

// Whose code adds a last place where ex2.approx or lg2.approx lies on the other side of a tie.
TEST(ExhaustHalves, CorrectedFunctionsOfF16) {
  expect_clean({"exp", "exp(x)"}, false, true);
  expect_clean({"exp10", "pow(10, x)"}, false, false);
  expect_clean({"log", "log(x)"}, false, true);
}

// Whose code rounds what lg2.approx or tanh.approx gives, and is documented as rounded to nearest.
TEST(ExhaustHalves, RoundedFunctions) {
  expect_clean({"log2", "log2(x)"}, false, false);
  expect_clean({"tanh", "tanh(x)"}, true, false);
}

}  // namespace
}  // namespace assay::testing
