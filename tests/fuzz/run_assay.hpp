// Helpers of the tests here: a user's project in a temporary folder, and ways to run the program.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "fuzz/program.hpp"

namespace assay::testing {

namespace fs = std::filesystem;

struct Outcome {
  int status = -1;
  std::string out;
  std::string err;
};

/// Runs the program's main function in this process.
inline Outcome run_assay(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  Outcome outcome;
  outcome.status = run_program(arguments, {out, err});
  outcome.out = out.str();
  outcome.err = err.str();
  return outcome;
}

/// A folder that is gone when the test is over.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "assay-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& content) const {
    const fs::path file = fs::path(path_) / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
    return file;
  }

 private:
  std::string path_;
};

inline std::string read_whole(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Runs a command line in a shell: for what needs another process (environment, limits, stdout).
inline Outcome run_shell(const std::string& command) {
  const TemporaryFolder folder;
  const std::string line =
      "( " + command + " ) >" + folder / "out" + " 2>" + folder / "err" + " </dev/null";
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_whole(folder / "out"),
          read_whole(folder / "err")};
}

/// A user's kernel, right as it stands: doubles each element of a row.
inline const char* kScaleSource = R"(template <typename T>
__global__ void scale_rows(T* y, const T* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + x[i];
}
)";

inline const char* kScaleContract = R"toml(name = "scale_rows"
source = { cuda = "scale_rows.cu", entry = "scale_rows<{T}>" }
types = { T = ["f32"] }
sizes = { n = { min = 0, max = 5000 } }
launch = { grid = ["ceil_div(n, 64)"], block = [64] }
args = [
  { name = "y", kind = "output", dtype = "T", shape = ["n"] },
  { name = "x", kind = "input", dtype = "T", shape = ["n"] },
  { name = "n", kind = "scalar", dtype = "i32", value = "n" },
]
[formula]
y = "x + x"
[policy]
nan = "propagate"
)toml";

inline const char* kScaleCase = R"(assay-case 1
kernel scale_rows
types T=f32
sizes n=100
values x exact
seeds values=0x7 blocks=0x0 warps=0x0
end
)";

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "nothing to replace: " << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

/// The kernel with the tail mask forgotten for the last element: `i < n - 1`.
inline std::string buggy_source() { return replaced(kScaleSource, "i < n)", "i < n - 1)"); }

/// A user's folder outside Assay's tree: kernel, contract, case.
struct Project {
  TemporaryFolder folder;
  std::string contract = folder.write("scale_rows.toml", kScaleContract);
  std::string source = folder.write("scale_rows.cu", kScaleSource);
  std::string case_file = folder.write("good.case", kScaleCase);
  std::string out = folder / "out";
};

}  // namespace assay::testing
