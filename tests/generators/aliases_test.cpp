// Operands in another's memory: the line of a case, what they hold, and that cases have them.
#include "generators/aliases.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "generators/generate.hpp"
#include "generators/variation.hpp"
#include "tests/generators/contracts.hpp"

namespace assay {
namespace {

using namespace testing_contracts;

/// y in x or w; z, which must be contiguous, in x; both sides may be absent.
const Contract& contract() {
  static const Contract parsed_once = parsed(R"toml(
name = "twofold"
source = { cuda = "kernel.cu", entry = "twofold" }
types = { T = ["f32", "f16"] }
sizes = { rows = { min = 0, max = 300 }, cols = { min = 0, max = 300 } }
flags = ["summed"]
launch = { grid = ["rows"], block = [64] }
properties = ["rows_independent(rows)", "padding_free", "layout_free", "scale_invariant(x)"]
args = [
  { name = "y", kind = "output", dtype = "T", shape = ["rows", "cols"], strides = ["any", 1], may_alias = ["x", "w"] },
  { name = "z", kind = "inout", dtype = "f32", shape = ["rows", "cols"], may_alias = ["x"], when = "summed" },
  { name = "x", kind = "input", dtype = "f32", shape = ["rows", "cols"], strides = ["any", 1] },
  { name = "w", kind = "input", dtype = "T", shape = ["rows", "cols"], strides = ["any", 1], align = 8 },
  { name = "y_stride", kind = "scalar", dtype = "i64", value = "stride(y, 0)" },
]
[formula]
y = "x + w"
z = "z.before * 2"
[policy]
nan = "propagate"
)toml");
  return parsed_once;
}

Case case_of(const std::string& body) {
  return parse_case("assay-case 1\nkernel twofold\ntypes T=f32\nsizes rows=3 cols=5\n" + body +
                        "seeds values=0x9\nend\n",
                    "f.case");
}
Instance instance_of(const std::string& body) {
  return instantiate(contract(), case_of(body), "f.case");
}

uint64_t held(const Instance& instance, const char* operand, int64_t linear) {
  uint64_t bits = 0;
  logical_values(instance, *instance.find(operand), linear, 1, reinterpret_cast<uint8_t*>(&bits));
  return bits;
}

std::string error_of(const std::string& body) {
  try {
    instance_of(body);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Aliases, TheLineIsPrintedAsItIsRead) {
  const Case c = case_of("flags summed=1\nalias z=x y=w\n");
  EXPECT_EQ(c.aliases, (std::map<std::string, std::string>{{"y", "w"}, {"z", "x"}}));
  const std::string text = print_case(c);
  EXPECT_NE(text.find("\nalias y=w z=x\n"), std::string::npos) << text;
  EXPECT_EQ(parse_case(text, "g.case"), c);
}

TEST(Aliases, ItLiesAndHoldsWhatTheInputDoes) {
  const Instance apart = instance_of("layout x strides=9,1 offset=2 misalign=4\n");
  const Instance shared = instance_of("alias y=x\nlayout x strides=9,1 offset=2 misalign=4\n");
  const Tensor& x = *shared.find("x");
  const Tensor& y = *shared.find("y");
  EXPECT_TRUE(y.is_shared());
  EXPECT_EQ(y.buffer(), x.position);
  EXPECT_EQ(&shared.writer_of(x), &y);
  EXPECT_EQ(&shared.writer_of(*shared.find("w")), shared.find("w"));
  EXPECT_EQ(y.strides, x.strides);
  EXPECT_EQ(y.offset, 2);
  EXPECT_EQ(y.misalign, 4);
  EXPECT_EQ(y.storage_elements, x.storage_elements);
  EXPECT_EQ(shared.find("y_stride")->scalar_integer, 9) << "and its stride is passed";
  for (int64_t k = 0; k < 15; ++k) {
    EXPECT_EQ(held(shared, "x", k), held(apart, "x", k)) << k;
    EXPECT_EQ(held(shared, "y", k), held(shared, "x", k)) << k;
    EXPECT_NE(held(apart, "y", k), held(shared, "y", k)) << "poison, in memory of its own";
  }
  uint8_t one[60] = {}, other[60] = {};
  storage_bytes(shared, x, 1, 60, one);
  storage_bytes(shared, y, 1, 60, other);
  EXPECT_EQ(std::vector<uint8_t>(one, one + 60), std::vector<uint8_t>(other, other + 60));
}

TEST(Aliases, AnInoutOperandStartsFromTheInput) {
  const Instance shared = instance_of("flags summed=1\nalias z=x\nset x[1,2] = 7\n");
  EXPECT_EQ(held(shared, "z", 7), 0x40e00000u);
  EXPECT_TRUE(shared.find("z")->held_values());
  EXPECT_FALSE(shared.find("y")->held_values());
}

struct Wrong {
  const char* body;
  const char* says;
};

TEST(Aliases, WhatCannotBeIsToldAtItsPlace) {
  for (const Wrong& wrong : {
           Wrong{"alias q=x\n", "f.case:5:7: kernel 'twofold' has no operand 'q'"},
           {"alias y=xx\n", "f.case:5:7: kernel 'twofold' has no operand 'xx' (did you mean 'x'?)"},
           {"alias x=y\n", "f.case:5:7: the contract does not say that 'x' may lie in the memory "
                           "of 'y': its 'may_alias' is not there"},
           {"flags summed=1\nalias z=w\n", "f.case:6:7: the contract does not say that 'z' may lie "
                                           "in the memory of 'w': its 'may_alias' names others"},
           {"alias z=x\n", "f.case:5:7: 'z' is absent in this case: it has no memory"},
           {"flags summed=1\nalias y=x z=x\n",
            "f.case:6:11: 'y' lies in the memory of 'x' already"},
           {"alias y=x\nlayout y strides=9,1\n",
            "f.case:6:8: 'y' lies in the memory of 'x': only 'x' takes a layout"},
           {"flags summed=1\nalias z=x\nvalues z normal\n",
            "f.case:7:8: 'z' lies in the memory of 'x': only 'x' takes values"},
           {"flags summed=1\nalias z=x\nset z[0,0] = 1\n",
            "f.case:7:5: 'z' lies in the memory of 'x': only 'x' takes values"},
           {"flags summed=1\nalias z=x\nlayout x strides=9,1\n",
            "f.case:6:7: 'z' must be contiguous: stride 9 in dimension 0, not 5"},
           {"alias y=x\nlayout x strides=0,1\n", "f.case:5:7: elements of 'y' overlap"},
           {"alias y\n", "f.case:5:8: expected '=' after the operand's name"},
           {"alias y=\n", "f.case:5:9: expected the name of the input in whose memory it lies"},
           {"alias y=x y=w\n", "f.case:5:11: 'alias.y' is given twice"},
       })
    EXPECT_EQ(error_of(wrong.body).substr(0, std::string(wrong.says).size()), wrong.says);
}

TEST(Aliases, TypesOfTheCaseDecide) {
  Case c = case_of("alias y=x\n");
  c.types["T"] = DType::f16;
  EXPECT_THROW(instantiate(contract(), c), InputError) << "x stays f32";
  c.aliases = {{"y", "w"}};
  EXPECT_NO_THROW(instantiate(contract(), c));
}

/// How many of the cases have `operand` in `memory`; "": in its own.
int64_t count_in(const std::vector<Case>& cases, const std::string& operand,
                 const std::string& memory) {
  return std::count_if(cases.begin(), cases.end(), [&](const Case& c) {
    const auto found = c.aliases.find(operand);
    return (found == c.aliases.end() ? "" : found->second) == memory;
  });
}

TEST(Aliases, CasesAreMadeBothWays) {
  const std::vector<Case> covering = covering_cases(contract());
  std::vector<Case> drawn;
  for (uint64_t seed = 1; seed <= 300; ++seed)
    drawn.push_back(generate_case(contract(), Seed{seed}));
  std::vector<Case> mutants;
  for (uint64_t seed = 1; seed <= 300; ++seed)
    mutants.push_back(mutate_case(contract(), drawn[seed % 7], Seed{seed}));
  const std::vector<Case>* const all[] = {&covering, &drawn, &mutants};
  for (const std::vector<Case>* cases : all) {
    for (const Case& c : *cases) EXPECT_NO_THROW(instantiate(contract(), c)) << print_case(c);
    for (const char* memory : {"", "x", "w"}) EXPECT_GE(count_in(*cases, "y", memory), 3) << memory;
    for (const char* memory : {"", "x"}) EXPECT_GE(count_in(*cases, "z", memory), 3) << memory;
  }
  int padded = 0;
  for (const Case& c : drawn)
    padded += c.aliases.contains("y") && c.layouts.contains(c.aliases.at("y"));
  EXPECT_GE(padded, 3) << "strides are those of the input";
}

TEST(Aliases, TheShrinkerFirstGivesItsOwnMemory) {
  const Case c = case_of("flags summed=1\nalias y=w z=x\n");
  const std::vector<Case> simpler = simpler_cases(contract(), c);
  ASSERT_GE(simpler.size(), 2u);
  EXPECT_EQ(simpler[0].aliases, (std::map<std::string, std::string>{{"z", "x"}}));
  EXPECT_EQ(simpler[1].aliases, (std::map<std::string, std::string>{{"y", "w"}}));
}

TEST(Aliases, OtherRunsOfAPropertyStayInPlace) {
  const Instance rows = instance_of(
      "alias y=x\nlayout x strides=9,1\nproperty rows_independent(rows) count=1 first=2\n");
  const Variations variations = vary(rows);
  ASSERT_EQ(variations.runs.size(), 1u) << variations.why_none;
  const Instance& other = variations.runs[0].instance;
  EXPECT_TRUE(other.find("y")->is_shared());
  for (int64_t k = 0; k < 5; ++k) EXPECT_EQ(held(other, "y", k), held(rows, "x", 10 + k)) << k;
  EXPECT_EQ(other.find("y")->offset, 18) << "at the address that it has in the batch";
  const Instance scaled = instance_of(
      "flags summed=1\nalias z=x\nvalues x exact limit=8 step=1\n"
      "property scale_invariant(x) exponent=3\n");
  EXPECT_EQ(vary(scaled).why_none, "'z' holds the values of 'x', too");
}

}  // namespace
}  // namespace assay
