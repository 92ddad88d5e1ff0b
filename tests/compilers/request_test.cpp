// A contract and a variant to what a compiler is asked; what a source text tells.
#include "compilers/request.hpp"

#include <gtest/gtest.h>

#include "compilers/sha256.hpp"
#include "tests/compilers/sources.hpp"

namespace assay {
namespace {

using test::contract_for;
using test::Folder;
using test::variant;

TEST(Request, AnUnknownNameInBracesIsAnErrorWithTheNearestName) {
  Folder folder;
  folder.write("k.cu", "");
  Contract contract = contract_for(folder, "k.cu", "k<{T}>");
  contract.source.entry = "k<{BLOK}>";
  try {
    make_request(contract, variant(DType::f32, 32, false), 0);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("{BLOK}"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("did you mean {BLOCK}?"), std::string::npos);
  }
}

TEST(Request, ALaunchCanHaveItsOwnEntry) {
  Folder folder;
  folder.write("k.cu", "");
  Contract contract = contract_for(folder, "k.cu", "first<{T}>");
  contract.launches.push_back(contract.launches[0]);
  contract.launches[1].entry = "second<{BLOCK}>";
  const Variant v = variant(DType::f32, 32, true);
  EXPECT_EQ(make_request(contract, v, 0).entry, "first<float>");
  EXPECT_EQ(make_request(contract, v, 1).entry, "second<32>");
  // Neither T nor BLOCK is a macro in either: they share one source.
  EXPECT_EQ(make_request(contract, v, 0).macros, std::vector<std::string>{"fast=1"});
  EXPECT_EQ(make_request(contract, v, 1).macros, std::vector<std::string>{"fast=1"});
}

TEST(Request, EveryUnpackedTypeHasASpelling) {
  for (int i = 0; i <= static_cast<int>(DType::i4); ++i) {
    const DType type = static_cast<DType>(i);
    EXPECT_EQ(cxx_spelling(type).empty(), bit_width(type) == 4) << name(type);
  }
}

TEST(Request, FlagsGoToTheCompilersThatKnowThem) {
  const std::vector<std::string> flags = {"-O3", "-use_fast_math", "--expt-relaxed-constexpr",
                                          "-fmad=false"};
  EXPECT_EQ(flags_for(CudaCompiler::nvrtc, flags),
            (std::vector<std::string>{"--use_fast_math", "--fmad=false"}));
  EXPECT_EQ(flags_for(CudaCompiler::nvcc, flags),
            (std::vector<std::string>{"-O3", "--use_fast_math", "--expt-relaxed-constexpr",
                                      "--fmad=false"}));
}

TEST(Request, NvrtcKnowsDefaultDeviceByItsFullName) {
  for (const char* flag : {"-default-device", "--default-device"}) {
    EXPECT_EQ(flags_for(CudaCompiler::nvrtc, {flag}),
              (std::vector<std::string>{"--device-as-default-execution-space"}));
    EXPECT_TRUE(flags_for(CudaCompiler::nvcc, {flag}).empty());
  }
}

TEST(Request, KernelNamesAreFoundPastAttributesAndComments) {
  const std::vector<std::string> names = kernel_names(R"cuda(
// __global__ void commented(int);
/* __global__ void also(int); */
const char* text = "__global__ void quoted(int);";
constexpr int big = 1'000'000;
template <typename T> __global__ void plain(T* x) {}
__global__ __launch_bounds__(128) void bounded(float* x) {}
__global__ void __launch_bounds__(32 * (1 + 1), 2) late(float* x) {}
extern "C" __global__ void __attribute__((used)) c_name(float* x) {}
__global__ void
split(float* x);
__global__ void split(float* x) {}
)cuda");
  EXPECT_EQ(names, (std::vector<std::string>{"plain", "bounded", "late", "c_name", "split"}));
}

TEST(Request, BaseNameDropsScopeAndArguments) {
  EXPECT_EQ(unqualified_name("softmax<float, 256>"), "softmax");
  EXPECT_EQ(unqualified_name("a::b::k<a::T>"), "k");
  EXPECT_EQ(unqualified_name(" k "), "k");
}

TEST(Request, IncludedFilesAreFollowedOnce) {
  Folder folder;
  const std::string source = folder.write("k.cu", "");
  folder.write("a.cuh", "#pragma once\n#include \"b/c.cuh\"\n#include \"k.cu\"\n");
  folder.write("b/c.cuh", "  #  include \"d.cuh\"\n#include <cuda_fp16.h>\n");
  folder.write("b/d.cuh", "#include \"../a.cuh\"\n");
  folder.write("inc/e.cuh", "");
  const auto found =
      included_files(source, "#include \"a.cuh\"\n#include <e.cuh>\n#include <f.cuh>\n",
                     {(folder.path() / "inc").string()});
  std::vector<std::string> names;
  for (const IncludedFile& file : found) {
    names.push_back(std::filesystem::relative(file.path, folder.path()).string());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"a.cuh", "inc/e.cuh", "b/c.cuh", "b/d.cuh"}));
}

TEST(Sha256, AgreesWithThePublishedExamples) {
  // NIST, "Examples with Intermediate Values", SHA-256; and the empty message.
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

}  // namespace
}  // namespace assay
