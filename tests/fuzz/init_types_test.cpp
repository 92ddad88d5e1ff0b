// `assay init` reads a kernel's compiled signature: aliases, macros, defaults and enumerations,
// host code beside the kernel, and guesses of sizes, shapes and kinds.
#include <cstdlib>

#include "compilers/toolkit.hpp"
#include "kernels_under_test/contract_reader.hpp"
#include "oracles/verdict.hpp"
#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

struct Kernel {
  const char* name;
  const char* source;
  std::vector<std::string> says;  ///< in the contract
};

class InitReads : public ::testing::TestWithParam<Kernel> {};

TEST_P(InitReads, WhatIsCompiled) {
  const TemporaryFolder folder;
  const std::string source = folder.write("kernel.cu", GetParam().source);
  const std::string path = folder / "kernel.toml";
  const Outcome outcome = run_assay({"init", source, "--out", path});
  if (outcome.status == 3) GTEST_SKIP() << outcome.err;
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string text = read_whole(path);
  for (const std::string& line : GetParam().says)
    EXPECT_NE(text.find(line), std::string::npos) << line << "\nis not in\n" << text;
  EXPECT_NO_THROW(Judge(load_contract(path))) << text;
}

INSTANTIATE_TEST_SUITE_P(
    All, InitReads,
    ::testing::Values(
        Kernel{"aliases",
               "using index_t = long long;\ntypedef float real;\ntypedef unsigned char uchar_t;\n"
               "__global__ void k(uchar_t* y, const real* x, index_t n) { if (n) y[0] = x[0]; }",
               {"name = \"y\", kind = \"output\", dtype = \"u8\"", "dtype = \"f32\"",
                "name = \"n\", kind = \"scalar\", dtype = \"i64\""}},
        Kernel{"aliases_of_an_extern_c_kernel",
               "typedef double real;\nextern \"C\" __global__ void k(real* y, real a, int n) {"
               " y[n] = a; }",
               {"kind = \"output\", dtype = \"f64\"",
                "name = \"a\", kind = \"scalar\", dtype = \"f64\""}},
        Kernel{"an_alias_that_hides_a_usual_name",
               "namespace own { typedef double half;\n"
               "__global__ void k(half* y, int n) { y[n] = 1; } }",
               {"dtype = \"f64\""}},
        Kernel{"a_type_that_follows_the_template",
               "#include <cuda_fp16.h>\ntemplate <typename T> struct Of { using type = T; };\n"
               "template <typename T> __global__ void k(typename Of<T>::type* y, const T* x, int n)"
               " { y[n] = x[n]; }",
               {"types = { T = [\"f32\", \"f16\"] }", "kind = \"output\", dtype = \"T\""}},
        Kernel{"vectors",
               "__global__ void k(float4* f, const uchar4* c, const float3* t, int n) {"
               " f[n].x = c[n].x + t[n].y; }",
               {"[\"n_x4: 4 * n\"], align = 16",
                "dtype = \"u8\", shape = [\"n_x4: 4 * n\"], align = 4",
                "dtype = \"f32\", shape = [\"n_x3: 3 * n\"] }"}},
        Kernel{"a_default_type",
               "template <typename T, typename IdxT = int> __global__ void k(T* dst, const T* src,"
               " const IdxT* idx, int n) { dst[n] = src[idx[n]]; }",
               {"IdxT = [\"i32\"]", "name = \"idx\", kind = \"index\", dtype = \"IdxT\"",
                "domain = \"0..n - 1\"", "dst = \"src\""}},
        Kernel{"fp8_by_name",
               "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuda_fp8.h>\n"
               "template <typename scalar_t, typename fp8_type> __global__ void k(fp8_type* out,"
               " const scalar_t* in, const float* scale, long long n) {"
               " const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;"
               " if (i < n) out[i] = fp8_type(static_cast<float>(in[i]) / *scale); }",
               {"scalar_t = [\"f32\", \"f16\", \"bf16\"]", "fp8_type = [\"e4m3\", \"e5m2\"]"}},
        Kernel{"fp8_by_use",
               "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuda_fp8.h>\n"
               "template <typename scalar_t, typename cache_t> __global__ void k(cache_t* out,"
               " const scalar_t* in, const long long* slot_mapping, int n) {"
               " const int i = blockIdx.x * blockDim.x + threadIdx.x;"
               " if (i < n) out[slot_mapping[i]].__x ="
               " __nv_cvt_float_to_fp8(float(in[i]), __NV_SATFINITE, __NV_E4M3); }",
               {"scalar_t = [\"f32\", \"f16\", \"bf16\"]", "cache_t = [\"e4m3\", \"e5m2\"]"}},
        Kernel{"fp8_by_what_compiles",
               "#include <cuda_fp8.h>\ntemplate <typename Q> struct Of;\n"
               "template <> struct Of<__nv_fp8_e4m3> { static constexpr float kMost = 448; };\n"
               "template <typename T, typename Q> __global__ void k(Q* y, const T* x, int n) {"
               " y[n] = Q(fminf(x[n], Of<Q>::kMost)); }",
               {"Q = [\"e4m3\"]"}},
        Kernel{"bits_that_a_conversion_made",
               "#include <cuda_fp8.h>\ntemplate <typename T, typename B> __global__ void k(B* y,"
               " const T* x, int n) {"
               " y[n] = __nv_cvt_float_to_fp8(x[n], __NV_SATFINITE, __NV_E4M3); }",
               {"B = [\"u8\"]", "T = [\"f32\""}},
        Kernel{"indices_by_use",
               "template <typename T, typename I> __global__ void k(T* y, const T* x, const I* at,"
               " int n) { const int row = at[n]; y[n] = x[row]; }",
               {"T = [\"f32\"]", "I = [\"i32\", \"i64\"]"}},
        Kernel{"a_knob_that_counts_threads",
               "template <typename T, int B = 256, int VEC = 4> __global__ void k(T* y, int n) {"
               " const long long i = (long long)blockIdx.x * B + threadIdx.x; if (i < n) y[i] = "
               "VEC; }",
               {"knobs = { B = [256], VEC = [4] }",
                "launch = { grid = [\"ceil_div(n, B)\"], block = [\"B\"] }"}},
        Kernel{"a_knob_of_a_stride_over_threads",
               "template <int N> __global__ void k(float* y, int n) {"
               " for (int i = threadIdx.x; i < n; i += N) y[i] = 1; }",
               {"knobs = { N = [128] }", "block = [\"N\"]"}},
        Kernel{"a_knob_that_multiplies_alone",
               "template <int N> __global__ void k(float* y, int n) {"
               " y[blockIdx.x * N + n] = 1; }",
               {"knobs = { N = [1] }", "block = [128]"}},
        Kernel{"defaults_that_no_contract_chooses",
               "struct Add {};\ntemplate <typename T, typename Op = Add, typename = void>"
               " __global__ void k(T* y, int n) { y[n] = T(n); }",
               {"entry = \"k<{T}>\""}},
        Kernel{
            "an_enumeration_of_its_namespace",
            "namespace flash { enum class Mode { A, B };\ntemplate <typename T, Mode M> __global__"
            " void k(T* y, int n) { y[n] = M == Mode::A; } }",
            {"entry = \"flash::k<{T}, static_cast<flash::Mode>({M})>\"", "knobs = { M = [0] }"}},
        Kernel{"a_macro_for_global",
               "#define KERNEL template <typename T> \\\n  __global__ void\n"
               "KERNEL k(T* y, int n) { y[n] = T(n); }",
               {"kernel.cu:3.", "entry = \"k<{T}>\""}},
        Kernel{
            "rows_and_columns",
            "__global__ void k(float* y, const float* x, const float* weight, long long x_stride,"
            " int num_tokens, int hidden_size) {"
            " y[hidden_size] = x[x_stride] * weight[num_tokens]; }",
            {"sizes = { num_tokens = { min = 0, max = 100000 }, hidden_size = {",
             "launch = { grid = [\"num_tokens\"]",
             "name = \"x\", kind = \"input\", dtype = \"f32\", shape = [\"num_tokens\", "
             "\"hidden_size\"], strides = [\"any\", 1] }",
             "name = \"weight\", kind = \"input\", dtype = \"f32\", shape = [\"hidden_size\"] }",
             "value = \"stride(x, 0)\""}},
        Kernel{"columns_and_a_stride",
               "__global__ void k(float* y, const float* x, long long x_stride, int cols) {"
               " y[cols] = x[x_stride]; }",
               {"sizes = { rows = ", "shape = [\"rows\", \"cols\"], strides = [\"any\", 1]"}},
        Kernel{"read_and_written",
               "__global__ void k(float* y, float* x, int* hits, float* z, int n) {"
               " float* p = y + n; *p += x[n]; atomicAdd(hits, 1); z[n] = 1; }",
               {"name = \"y\", kind = \"inout\"", "name = \"x\", kind = \"input\"",
                "name = \"hits\", kind = \"inout\"", "name = \"z\", kind = \"output\""}}),
    [](const auto& info) { return std::string(info.param.name); });

/// Our own kernels, whose type parameters are of several kinds.
TEST(Init, TypesOfShippedKernels) {
  const std::string kernels = ASSAY_SOURCE_DIR "/kernels_under_test/kernels/";
  const std::string floating = "T = [\"f32\", \"f16\", \"bf16\"], ";
  for (const auto& [place, types] : std::vector<std::pair<std::string, std::string>>{
           {"rms_norm_fp8.cu:rms_norm_fp8", "Q = [\"e4m3\", \"e5m2\"]"},
           {"rope.cu:rope", "I = [\"i32\", \"i64\"]"},
           {"cross_entropy.cu:cross_entropy", "I = [\"i32\", \"i64\"]"}}) {
    const Outcome outcome = run_assay({"init", kernels + place});
    if (outcome.status == 3) GTEST_SKIP() << outcome.err;
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("types = { " + floating + types + " }"), std::string::npos)
        << outcome.out;
  }
}

/// Regular expressions nest as deep as a statement is long.
TEST(Init, AVeryLongStatementIsRead) {
  std::string source =
      "template <typename T, int N> __global__ void k(T* y, const T* x, int n) { y[n] = x[0";
  for (int i = 0; i < 400; ++i) source += std::string(1000, ' ') + "+ 0";
  source += "]; }";
  const TemporaryFolder folder;
  const Outcome outcome = run_assay({"init", folder.write("kernel.cu", source.c_str())});
  if (outcome.status == 3) GTEST_SKIP() << outcome.err;
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

struct Refused {
  const char* name;
  const char* source;
  const char* says;
};

class InitRefuses : public ::testing::TestWithParam<Refused> {};

TEST_P(InitRefuses, WhatNoContractDescribes) {
  const TemporaryFolder folder;
  const std::string source = folder.write("kernel.cu", GetParam().source);
  const Outcome outcome = run_assay({"init", source});
  if (outcome.status == 3) GTEST_SKIP() << outcome.err;
  EXPECT_EQ(outcome.status, 2) << outcome.out;
  EXPECT_NE(outcome.err.find(GetParam().says), std::string::npos) << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(
    All, InitRefuses,
    ::testing::Values(
        Refused{"a_struct_by_value",
                "struct P { float* y; };\n__global__ void k(P p) { *p.y = 1; }",
                "kernel.cu:2: kernel 'k' takes 'p' of type 'P', which is neither"},
        Refused{"a_vector_by_value", "__global__ void k(float* y, int3 d) { y[d.x] = 1; }",
                "takes 'd' of type 'int3' by value"},
        Refused{"pointers_to_pointers", "__global__ void k(float** y, int n) { y[n][0] = 1; }",
                "takes 'y' of type 'float**', which is neither"},
        Refused{"a_function",
                "template <float (*F)(float)> __global__ void k(float* y) { *y = F(1); }",
                "has a template parameter that a contract cannot choose"},
        Refused{"overloads",
                "__global__ void k(float* y) { *y = 1; }\n"
                "__global__ void k(int* y) { *y = 1; }",
                "kernel.cu:2: 'k' is overloaded (lines 1, 2)"},
        Refused{"a_macro_with_arguments",
                "#define MAKE(name) __global__ void name(float* y) { *y = 1; }\nMAKE(k)",
                "the macro 'MAKE' makes some"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Init, ANameMayLeaveOutOuterNamespaces) {
  const TemporaryFolder folder;
  const std::string source = folder.write(
      "kernel.cu",
      "namespace ops { namespace detail { __global__ void dyn(float* y) { *y = 1; } } }");
  for (const char* name : {"dyn", "detail::dyn", "ops::detail::dyn"}) {
    const Outcome outcome = run_assay({"init", source + ":" + name});
    if (outcome.status == 3) GTEST_SKIP() << outcome.err;
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("entry = \"ops::detail::dyn\""), std::string::npos) << outcome.out;
  }
  EXPECT_EQ(run_assay({"init", source + ":tail::dyn"}).status, 2);
}

constexpr const char* kWithLauncher = R"(#include <vector>
__global__ void k(float* y, const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
int main() { std::vector<int> v; k<<<1, 1>>>(nullptr, nullptr, 0); }
)";

TEST(Init, ASourceWithItsLauncherIsCompiledByNvcc) {
  if (find_nvcc().empty()) GTEST_SKIP() << "nvcc is not here";
  const TemporaryFolder folder;
  const std::string source = folder.write("kernel.cu", kWithLauncher);
  const std::string contract = folder / "kernel.toml";
  const Outcome init = run_assay({"init", source + ":k", "--out", contract});
  ASSERT_EQ(init.status, 0) << init.err;
  const std::string text = read_whole(contract);
  EXPECT_NE(text.find("# nvcc: the source holds code of the host"), std::string::npos) << text;
  EXPECT_NE(text.find("entry = \"k\", compiler = \"nvcc\" }"), std::string::npos) << text;

  // Left to NVRTC, its remark names the cure and not NVRTC's own advice.
  std::istringstream lines(replaced(text, ", compiler = \"nvcc\"", ""));
  std::string kept;
  for (std::string line; std::getline(lines, line);)
    if (line.find("# ? ") == std::string::npos) kept += line + "\n";
  folder.write("kernel.toml", kept);
  const Outcome check = run_assay({"check", contract});
  EXPECT_EQ(check.status, 1);
  EXPECT_NE(
      check.out.find("write compiler = \"nvcc\" in 'source', or move the kernels into a .cuh"),
      std::string::npos)
      << check.out;
}

TEST(Init, WithoutNvccHostCodeIsOneSentence) {
  const TemporaryFolder folder;
  const std::string source = folder.write(
      "kernel.cu",
      "__global__ void k(float* y) { *y = 1; }\nvoid launch(float* y) { k<<<1, 1>>>(y); }\n");
  const char* before = std::getenv("ASSAY_NVCC");
  const std::string saved = before != nullptr ? before : "";
  setenv("ASSAY_NVCC", "none", 1);
  const Outcome outcome = run_assay({"init", source});
  if (before != nullptr) {
    setenv("ASSAY_NVCC", saved.c_str(), 1);
  } else {
    unsetenv("ASSAY_NVCC");
  }
  if (outcome.status == 3) GTEST_SKIP() << outcome.err;
  EXPECT_EQ(
      outcome.err,
      "assay: " + source +
          ":2: error: this function is host code, which NVRTC does not compile: move the "
          "kernels into a .cuh of their own, or install a CUDA toolkit (nvcc is not here) and "
          "write compiler = \"nvcc\" in 'source'\n");
}

}  // namespace
}  // namespace assay::testing
