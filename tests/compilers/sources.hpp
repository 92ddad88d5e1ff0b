// Small CUDA sources and contracts in a folder of their own, for the compilers' tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "compilers/program.hpp"
#include "kernels_under_test/contract.hpp"

namespace assay::test {

/// A folder under the system's temporary folder, removed at the end.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "assay-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file.string();
  }

 private:
  std::filesystem::path path_;
};

/// Sets an environment variable until the end of the scope; nullopt unsets it.
class Environment {
 public:
  Environment(const char* name, const std::optional<std::string>& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    set(value);
  }
  ~Environment() { set(old_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  void set(const std::optional<std::string>& value) {
    if (value)
      setenv(name_, value->c_str(), 1);
    else
      unsetenv(name_);
  }
  const char* name_;
  std::optional<std::string> old_;
};

/// A contract for `source` in `folder`, with one type parameter T, a knob BLOCK and a flag `fast`.
/// `keys` are further entries of the source table.
inline Contract contract_for(const Folder& folder, const std::string& source,
                             const std::string& entry, const std::string& keys = "") {
  const std::string toml =
      "name = \"k\"\nsource = { cuda = \"" + source + "\", entry = \"" + entry + "\"" + keys + R"( }
types = { T = ["f32", "f16", "bf16", "i64"] }
flags = ["fast"]
knobs = { BLOCK = [32, 64] }
sizes = { n = { min = 0, max = 100 } }
launch = { grid = ["n"], block = ["BLOCK"] }
args = [
  { name = "y", kind = "output", dtype = "T", shape = ["n"] },
  { name = "n", kind = "scalar", dtype = "i32", value = "n" },
]
[formula]
y = "0"
)";
  return parse_contract(toml, folder.write("k.toml", toml));
}

inline Variant variant(DType type, int64_t block, bool fast) {
  return {{{"T", type}}, {{"BLOCK", block}}, {{"fast", fast}}};
}

/// Why NVRTC cannot be used here; "" when it can.
inline std::string why_no(CudaCompiler compiler) {
  try {
    compiler_version(compiler);
    return "";
  } catch (const MissingDependency& missing) {
    return missing.what();
  }
}

#define ASSAY_NEEDS(compiler) \
  if (const std::string why = assay::test::why_no(compiler); !why.empty()) GTEST_SKIP() << why

}  // namespace assay::test
