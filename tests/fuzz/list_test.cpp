// `assay list`: what a contract admits, as text and as data.
#include <nlohmann/json.hpp>

#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

std::string changed_contract() {
  std::string contract = replaced(
      kScaleContract, "launch =", "knobs = { BLOCK = [64, 128] }\nflags = [\"fast\"]\nlaunch =");
  contract = replaced(contract, "n = { min = 0, max = 5000 }",
                      "n = { max = 5000000000 }, H = { in = [1, 8] }");
  contract = replaced(contract, "x + x", "cast(max(x, x), i8)");
  return replaced(contract, "[policy]\nnan = \"propagate\"",
                  "[accuracy]\npeer_ratio = 2\n[policy]\nzero_order = \"signed\"\ntie = \"first\"");
}

TEST(List, TellsWhatAContractAdmits) {
  const Project p;
  p.folder.write("scale_rows.toml", changed_contract());
  const Outcome o = run_assay({"list", p.contract});
  ASSERT_EQ(o.status, 0) << o.err;
  for (const char* line :
       {"scale_rows\n  T=f32  BLOCK=64|128  fast  (4 variants)\n",
        "\n  sizes n=0..5000000000 H=1|8\n", "\n  policies not stated: nan, cast_overflow\n",
        "\n  sizes n above 2147483647 can never run: scalar n is i32 (", "not yet: "}) {
    EXPECT_NE(o.out.find(line), std::string::npos) << line << "\nin\n" << o.out;
  }
  EXPECT_EQ(o.out.find("policy.tie"), std::string::npos) << "it is implemented\n" << o.out;
}

TEST(List, TellsWhatMayLieInAnInputsMemory) {
  const Project p;
  p.folder.write("scale_rows.toml", replaced(kScaleContract, "shape = [\"n\"] }",
                                             "shape = [\"n\"], may_alias = [\"x\"] }"));
  const Outcome o = run_assay({"list", p.contract});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_NE(o.out.find("\n  y may lie in the memory of x\n"), std::string::npos) << o.out;
  const Outcome data = run_assay({"list", p.contract, "--json"});
  const auto kernel = nlohmann::json::parse(data.out).at("kernels")[0];
  EXPECT_EQ(kernel.at("may_alias").at("y"), (std::vector<std::string>{"x"}));
  EXPECT_TRUE(kernel.at("not_yet").empty());
}

TEST(List, TheSameAsData) {
  const Project p;
  p.folder.write("scale_rows.toml", changed_contract());
  const Outcome o = run_assay({"list", p.contract, "--json"});
  ASSERT_EQ(o.status, 0) << o.err;
  const auto kernel = nlohmann::json::parse(o.out).at("kernels")[0];
  EXPECT_EQ(kernel.at("types").at("T"), (std::vector<std::string>{"f32"}));
  EXPECT_EQ(kernel.at("sizes").at("n").at("max"), 5000000000);
  EXPECT_EQ(kernel.at("sizes").at("H").at("in"), (std::vector<int>{1, 8}));
  EXPECT_EQ(kernel.at("knobs").at("BLOCK"), (std::vector<int>{64, 128}));
  EXPECT_EQ(kernel.at("flags"), (std::vector<std::string>{"fast"}));
  EXPECT_EQ(kernel.at("policies_open"), (std::vector<std::string>{"nan", "cast_overflow"}));
  EXPECT_EQ(kernel.at("not_yet").size(), 1u);
  EXPECT_EQ(kernel.at("notes").size(), 1u);
}

TEST(List, ASourceIsNoContract) {
  const Project p;
  const Outcome o = run_assay({"smoke", p.source});
  EXPECT_EQ(o.status, 2);
  EXPECT_NE(o.err.find("is no contract; did you mean " + p.contract), std::string::npos) << o.err;
}

}  // namespace
}  // namespace assay::testing
