// Bad text: one error with its place, never a crash, never unbounded time or memory.
#include <gtest/gtest.h>

#include <iostream>

#include "decoding.hpp"
#include "kernels_under_test/input_error.hpp"

namespace assay::ptx {
namespace {

std::string error_of(const std::string& text) {
  try {
    decode(text, "bad.ptx");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Robustness, OneErrorWithItsPlace) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "bad.ptx:1:1: expected .version at the start of PTX, found end of file"},
      {"hello", "bad.ptx:1:1: expected .version at the start of PTX, found 'hello'"},
      {kHeader + "hello",
       "bad.ptx:4:1: expected a directive of module scope such as .entry, found 'hello'"},
      {kHeader + ".entry k() { .reg .b32 %r<2000000000>; }",
       "bad.ptx:4:27: expected a register count from 0 to 1048576"},
      {kHeader + ".entry k() { .reg .b32 %r<-1>; }",
       "bad.ptx:4:27: expected a register count from 0 to 1048576"},
      {kHeader + ".entry k() { ret; ", "bad.ptx:4:19: expected '}' before end of file"},
      {kHeader + ".entry k() { ret }", "bad.ptx:4:18: expected an operand, found '}'"},
      {kHeader + ".entry k(.param .u32 n",
       "bad.ptx:4:23: expected ')' after parameters, found end of file"},
      {kHeader + ".entry k(.param .q32 n) {}",
       "bad.ptx:4:17: expected a type such as .b32, found '.q32'"},
      {kHeader + ".entry k(.param .u32 n, .param .u32 n) {}",
       "bad.ptx:4:37: 'n' is declared twice in one scope"},
      {kHeader + ".entry k() {} .entry k() {}", "bad.ptx:4:22: 'k' is defined twice"},
      {kHeader + ".entry k() { L: L: ret; }",
       "bad.ptx:4:17: label 'L' is defined twice in one scope"},
      {kHeader + ".entry k() { bra L; }", "bad.ptx:4:18: unknown label 'L'"},
      {kHeader + ".entry k() { call f; }", "bad.ptx:4:19: expected a function, found 'f'"},
      {kHeader + ".func f(.param .b32 x); .entry k() { call f; }",
       "bad.ptx:4:43: expected 1 parameters and 0 results in a call of 'f', found 0 and 0"},
      {kHeader + ".global .u32 x = {1, 2};", "bad.ptx:4:22: expected no more values than elements"},
      {kHeader + ".global .u64 x = y;", "bad.ptx:4:14: unknown name 'y' in the initialiser"},
      {kHeader + ".global .align 3 .u64 x;", "bad.ptx:4:9: expected a power of two as alignment"},
      {kHeader + ".global .b8 x[4][0x7fffffffffff][9];",
       "bad.ptx:4:13: expected a variable of at most 2^47 bytes"},
      {kHeader + ".shared .u32 x = 1;",
       "bad.ptx:4:18: expected an initialiser only for .global and .const variables"},
      {kHeader + ".entry k(.param .b8 x[40000]) {}",
       "bad.ptx:4:21: expected at most 32,764 bytes of parameters"},
      {kHeader + "/* open", "bad.ptx:4:1: expected '*/' to close this comment"},
      {kHeader + ".file 1 \"open", "bad.ptx:4:9: expected '\"' to close this string"},
      {kHeader + "\x01", "bad.ptx:4:1: expected PTX, found a character that it does not have"},
      {kHeader + ".section .debug { ", "bad.ptx:4:19: expected '}' before end of file"},
      {kHeader + ".entry k() { .reg .b32 x; add.u32 x, x, 0x; }",
       "bad.ptx:4:41: expected a number that fits 64 bits, found '0x'"},
      {kHeader + ".entry k() { .loc 1 2 }", "bad.ptx:4:23: expected a constant, found '}'"},
      {kHeader + ".entry k() { brx.idx 0, t; }",
       "bad.ptx:4:25: expected the name of a .branchtargets list, found 't'"},
      {".version 9.0\n.target mips\n",
       "bad.ptx:2:9: expected a target such as sm_80, found 'mips'"},
      {".version 9.0\n.target sm_80\n.address_size 32\n",
       "bad.ptx:3:15: expected .address_size 64"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(error_of(text), message);
}

TEST(Robustness, DeepAndLongInputs) {
  const std::string many(100000, '{');
  EXPECT_NE(error_of(kHeader + ".entry k() {" + many).find("nested"), std::string::npos);
  EXPECT_NE(error_of(kHeader + ".global .u32 x[2][2] = " + many).find("expected a value"),
            std::string::npos);
  EXPECT_NE(error_of(kernel("mov.u32 %r1, " + std::string(100000, '('))).find("nested too deeply"),
            std::string::npos);
  EXPECT_NE(
      error_of(kernel("mov.u32 %r" + std::string(1000000, '1') + ", 0;")).find("unknown name"),
      std::string::npos);
  std::string chain = "mov.u32 %r1, 1";
  for (int i = 0; i < 100000; ++i) chain += "+1";
  EXPECT_EQ(first_instruction(chain + ";").src[0].bits, 100001u);
  std::string modifiers = "ld.global";
  for (int i = 0; i < 100000; ++i) modifiers += ".ca";
  EXPECT_EQ(decode(kernel(modifiers + ".u32 %r1, [%rd1];"), "t").unsupported.size(), 1u);
  std::string ranges;
  for (int i = 0; i < 64; ++i) ranges += ".reg .b32 %q" + std::to_string(i) + "_<1048576>;\n";
  EXPECT_NE(error_of(kernel(ranges)).find("registers in a function"), std::string::npos);
  EXPECT_NE(error_of(kHeader + ".global .b8 x[2][1000000000000] = {{1}, {1}};").find("64 MiB"),
            std::string::npos);
}

/// SplitMix64, so that the mutations are the same everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t below(uint64_t bound) {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % bound;
  }

 private:
  uint64_t state_;
};

std::string mutated(std::string text, Random& random) {
  const uint64_t edits = 1 + random.below(4);
  for (uint64_t i = 0; i < edits && !text.empty(); ++i) {
    const size_t at = random.below(text.size());
    const size_t length = std::min<size_t>(1 + random.below(40), text.size() - at);
    switch (random.below(6)) {
      case 0:
        text[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        text[at] ^= static_cast<char>(1 << random.below(8));
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(at, text.substr(random.below(text.size()), length));
        break;
      case 4:
        text.insert(at, 1, ".,;:{}[]()<>|@!%+-0x_\"\n"[random.below(24)]);
        break;
      default:
        text.resize(at);
        break;
    }
  }
  return text;
}

TEST(Robustness, MutatedTextsDecodeOrThrowInputError) {
  const char* const names[] = {"add8",  "atom52", "emb60", "erf24",  "int49",
                               "sin18", "log17",  "sm10",  "tanh23", "bin47"};
  std::vector<std::string> texts;
  for (const char* name : names) {
    texts.push_back(read_file(data_folder() / "triton_sm80" / (std::string(name) + ".ptx")));
    ASSERT_FALSE(texts.back().empty()) << name;
  }
  texts.back() = read_file(data_folder() / "nvcc_sm80" / "language.ptx");
  Random random(20261129);
  int decoded = 0, refused = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string text = mutated(texts[i % texts.size()], random);
    try {
      const Module module = decode(text, "mutated.ptx");
      ++decoded;
    } catch (const InputError& error) {
      ++refused;
      ASSERT_EQ(std::string(error.what()).find("mutated.ptx:"), 0u) << error.what();
      ASSERT_GT(error.where().line, 0) << error.what();
      ASSERT_GT(error.where().column, 0) << error.what();
      ASSERT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    }
  }
  std::cout << decoded << " decoded, " << refused << " refused\n";
  EXPECT_GT(decoded, 500);
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace assay::ptx
