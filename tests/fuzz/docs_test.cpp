// The documentation shows what the program prints: every `console` block of README.md,
// docs/walkthrough.md and each README.md in docs/examples/ is run from the repository's root and
// compared. A line "..." stands for any lines; paths are shown from the root.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace assay {
namespace {

constexpr std::string_view kPrompt = "$ build/assay ";

struct Block {
  std::string place;  ///< "README.md:12"
  std::string arguments;
  std::vector<std::string> shown;
};

std::vector<Block> console_blocks(const std::string& name) {
  std::ifstream in(std::string(ASSAY_SOURCE_DIR) + "/" + name);
  std::vector<Block> blocks;
  std::string line;
  bool inside = false;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.rfind("```", 0) == 0) {
      inside = line == "```console";
    } else if (inside && line.rfind(kPrompt, 0) == 0) {
      blocks.push_back({name + ":" + std::to_string(number), line.substr(kPrompt.size()), {}});
    } else if (inside && !blocks.empty()) {
      blocks.back().shown.push_back(line);
    }
  }
  return blocks;
}

/// Standard output and error of the program, run by a shell as a reader would.
std::vector<std::string> printed_by(const std::string& arguments) {
  const std::string root = ASSAY_SOURCE_DIR;
  const std::string command = "cd '" + root + "' && '" ASSAY_PROGRAM "' " + arguments + " 2>&1";
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 4096> buffer{};
  while (const size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe))
    text.append(buffer.data(), n);
  pclose(pipe);
  const std::string program = ASSAY_PROGRAM;  // as a reader types it, whatever this build's folder
  for (size_t at; (at = text.find(program)) != std::string::npos;)
    text.replace(at, program.size(), "build/assay");
  for (size_t at; (at = text.find(root + "/")) != std::string::npos;)
    text.erase(at, root.size() + 1);
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Whether `shown` stands in `printed`, in order, with gaps only where "..." says so. `missing`
/// gets the first line that does not.
bool shows(const std::vector<std::string>& shown, const std::vector<std::string>& printed,
           std::string* missing) {
  size_t at = 0;
  bool gap = false;
  for (const std::string& line : shown) {
    if (line == "...") {
      gap = true;
      continue;
    }
    while (gap && at < printed.size() && printed[at] != line) ++at;
    if (at == printed.size() || printed[at] != line) return *missing = line, false;
    ++at;
    gap = false;
  }
  if (!gap && at != printed.size()) return *missing = "end of output", false;
  return true;
}

void check_page(const std::string& name) {
  const std::vector<Block> blocks = console_blocks(name);
  ASSERT_FALSE(blocks.empty()) << name << " has no console block";
  for (const Block& block : blocks) {
    const std::vector<std::string> printed = printed_by(block.arguments);
    if (!printed.empty() && printed[0].find("NVRTC is not here") != std::string::npos) {
      GTEST_SKIP() << "no NVRTC";
    }
    std::string missing, all;
    for (const std::string& line : printed) all += "  " + line + "\n";
    EXPECT_TRUE(shows(block.shown, printed, &missing))
        << block.place << ": not printed in its place: " << missing << "\nprinted:\n"
        << all;
  }
}

TEST(Docs, ReadmeShowsWhatTheProgramPrints) { check_page("README.md"); }
TEST(Docs, WalkthroughShowsWhatTheProgramPrints) { check_page("docs/walkthrough.md"); }

TEST(Docs, ExamplesShowWhatTheProgramPrints) {
  int pages = 0;
  const std::string root = ASSAY_SOURCE_DIR "/";
  for (const auto& folder : std::filesystem::directory_iterator(root + "docs/examples")) {
    if (!folder.is_directory()) continue;
    check_page((folder.path() / "README.md").string().substr(root.size()));
    ++pages;
  }
  EXPECT_GE(pages, 6);
}

TEST(Docs, AMissingOrAddedLineIsSeen) {
  std::string missing;
  EXPECT_TRUE(shows({"a", "...", "c"}, {"a", "b", "c"}, &missing));
  EXPECT_FALSE(shows({"a", "c"}, {"a", "b", "c"}, &missing));
  EXPECT_FALSE(shows({"a", "...", "d"}, {"a", "b", "c"}, &missing));
  EXPECT_FALSE(shows({"a"}, {"a", "b"}, &missing));
  EXPECT_TRUE(shows({"a", "..."}, {"a", "b"}, &missing));
}

}  // namespace
}  // namespace assay
