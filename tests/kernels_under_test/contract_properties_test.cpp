// `properties`: what is read, and what the formula or the operands contradict.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "kernels_under_test/contract.hpp"

namespace assay {
namespace {

const std::string kFolder = ASSAY_SOURCE_DIR "/tests/data/contracts";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

/// pool.toml with its property replaced, and something else.
std::string pool(const std::string& properties, const std::string& from = "",
                 const std::string& to = "") {
  std::ifstream in(kFolder + "/pool.toml");
  std::ostringstream text;
  text << in.rdbuf();
  std::string out = text.str();
  out = replaced(out, "[\"repeatable\"]", properties);
  return from.empty() ? out : replaced(out, from, to);
}

std::string error_of(const std::string& toml) {
  try {
    parse_contract(toml, kFolder + "/pool.toml");
  } catch (const InputError& error) {
    return std::string(error.what()).substr(kFolder.size() + 1);
  }
  return "no error";
}

TEST(ContractProperties, AreRead) {
  const Contract c = parse_contract(
      pool("[\"rows_independent\", \"knobs_free\", \"shift_invariant( x )\", "
           "\"scale_invariant(x, eps = 0)\", \"padding_free\"]"),
      kFolder + "/pool.toml");
  ASSERT_EQ(c.properties.size(), 5u);
  EXPECT_EQ(c.properties[0].of, "rows");
  EXPECT_EQ(c.properties[1].knobs, (std::vector<std::string>{"BLOCK"}));
  EXPECT_EQ(c.properties[2].of, "x");
  EXPECT_EQ(c.properties[3].zero, "eps");
  EXPECT_EQ(c.properties[3].text(), "scale_invariant(x, eps = 0)");
  EXPECT_EQ(c.properties[4].text(), "padding_free");
  EXPECT_EQ(c.find_property(PropertyKind::shift_invariant, "x"), &c.properties[2]);
  EXPECT_EQ(c.find_property(PropertyKind::shift_invariant, "y"), nullptr);
  EXPECT_TRUE(std::none_of(c.not_yet.begin(), c.not_yet.end(), [](const std::string& key) {
    return key.find("property") != std::string::npos;
  }));
}

TEST(ContractProperties, WhatIsScaledAlongIsRead) {
  const Contract c = parse_contract(
      pool("[\"scale_invariant(x, eps = 0, eps: 2, state : -1)\"]"), kFolder + "/pool.toml");
  const std::vector<std::pair<std::string, int>> along{{"eps", 2}, {"state", -1}};
  EXPECT_EQ(c.properties[0].along, along);
  EXPECT_EQ(c.properties[0].zero, "eps");
  EXPECT_EQ(c.properties[0].text(), "scale_invariant(x, eps = 0, eps: 2, state: -1)");
}

TEST(ContractProperties, WhatCannotBeScaledAlong) {
  const std::pair<const char*, const char*> samples[] = {
      {"eps: 0", "expected 'NAME: POWER' with a whole power from -4 to 4, not 0, found 'eps: 0'"},
      {"eps: 5", "expected 'NAME: POWER' with a whole power"},
      {"eps: 2.5", "expected 'NAME: POWER' with a whole power"},
      {"eps:", "expected 'NAME: POWER' with a whole power"},
      {"esp: 2", "'esp' is no other operand or scalar of a floating type (did you mean 'eps'?)"},
      {"lens: 1", "'lens' is no other operand or scalar of a floating type"},
      {"x: 1", "'x' is no other operand or scalar of a floating type"},
      {"eps: 2, eps: 1", "'eps' stands twice"},
      {"eps = 0, eps = 0", "'eps = 0' stands already"},
      {"eps", "expected 'SCALAR = 0' or 'NAME: POWER' here, found 'eps'"},
  };
  for (const auto& [argument, message] : samples) {
    const std::string error =
        error_of(pool("[\"scale_invariant(x, " + std::string(argument) + ")\"]"));
    EXPECT_NE(error.find(message), std::string::npos) << argument << "\n" << error;
    EXPECT_EQ(error.substr(0, 12), "pool.toml:9:") << error;
  }
}

TEST(ContractProperties, OfRowsThatTheContractTies) {
  const std::string rows = "[\"rows_independent(rows)\"]";
  EXPECT_EQ(error_of(pool(rows)), "no error");
  const struct {
    const char* from;
    const char* to;
    const char* message;
  } samples[] = {
      {"\"cols\"]\nstrides", "\"half: rows * 2\"]\nstrides",
       "cannot hold: the extent rows * 2 of 'x' depends on it"},
      {"\"0..cols-1\"", "\"0..rows-1\"", "cannot hold: the domain of 'lens' depends on it"},
      {"ceil_div(cols, 4)", "ceil_div(rows, 4)", "no error"},
      {"exp(x - m), eps", "exp(x - m), tiles", "no error"},
      {"exp(x - m), eps", "exp(x - m), rows",
       "contradicts the formula, which uses 'rows' in line 51"},
      {"exp(x - m), eps", "exp(x - m), size(rows)",
       "contradicts the formula, which uses 'rows' in line 51"},
      {"exp(x - m), eps", "exp(x - m), x[rows = lens]",
       "contradicts the formula, which uses 'x[rows = lens]' in line 51"},
      {"exp(x - m), eps", "exp(x - m), x[rows, 0]", "no error"},
      {"sum(x, cols)", "sum(x, cols, rows)", "contradicts the formula, which uses 'rows' in line 52"},
  };
  for (const auto& sample : samples) {
    const std::string error = error_of(pool(rows, sample.from, sample.to));
    EXPECT_NE(error.find(sample.message), std::string::npos) << sample.to << "\n" << error;
  }
  const std::string derived =
      error_of(replaced(pool(rows, "exp(x - m), eps", "exp(x - m), tiles"),
                           "ceil_div(cols, 4)", "ceil_div(rows, 4)"));
  EXPECT_NE(derived.find("uses 'tiles'"), std::string::npos) << "by way of derive: " << derived;
}

TEST(ContractProperties, OfRowsThatAnotherOutputSums) {
  // A backward pass: dx by rows, and the weights' gradient, which sums over them.
  const std::string backward = R"toml(
name = "backward"
source = { cuda = "pool.cu", entry = "backward" }
sizes = { rows = { min = 0, max = 700 }, cols = { min = 1, max = 16 } }
launch = { grid = ["rows"], block = [32] }
properties = ["rows_independent(rows)"]
args = [
  { name = "dx", kind = "output", dtype = "f32", shape = ["rows", "cols"] },
  { name = "dw", kind = "output", dtype = "f32", shape = ["cols"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["rows", "cols"] },
]
[formula]
square = "x * x"
total = "sum(square, rows)"
dw = "total"
dx = "x - mean(square, cols)"
)toml";
  EXPECT_EQ(error_of(backward), "no error");
  for (const char* row : {"x - given(dw)", "x - total"}) {
    const std::string error = error_of(replaced(backward, "x - mean(square, cols)", row));
    EXPECT_NE(error.find("contradicts the formula, which uses 'rows' in line 14"),
              std::string::npos)
        << error;
  }
}

TEST(ContractProperties, OfKnobsAndScalarsThatTheContractTies) {
  EXPECT_NE(error_of(pool("[\"knobs_free\"]", "exp(x - m), eps", "exp(x - m), BLOCK"))
                .find("'knobs_free' cannot hold for knob 'BLOCK': the formula depends on it"),
            std::string::npos);
  EXPECT_NE(error_of(pool("[\"knobs_free\"]", "\"cols\"]\nstrides", "\"k: BLOCK\"]\nstrides"))
                .find("the shape of 'x' depends on it"),
            std::string::npos);
  EXPECT_NE(error_of(pool("[\"scale_invariant(x, eps = 0)\"]", "[0.0, 1e-6]", "[1e-5, 1e-6]"))
                .find("scalar 'eps' never is 0: its 'value' lists no 0"),
            std::string::npos);
}

}  // namespace
}  // namespace assay
