// The cache by content: hits, misses, corruption, folders that cannot be written.
#include "compilers/cache.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/compilers/sources.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using test::contract_for;
using test::Environment;
using test::Folder;
using test::variant;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

TEST(Cache, GivesBackWhatWasStored) {
  Folder folder;
  const CompiledText stored{"// ptx\nwith lines\n", "_Z1kPf"};
  EXPECT_FALSE(read_cached(folder.path(), "key"));
  write_cached(folder.path(), "key", stored);
  const auto found = read_cached(folder.path(), "key");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ptx, stored.ptx);
  EXPECT_EQ(found->entry, stored.entry);
  EXPECT_FALSE(read_cached(folder.path(), "other"));
  EXPECT_EQ(files_in(folder.path()).size(), 1u) << "temporary files stay";
}

TEST(Cache, AnyChangeOfAFileIsSeen) {
  Folder folder;
  write_cached(folder.path(), "key", {"// ptx\n", "k"});
  const fs::path file = files_in(folder.path()).at(0);
  const std::string whole = read(file);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] ^= 1;
    std::ofstream(file, std::ios::binary) << damaged;
    EXPECT_FALSE(read_cached(folder.path(), "key")) << "byte " << i;
  }
  for (size_t length = 0; length < whole.size(); ++length) {
    std::ofstream(file, std::ios::binary) << whole.substr(0, length);
    EXPECT_FALSE(read_cached(folder.path(), "key")) << "length " << length;
  }
  std::ofstream(file, std::ios::binary) << whole;
  EXPECT_TRUE(read_cached(folder.path(), "key"));
}

TEST(Cache, AFolderThatCannotBeWrittenIsNoError) {
  Folder folder;
  EXPECT_NO_THROW(write_cached("", "key", {"a", "b"}));
  EXPECT_NO_THROW(write_cached(folder.path() / "nowhere", "key", {"a", "b"}));
  EXPECT_FALSE(read_cached(folder.path() / "nowhere", "key"));
  // A file where the folder should be: works for root too, whom permissions do not stop.
  const std::string file = folder.write("file", "");
  const Environment cache("ASSAY_CACHE", file);
  EXPECT_EQ(cache_folder(), "");
}

TEST(Cache, FolderIsTheFirstThatTheEnvironmentNames) {
  Folder folder;
  const Environment home("HOME", folder.path().string());
  {
    const Environment own("ASSAY_CACHE", (folder.path() / "own").string());
    EXPECT_EQ(cache_folder(), (folder.path() / "own").string());
  }
  const Environment own("ASSAY_CACHE", std::nullopt);
  {
    const Environment xdg("XDG_CACHE_HOME", (folder.path() / "xdg").string());
    EXPECT_EQ(cache_folder(), (folder.path() / "xdg" / "assay").string());
  }
  const Environment xdg("XDG_CACHE_HOME", std::nullopt);
  EXPECT_EQ(cache_folder(), (folder.path() / ".cache" / "assay").string());
}

constexpr const char* kSource =
    "#include <cuda_fp16.h>\n#include \"h.cuh\"\ntemplate <typename T> __global__ void k(T* y, int "
    "n) { y[0] = T(VALUE); "
    "}\n";

/// Marks the one stored program with another valid content: a later hit gives it back.
void replace_cached(const fs::path& folder, const std::string& key) {
  const auto found = read_cached(folder, key);
  ASSERT_TRUE(found);
  write_cached(folder, key, {found->ptx + "// from the cache\n", found->entry});
}

TEST(Cache, CompileTakesFromDiskWhatMatchesAndCompilesWhatDoesNot) {
  ASSAY_NEEDS(CudaCompiler::nvrtc);
  Folder folder, cache;
  const Environment chosen("ASSAY_CACHE", cache.path().string());
  folder.write("k.cu", kSource);
  folder.write("h.cuh", "#define VALUE 1\n");
  const Contract contract = contract_for(folder, "k.cu", "k<{T}>");
  const Variant v = variant(DType::f32, 32, false);
  const Program first = compile(contract, v, 0);
  ASSERT_EQ(files_in(cache.path()).size(), 1u);

  replace_cached(cache.path(), first.key);
  EXPECT_EQ(compile(contract, v, 0).ptx, first.ptx) << "memory comes first";

  // A new stamp with the same content: memory is asked no more, disk is.
  fs::last_write_time(folder.path() / "k.cu",
                      fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_TRUE(compile(contract, v, 0).ptx.ends_with("// from the cache\n"));

  // A corrupt file is compiled again and replaced.
  std::ofstream(files_in(cache.path()).at(0), std::ios::app) << "x";
  fs::last_write_time(folder.path() / "k.cu",
                      fs::file_time_type::clock::now() + std::chrono::hours(2));
  const Program again = compile(contract, v, 0);
  EXPECT_FALSE(again.ptx.ends_with("// from the cache\n"));
  EXPECT_EQ(again.key, first.key);
  EXPECT_TRUE(read_cached(cache.path(), first.key));

  // Another variant is another program.
  EXPECT_NE(compile(contract, variant(DType::f16, 32, false), 0).key, first.key);
}

TEST(Cache, AChangedHeaderIsAnotherProgram) {
  ASSAY_NEEDS(CudaCompiler::nvrtc);
  Folder folder, cache;
  const Environment chosen("ASSAY_CACHE", cache.path().string());
  folder.write("k.cu", kSource);
  folder.write("h.cuh", "#include \"deep/i.cuh\"\n");
  folder.write("deep/i.cuh", "#define VALUE 1\n");
  const Contract contract = contract_for(folder, "k.cu", "k<{T}>");
  const Variant v = variant(DType::f32, 32, false);
  const Program first = compile(contract, v, 0);
  folder.write("deep/i.cuh", "#define VALUE 22\n");
  const Program second = compile(contract, v, 0);
  EXPECT_NE(first.key, second.key);
  EXPECT_NE(first.ptx, second.ptx);
  EXPECT_EQ(files_in(cache.path()).size(), 2u);
}

TEST(Cache, CompileWorksWithoutACacheFolder) {
  ASSAY_NEEDS(CudaCompiler::nvrtc);
  Folder folder;
  const Environment chosen("ASSAY_CACHE", folder.write("file", ""));
  folder.write("k.cu", kSource);
  folder.write("h.cuh", "#define VALUE 1\n");
  const Contract contract = contract_for(folder, "k.cu", "k<{T}>");
  EXPECT_NO_THROW(compile(contract, variant(DType::f32, 32, false), 0));
  EXPECT_NO_THROW(compile(contract, variant(DType::f32, 32, false), 0));
}

}  // namespace
}  // namespace assay
