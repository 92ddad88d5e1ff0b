// compile() end to end: variants, entries, errors as written, missing compilers.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <thread>

#include "compilers/prelude.hpp"
#include "compilers/request.hpp"
#include "tests/compilers/sources.hpp"

namespace assay {
namespace {

using test::contract_for;
using test::Environment;
using test::Folder;
using test::variant;

constexpr const char* kTemplate = R"(#include <cuda_bf16.h>
#include <cuda_fp16.h>
template <typename T, int BLOCK, bool fast>
__global__ void fill(T* y, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) y[i] = T(fast ? 1.0f : 2.0f);
}
template <typename T>
__global__ void other(T* y) { y[0] = T(0); }
)";

template <typename Function>
std::string message_of(Function function) {
  try {
    function();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Compile, PutsTypesKnobsAndFlagsIntoTheEntry) {
  ASSAY_NEEDS(CudaCompiler::nvrtc);
  Folder folder;
  folder.write("k.cu", kTemplate);
  const Contract contract = contract_for(folder, "k.cu", "fill<{T}, {BLOCK}, {fast}>");
  const struct {
    Variant variant;
    const char* display;
    const char* mangled_part;
  } rows[] = {
      {variant(DType::f32, 32, true), "fill<float, 32, true>", "4fillIfLi32ELb1E"},
      {variant(DType::f16, 64, false), "fill<__half, 64, false>", "4fillI6__halfLi64ELb0E"},
      {variant(DType::bf16, 32, true), "fill<__nv_bfloat16, 32, true>",
       "4fillI13__nv_bfloat16Li32ELb1E"},
      {variant(DType::i64, 32, true), "fill<long long, 32, true>", "4fillIxLi32ELb1E"},
  };
  std::string previous;
  for (const auto& row : rows) {
    const Program program = compile(contract, row.variant, 0);
    EXPECT_EQ(program.display, row.display);
    EXPECT_TRUE(contains(program.entry, row.mangled_part)) << program.entry;
    EXPECT_TRUE(contains(program.ptx, ".entry " + program.entry + "("));
    EXPECT_TRUE(contains(program.ptx, ".target sm_80"));
    EXPECT_TRUE(contains(program.ptx, ".loc")) << "no line table";
    EXPECT_TRUE(contains(program.ptx, "k.cu\"")) << "the source is not in the line table";
    EXPECT_EQ(program.compiler, compiler_version(CudaCompiler::nvrtc) + " sm_80");
    EXPECT_NE(program.key, previous);
    previous = program.key;
  }
}

/// The flags that docs/contract.md allows, each with one dash and, where it needs one, a value.
std::vector<std::string> documented_flags() {
  std::ifstream in(std::string(ASSAY_SOURCE_DIR) + "/docs/contract.md");
  std::string line;
  while (std::getline(in, line) && !line.starts_with("Allowed flags:")) {
  }
  const std::map<std::string, std::string> values{
      {"-std=", "c++17"}, {"-maxrregcount=", "64"}, {"-dopt=", "on"}};
  std::vector<std::string> flags;
  for (size_t at = line.find('`'); at != std::string::npos; at = line.find('`', at + 1)) {
    const size_t end = line.find('`', at + 1);
    std::string flag = line.substr(at + 1, end - at - 1);
    if (flag == "-O3") flags.insert(flags.end(), {"-O1", "-O2"});  // "`-O0` to `-O3`"
    if (flag.ends_with("=")) flag += values.contains(flag) ? values.at(flag) : "true";
    flags.push_back(std::move(flag));
    at = end;
  }
  return flags;
}

TEST(Compile, EveryAllowedFlagWorksWithEitherCompilerAndWithOneOrTwoDashes) {
  const std::vector<std::string> flags = documented_flags();
  ASSERT_GE(flags.size(), 21u) << "docs/contract.md";
  Folder folder;
  folder.write("k.cu", "extern \"C\" __global__ void k(float* y) { y[0] = 1.0f; }\n");
  const auto check = [&](CudaCompiler compiler, const std::vector<std::string>& given) {
    Contract contract = contract_for(folder, "k.cu", "k");
    contract.source.compiler = compiler;
    contract.source.flags = given;
    EXPECT_NO_THROW(compile(contract, variant(DType::f32, 32, false), 0))
        << ::testing::PrintToString(given);
  };
  std::vector<std::string> together;  // nvcc takes a second: what may stand together does
  for (const std::string& flag : flags) {
    // Both spellings reach a compiler alike; where one is not told, it compiles so anyway.
    for (const CudaCompiler compiler : {CudaCompiler::nvrtc, CudaCompiler::nvcc})
      EXPECT_EQ(flags_for(compiler, {flag}), flags_for(compiler, {"-" + flag})) << flag;
    if (test::why_no(CudaCompiler::nvrtc).empty()) check(CudaCompiler::nvrtc, {flag});
    if (!test::why_no(CudaCompiler::nvcc).empty()) continue;
    const bool alone = flag.size() <= 3 || flag == "-device-debug";
    if (alone) check(CudaCompiler::nvcc, {flag});
    if (!alone) together.push_back(flag);
  }
  if (test::why_no(CudaCompiler::nvcc).empty()) check(CudaCompiler::nvcc, together);
}

TEST(Compile, NamesThatNoEntryMentionsAreMacros) {
  ASSAY_NEEDS(CudaCompiler::nvrtc);
  Folder folder;
  folder.write("k.cu", R"(
template <typename T> __global__ void k(T* y, int n) {
  static_assert(BLOCK == 64 && fast == 0 && EXTRA == 7, "macros");
  y[0] = T(BLOCK);
}
)");
  const Contract contract = contract_for(folder, "k.cu", "k<{T}>", ", defines = { EXTRA = 7 }");
  EXPECT_NO_THROW(compile(contract, variant(DType::f32, 64, false), 0));
  EXPECT_THROW(compile(contract, variant(DType::f32, 32, false), 0), InputError);
}

TEST(Compile, TypeSpellingsCanBeChosen) {
  ASSAY_NEEDS(CudaCompiler::nvrtc);
  Folder folder;
  folder.write("k.cu", R"(
struct mine { unsigned short bits; };
template <typename T> __global__ void k(T* y, int n) { y[0] = T{1}; }
)");
  const Contract contract = contract_for(folder, "k.cu", "k<{T}>", ", cxx = { bf16 = \"mine\" }");
  EXPECT_EQ(compile(contract, variant(DType::bf16, 32, false), 0).display, "k<mine>");
}

TEST(Compile, ErrorsAreShownAsWrittenAtTheirLine) {
  ASSAY_NEEDS(CudaCompiler::nvrtc);
  Folder folder;
  const std::string source = folder.write(
      "k.cu", "__global__ void k(float* y, int n) {\n  y[0] = wrong;\n  y[1] = bad;\n}\n");
  const Contract contract = contract_for(folder, "k.cu", "k");
  try {
    compile(contract, variant(DType::f32, 32, false), 0);
    FAIL() << "compiled";
  } catch (const InputError& error) {
    EXPECT_EQ(error.where().file, source);
    EXPECT_EQ(error.where().line, 2);
    const std::string text = error.what();
    EXPECT_TRUE(text.starts_with(source + ":2: error: identifier \"wrong\" is undefined")) << text;
    EXPECT_TRUE(contains(text, "identifier \"bad\" is undefined")) << text;
  }
}

TEST(Compile, AnErrorInAHeaderPointsThere) {
  ASSAY_NEEDS(CudaCompiler::nvrtc);
  Folder folder;
  folder.write("k.cu",
               "#include \"sub/h.cuh\"\n__global__ void k(float* y, int n) { y[0] = 0; }\n");
  folder.write("sub/h.cuh", "\n\nint oops = ;\n");
  const Contract contract = contract_for(folder, "k.cu", "k");
  try {
    compile(contract, variant(DType::f32, 32, false), 0);
    FAIL() << "compiled";
  } catch (const InputError& error) {
    EXPECT_TRUE(error.where().file.ends_with("sub/h.cuh")) << error.what();
    EXPECT_EQ(error.where().line, 3);
  }
}

TEST(Compile, AnUnknownEntryNamesThoseThatAreThere) {
  Folder folder;
  folder.write("k.cu", kTemplate);
  for (const CudaCompiler compiler : {CudaCompiler::nvrtc, CudaCompiler::nvcc}) {
    if (!test::why_no(compiler).empty()) continue;
    Contract contract = contract_for(folder, "k.cu", "fil<{T}, {BLOCK}, {fast}>");
    contract.source.compiler = compiler;
    const std::string text =
        message_of([&] { compile(contract, variant(DType::f32, 32, false), 0); });
    EXPECT_TRUE(contains(text, "k.toml:2:")) << text;
    EXPECT_TRUE(contains(text, "entry 'fil<float, 32, false>' is not in k.cu")) << text;
    EXPECT_TRUE(contains(text, "did you mean 'fill'?")) << text;
    EXPECT_TRUE(contains(text, "fill, other")) << text;
  }
  if (!test::why_no(CudaCompiler::nvrtc).empty() && !test::why_no(CudaCompiler::nvcc).empty()) {
    GTEST_SKIP() << "neither NVRTC nor nvcc is here";
  }
}

TEST(Compile, AnEntryWithWrongArgumentsKeepsTheCompilersWords) {
  ASSAY_NEEDS(CudaCompiler::nvrtc);
  Folder folder;
  folder.write("k.cu", "template <int N, typename T> __global__ void fill(T* y) { y[0] = N; }\n");
  const Contract contract = contract_for(folder, "k.cu", "fill<{T}, {BLOCK}>");
  const std::string text =
      message_of([&] { compile(contract, variant(DType::f32, 32, false), 0); });
  EXPECT_TRUE(contains(text, "entry 'fill<float, 32>' does not fit k.cu: error:")) << text;
}

TEST(Compile, NvccFindsAPlainKernelInANamespace) {
  ASSAY_NEEDS(CudaCompiler::nvcc);
  Folder folder;
  folder.write("k.cu",
               "namespace my { namespace own {\n__global__ void k(float* y, int n) { y[0] = n; }\n"
               "__global__ void k2(float* y) { y[0] = 2; }\n} }\n");
  const Contract contract = contract_for(folder, "k.cu", "my::own::k", ", compiler = \"nvcc\"");
  EXPECT_EQ(compile(contract, variant(DType::f32, 32, false), 0).entry, "_ZN2my3own1kEPfi");
}

TEST(Compile, AMissingHostHeaderNamesNvccAndTheErrorStandsOnce) {
  ASSAY_NEEDS(CudaCompiler::nvrtc);
  Folder folder;
  folder.write(
      "k.cu", "#include <no_such_host_header>\n__global__ void k(float* y, int n) { y[0] = n; }\n");
  const Contract contract = contract_for(folder, "k.cu", "k");
  const std::string text =
      message_of([&] { compile(contract, variant(DType::f32, 32, false), 0); });
  EXPECT_TRUE(contains(text, "compiler = \"nvcc\"")) << text;
  const size_t first = text.find("cannot open source file");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("cannot open source file", first + 1), std::string::npos) << text;
}

TEST(Compile, WhatBreaksAHeaderOfTheCompilerIsNamedFirst) {
  ASSAY_NEEDS(CudaCompiler::nvrtc);
  Folder folder;
  folder.write("k.cu",
               "#define UNUSED 4\n#define __device__ foo\n#include <cuda_bf16.h>\n"
               "__global__ void k(float* y, int n) { y[0] = n; }\n");
  const std::string source = message_of(
      [&] { compile(contract_for(folder, "k.cu", "k"), variant(DType::f32, 32, false), 0); });
  EXPECT_TRUE(contains(source, "k.cu:2: the macro '__device__' breaks a header of the compiler: "))
      << source;
  EXPECT_TRUE(contains(source, ".h(")) << source;
  EXPECT_FALSE(contains(source, "\n")) << source;

  folder.write("d.cu", "#include <cuda_bf16.h>\n__global__ void k(float* y, int n) { y[0] = n; }\n");
  const Contract contract = contract_for(folder, "d.cu", "k", ", defines = { __nv_bfloat16 = 4 }");
  const std::string defined =
      message_of([&] { compile(contract, variant(DType::f32, 32, false), 0); });
  EXPECT_TRUE(contains(defined, "k.toml:2:")) << defined;
  EXPECT_TRUE(contains(defined, "the macro '__nv_bfloat16' breaks a header of the compiler: "))
      << defined;

  const Contract old = contract_for(folder, "d.cu", "k", ", flags = [\"-std=c++03\"]");
  const std::string flagged = message_of([&] { compile(old, variant(DType::f32, 32, false), 0); });
  EXPECT_TRUE(contains(flagged, "k.toml:2:")) << flagged;
  EXPECT_TRUE(contains(flagged, "-std=c++03")) << flagged;
}

TEST(Compile, HostCodeNamesNvccAndNotNvrtcsAdvice) {
  ASSAY_NEEDS(CudaCompiler::nvrtc);
  Folder folder;
  folder.write("k.cu", "__global__ void k(float* y, int n) { y[0] = n; }\n"
                       "const char* version = \"1\";\n");
  const Contract contract = contract_for(folder, "k.cu", "k");
  const std::string text =
      message_of([&] { compile(contract, variant(DType::f32, 32, false), 0); });
  EXPECT_TRUE(contains(text, "k.cu:2: error: this variable is host code")) << text;
  EXPECT_TRUE(contains(text, "compiler = \"nvcc\"")) << text;
  EXPECT_FALSE(contains(text, "-default-device")) << text;
}

TEST(Compile, ATargetThatTheCompilerLacksIsAnErrorInTheContract) {
  Folder folder;
  folder.write("k.cu", "__global__ void k(float* y, int n) { y[0] = 1; }\n");
  Contract contract = contract_for(folder, "k.cu", "k", ", target = \"sm_10\"");
  int tried = 0;
  for (const CudaCompiler compiler : {CudaCompiler::nvrtc, CudaCompiler::nvcc}) {
    if (!test::why_no(compiler).empty()) continue;
    ++tried;
    contract.source.compiler = compiler;
    const std::string text =
        message_of([&] { compile(contract, variant(DType::f32, 32, false), 0); });
    EXPECT_TRUE(contains(text, "k.toml:2:")) << text;
    EXPECT_TRUE(contains(text, "architecture")) << text;
  }
  if (tried == 0) GTEST_SKIP() << "neither NVRTC nor nvcc is here";
}

TEST(Compile, HiddenNvrtcIsAMissingDependencyThatSaysWhatToInstall) {
  Folder folder;
  folder.write("k.cu", kTemplate);
  const Contract contract = contract_for(folder, "k.cu", "other<{T}>");
  const Environment hidden("ASSAY_NVRTC", "none");
  EXPECT_THROW(compile(contract, variant(DType::f32, 32, false), 0), MissingDependency);
  EXPECT_THROW(compiler_version(CudaCompiler::nvrtc), MissingDependency);
  const std::string text =
      message_of([&] { compile(contract, variant(DType::f32, 32, false), 0); });
  EXPECT_TRUE(contains(text, "pip install nvidia-cuda-nvrtc")) << text;
}

TEST(Compile, AFileThatIsNotNvrtcIsAMissingDependency) {
  Folder folder;
  const Environment wrong("ASSAY_NVRTC", folder.write("libnvrtc.so", "no library"));
  EXPECT_THROW(compiler_version(CudaCompiler::nvrtc), MissingDependency);
}

TEST(Compile, HiddenNvccIsAMissingDependency) {
  const Environment hidden("ASSAY_NVCC", "none");
  EXPECT_THROW(compiler_version(CudaCompiler::nvcc), MissingDependency);
}

TEST(Compile, NvccGivesTheSameEntryAsNvrtc) {
  ASSAY_NEEDS(CudaCompiler::nvrtc);
  ASSAY_NEEDS(CudaCompiler::nvcc);
  Folder folder;
  folder.write("k.cu",
               "#include <cuda_fp16.h>\n"
               "template <typename T, int N, bool B> __global__ void fill(T* y, int n) { if (B) "
               "y[n] = T(N); }\n"
               "__global__ void plain(float* y) { y[0] = 1; }\n"
               "extern \"C\" __global__ void c_name(float* y) { y[0] = 2; }\n"
               "namespace a { template <int N> __global__ void in(float* y) { y[0] = N; } }\n");
  for (const char* entry : {"fill<{T}, {BLOCK}, {fast}>", "plain", "c_name", "a::in<3>"}) {
    Contract contract = contract_for(folder, "k.cu", entry);
    const Program by_nvrtc = compile(contract, variant(DType::f16, 64, true), 0);
    contract.source.compiler = CudaCompiler::nvcc;
    const Program by_nvcc = compile(contract, variant(DType::f16, 64, true), 0);
    EXPECT_EQ(by_nvcc.entry, by_nvrtc.entry);
    EXPECT_NE(by_nvcc.key, by_nvrtc.key);
    EXPECT_TRUE(by_nvcc.compiler.starts_with("nvcc ")) << by_nvcc.compiler;
    EXPECT_TRUE(contains(by_nvcc.ptx, ".entry " + by_nvcc.entry + "("));
    EXPECT_TRUE(contains(by_nvcc.ptx, "k.cu\"")) << "the source is not in the line table";
  }
}

TEST(Compile, NvccShowsErrorsAtTheirLine) {
  ASSAY_NEEDS(CudaCompiler::nvcc);
  Folder folder;
  const std::string source = folder.write(
      "k.cu", "#include <vector>\n__global__ void k(float* y, int n) {\n  y[0] = wrong;\n}\n");
  const Contract contract = contract_for(folder, "k.cu", "k", ", compiler = \"nvcc\"");
  try {
    compile(contract, variant(DType::f32, 32, false), 0);
    FAIL() << "compiled";
  } catch (const InputError& error) {
    EXPECT_EQ(error.where().file, source);
    EXPECT_EQ(error.where().line, 3);
  }
}

TEST(Compile, PrebuiltPtxIsTakenAsItIs) {
  Folder folder;
  const std::string ptx =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k1(\n)\n{\nret;\n}\n"
      ".visible .entry k2()\n{\nret;\n}\n";
  folder.write("k.ptx", ptx);
  Contract contract = contract_for(folder, "k.ptx", "k1");
  contract.source.language = Language::ptx;
  const Program program = compile(contract, variant(DType::f32, 32, false), 0);
  EXPECT_EQ(program.ptx, ptx);
  EXPECT_EQ(program.entry, "k1");
  EXPECT_EQ(program.compiler, "prebuilt sm_80");
  contract.source.entry = "k3";
  const std::string text =
      message_of([&] { compile(contract, variant(DType::f32, 32, false), 0); });
  EXPECT_TRUE(contains(text, "entry 'k3' is not in k.ptx; its entries: k1, k2")) << text;
}

TEST(Compile, HostHeadersAreSupplied) {
  ASSAY_NEEDS(CudaCompiler::nvrtc);
  Folder folder;
  std::string source;
  for (const PreludeHeader& header : prelude_headers()) {
    source += "#include <" + std::string(header.name) + ">\n";
  }
  // INFINITY and friends must be constants, as they are in nvcc.
  folder.write("k.cu", source + R"(
constexpr float low = -INFINITY;
constexpr float none = NAN;
static_assert(low < 0 && none != none, "");
static_assert(sizeof(int8_t) == 1 && sizeof(uint16_t) == 2 && sizeof(std::int32_t) == 4, "");
static_assert(sizeof(int64_t) == 8 && sizeof(uintptr_t) == sizeof(void*) && sizeof(size_t) == 8, "");
static_assert(INT_MIN < 0 && INT_MAX == 2147483647 && UINT64_MAX == ~uint64_t{0}, "");
static_assert(INT64_MIN == -INT64_MAX - 1 && INT8_MIN == -128 && LLONG_MAX > 0, "");
static_assert(FLT_MAX > 3.4e38f && FLT_EPSILON == 0x1p-23f && FLT_MIN == 0x1p-126f, "");
static_assert(DBL_EPSILON == 0x1p-52 && FLT_TRUE_MIN == 0x1p-149f && DBL_MIN == 0x1p-1022, "");
static_assert(std::numeric_limits<float>::infinity() == INFINITY, "");
static_assert(std::numeric_limits<float>::lowest() == -FLT_MAX, "");
static_assert(std::numeric_limits<signed char>::max() == 127, "");
static_assert(std::numeric_limits<unsigned long long>::max() == UINT64_MAX, "");
static_assert(std::is_same<std::remove_const_t<const float>, float>::value, "");
__global__ void k(float* y, int n) {
  assert(n > 0);
  if (n < 0) printf("%d\n", n);
  y[0] = isnan(y[1]) ? low : float(M_PI);
}
)");
  const Contract contract = contract_for(folder, "k.cu", "k");
  EXPECT_NO_THROW(compile(contract, variant(DType::f32, 32, false), 0));
}

TEST(Compile, WorksWithoutAnyInclude) {
  ASSAY_NEEDS(CudaCompiler::nvrtc);
  Folder folder;
  folder.write("k.cu",
               "__global__ void k(int64_t* y, int n) { y[0] = INT_MAX + uint8_t(n) + (INFINITY > "
               "FLT_MAX); }");
  EXPECT_NO_THROW(compile(contract_for(folder, "k.cu", "k"), variant(DType::f32, 32, false), 0));
}

TEST(Compile, ThreadsGetTheSameProgram) {
  ASSAY_NEEDS(CudaCompiler::nvrtc);
  Folder folder;
  folder.write("k.cu", kTemplate);
  const Contract contract = contract_for(folder, "k.cu", "fill<{T}, {BLOCK}, {fast}>");
  std::vector<Program> programs(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < programs.size(); ++i) {
    threads.emplace_back([&, i] {
      programs[i] = compile(contract, variant(i % 2 ? DType::f32 : DType::f16, 32, false), 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 2; i < programs.size(); ++i) {
    EXPECT_EQ(programs[i].ptx, programs[i % 2].ptx);
    EXPECT_EQ(programs[i].key, programs[i % 2].key);
  }
  EXPECT_NE(programs[0].ptx, programs[1].ptx);
}

TEST(Compile, AMissingSourceSaysWhich) {
  ASSAY_NEEDS(CudaCompiler::nvrtc);
  Folder folder;
  folder.write("k.cu", kTemplate);
  Contract contract = contract_for(folder, "k.cu", "other<{T}>");
  contract.source.path = (folder.path() / "gone.cu").string();
  const std::string text =
      message_of([&] { compile(contract, variant(DType::f32, 32, false), 0); });
  EXPECT_TRUE(contains(text, "gone.cu")) << text;
}

}  // namespace
}  // namespace assay
