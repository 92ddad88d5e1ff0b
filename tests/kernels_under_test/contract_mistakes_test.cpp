// Each mistake of tests/data/contracts/mistakes.txt gives its one line, at its place.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "kernels_under_test/contract.hpp"

namespace assay {
namespace {

const std::string kFolder = std::string(ASSAY_SOURCE_DIR) + "/tests/data/contracts";

struct Mistake {
  std::string title;
  std::string from;
  std::string to;
  std::string message;
};

std::string unescaped(std::string text) {
  for (size_t at = text.find("\\n"); at != std::string::npos; at = text.find("\\n", at))
    text.replace(at, 2, "\n");
  return text;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::vector<Mistake> mistakes() {
  std::vector<Mistake> out;
  std::istringstream in(read_file(kFolder + "/mistakes.txt"));
  const auto body = [](const std::string& line) { return line.size() > 2 ? line.substr(2) : ""; };
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '-') {
      out.back().from = unescaped(body(line));
    } else if (line[0] == '+') {
      out.back().to = unescaped(body(line));
    } else if (line[0] == '!') {
      out.back().message = body(line);
      const size_t folder = out.back().message.find("FOLDER");
      if (folder != std::string::npos) out.back().message.replace(folder, 6, kFolder);
    } else {
      out.push_back({line, "", "", ""});
    }
  }
  return out;
}

std::string error_of(const std::string& toml) {
  try {
    parse_contract(toml, kFolder + "/pool.toml");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ContractMistakes, TheContractItselfIsRight) {
  EXPECT_EQ(error_of(read_file(kFolder + "/pool.toml")), "no error");
}

TEST(ContractMistakes, WindowsLineEndsChangeNothing) {
  std::string toml = read_file(kFolder + "/pool.toml");
  for (size_t at = toml.find('\n'); at != std::string::npos; at = toml.find('\n', at + 2))
    toml.insert(at, 1, '\r');
  EXPECT_EQ(error_of(toml), "no error");
  toml.replace(toml.find("sum(x, cols)"), 12, "sum(x, col)");
  EXPECT_EQ(error_of(toml),
            kFolder + "/pool.toml:52:32: unknown dimension 'col' in 'sum' (did you mean 'cols'?)");
}

TEST(ContractMistakes, EachGivesItsLine) {
  const std::string right = read_file(kFolder + "/pool.toml");
  int tried = 0;
  for (const Mistake& mistake : mistakes()) {
    std::string wrong = right;
    const size_t at = wrong.find(mistake.from);
    ASSERT_NE(at, std::string::npos) << mistake.title;
    wrong.replace(at, mistake.from.size(), mistake.to);
    EXPECT_EQ(error_of(wrong), kFolder + "/pool.toml:" + mistake.message) << mistake.title;
    ++tried;
  }
  EXPECT_GE(tried, 140);
}

TEST(ContractMistakes, MessagesStayOnOneLine) {
  std::string wrong = read_file(kFolder + "/pool.toml");
  wrong.replace(wrong.find("\"input\""), 7, "\"\"\"in\nput\t\"\"\"");
  EXPECT_EQ(error_of(wrong), kFolder +
                                 "/pool.toml:19:11: unknown value 'in\\nput?' for 'kind'"
                                 " (did you mean 'input'?)");
}

TEST(ContractMistakes, AnEmptyContractNeedsAName) {
  EXPECT_EQ(error_of(""), kFolder + "/pool.toml:1:1: a contract needs 'name'");
}

// Damaged text gives an InputError that starts with the file, or happens to be right; nothing else.
TEST(ContractMistakes, DamagedTextNeverEscapes) {
  const std::string wide = read_file(kFolder + "/wide.toml");
  const std::string alphabet = "\"'[]{}=,.\n x0(-:|&";
  std::mt19937_64 random(17);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = wide;
    for (uint64_t edits = 1 + random() % 2; edits > 0; --edits) {
      const size_t at = random() % damaged.size();
      switch (random() % 3) {
        case 0:
          damaged[at] = alphabet[random() % alphabet.size()];
          break;
        case 1:
          damaged.erase(at, 1 + random() % 8);
          break;
        default:
          damaged.insert(at, 1, alphabet[random() % alphabet.size()]);
      }
    }
    try {
      parse_contract(damaged, kFolder + "/wide.toml");
    } catch (const InputError& error) {
      ASSERT_EQ(error.where().file, kFolder + "/wide.toml");
      ASSERT_GT(error.where().line, 0) << error.what();
      ASSERT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace assay
