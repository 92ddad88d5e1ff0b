// Which instructions have row functions: all computing ones in use, and no others.
#include <set>

#include "decoding.hpp"
#include "semantics_testing.hpp"

namespace assay::ptx {
namespace {

/// Spellings of a line "mnemonic[count]: suffix suffix ..." of tests/data/ptx_opcodes.txt.
std::vector<std::string> spellings_in_use() {
  std::vector<std::string> spellings;
  std::istringstream text(read_file(data_folder() / "ptx_opcodes.txt"));
  for (std::string line; std::getline(text, line);) {
    size_t bracket = line.find('['), colon = line.find("]:");
    if (bracket == line.npos || colon == line.npos) continue;
    std::istringstream suffixes(line.substr(colon + 2));
    for (std::string suffix; suffixes >> suffix;)
      spellings.push_back(line.substr(0, bracket) + "." + suffix);
  }
  return spellings;
}

const std::set<std::string> kComputing = {
    "mov",  "selp",  "prmt",     "add",  "addc", "sub",  "subc",  "mul",   "mad",  "madc",  "mul24",
    "div",  "rem",   "abs",      "neg",  "min",  "max",  "sad",   "dp4a",  "dp2a", "and",   "or",
    "xor",  "not",   "cnot",     "lop3", "shl",  "shr",  "shf",   "bfe",   "bfi",  "bfind", "brev",
    "clz",  "popc",  "fns",      "fma",  "rcp",  "sqrt", "rsqrt", "sin",   "cos",  "lg2",   "ex2",
    "tanh", "testp", "copysign", "setp", "set",  "slct", "cvt",   "szext", "bmsk", "mad24"};

size_t sources_of(const std::string& spelling) {
  return spelling.find("x2.f32") != spelling.npos ? 2 : 1;
}

TEST(Rows, EveryComputingSpellingInUseHasRowsInBothBuilds) {
  int computing = 0, others = 0;
  for (const std::string& spelling : spellings_in_use()) {
    SpellingMatch match = match_spelling(spelling);
    if (match.prototype.row < 0) continue;  // table_test.cpp checks which may be missing
    match.prototype.src.resize(sources_of(spelling));
    bool computes = kComputing.count(spelling.substr(0, spelling.find('.'))) != 0;
    ++(computes ? computing : others);
    for (bool fast : {false, true}) {
      for (ApproxMode mode : {ApproxMode::fixed, ApproxMode::adversarial}) {
        EXPECT_EQ(row_function(match.prototype, fast, mode) != nullptr, computes) << spelling;
      }
    }
  }
  EXPECT_GE(computing, 270);
  EXPECT_GE(others, 90);
}

TEST(Rows, ShapesFollowTheTypes) {
  auto shape = [](const std::string& spelling, size_t sources = 0) {
    return row_shape(instruction_of(spelling, sources));
  };
  EXPECT_EQ(shape("mul.wide.s32").d, 8);
  EXPECT_EQ(shape("mul.wide.s32").src[0], 4);
  EXPECT_EQ(shape("mad.wide.u16").src[2], 4);
  EXPECT_EQ(shape("shl.b64").src[1], 4);
  EXPECT_EQ(shape("cvt.u32.u8").src[0], 2);
  EXPECT_EQ(shape("cvt.s8.s32").d, 2);
  EXPECT_TRUE(shape("cvt.s8.s32").d_signed);
  EXPECT_FALSE(shape("cvt.u8.s32").d_signed);
  EXPECT_EQ(shape("cvt.rn.f16x2.f32", 2).src[1], 4);
  EXPECT_EQ(shape("setp.lt.f64").d, 0);
  EXPECT_EQ(shape("setp.lt.f64").src[0], 8);
  EXPECT_EQ(shape("and.pred").d, 0);
  EXPECT_EQ(shape("popc.b64").d, 4);
  EXPECT_EQ(shape("bfi.b64").src[3], 4);
  EXPECT_EQ(shape("selp.b32").src[2], 0);
}

TEST(Rows, VectorMovesBelongToTheMachine) {
  Instruction pack = instruction_of("mov.b64", 2);
  EXPECT_EQ(row_function(pack, false), nullptr);
}

}  // namespace
}  // namespace assay::ptx
