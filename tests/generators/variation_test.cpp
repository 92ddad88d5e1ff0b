// The other runs of a property: what they hold, and when there is none.
#include "generators/variation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "generators/generate.hpp"
#include "tests/generators/contracts.hpp"

namespace assay {
namespace {

using namespace testing_contracts;

/// Rows are the outer dimension of x, the inner one of t and the only one of i; w has none.
const Contract& batch() {
  static const Contract contract = parsed(R"toml(
name = "batch"
source = { cuda = "kernel.cu", entry = "batch" }
sizes = { rows = { min = 0, max = 300 }, cols = { min = 0, max = 300 } }
knobs = { BLOCK = [64, 128] }
launch = { grid = ["rows"], block = ["BLOCK"] }
owns = { y = "rows == block.x" }
properties = ["rows_independent(rows)", "padding_free", "repeatable", "layout_free", "knobs_free",
              "shift_invariant(x)", "scale_invariant(x, eps = 0)"]
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["rows", "cols"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["rows", "cols"], strides = ["any", 1] },
  { name = "t", kind = "input", dtype = "f16", shape = ["cols", "rows"] },
  { name = "i", kind = "index", dtype = "i32", shape = ["rows"], domain = "0..7" },
  { name = "w", kind = "input", dtype = "f32", shape = ["cols"] },
  { name = "lens", kind = "index", dtype = "i32", shape = ["rows"], domain = "0..3" },
  { name = "d", kind = "input", dtype = "f32", shape = ["rows", "cols"], live = "cols < lens[rows]" },
  { name = "eps", kind = "scalar", dtype = "f32", value = [1e-6, 0.0] },
]
[formula]
y = "where(cols < lens, x * t * w * i * d + eps, 0)"
[policy]
nan = "propagate"
)toml");
  return contract;
}

Instance instance_of(const std::string& body) {
  return instantiate(batch(), parse_case("assay-case 1\nkernel batch\n" + body +
                                             "seeds values=0x9\nend\n",
                                         "f.case"));
}

uint64_t value(const Instance& instance, const char* operand, std::vector<int64_t> at) {
  const Tensor& tensor = *instance.find(operand);
  uint64_t bits = 0;
  logical_values(instance, tensor, tensor.linear(at), 1, reinterpret_cast<uint8_t*>(&bits));
  return bits;
}

/// The same element by way of the buffer, as a device sees it.
uint64_t stored(const Instance& instance, const char* operand, std::vector<int64_t> at) {
  const Tensor& tensor = *instance.find(operand);
  const int size = byte_size(tensor.dtype);
  uint64_t bits = 0;
  storage_bytes(instance, tensor, tensor.storage_of(tensor.linear(at)) * size, size,
                reinterpret_cast<uint8_t*>(&bits));
  return bits;
}

TEST(Variation, RowsAreThoseOfTheBatch) {
  const Instance base = instance_of(
      "sizes rows=20 cols=7\nknobs BLOCK=64\nlayout x strides=11,1 offset=3\n"
      "set x[13,2] = 0x7f800000\nproperty rows_independent(rows) count=3 first=12\n");
  const Variations variations = vary(base);
  ASSERT_EQ(variations.runs.size(), 1u) << variations.why_none;
  const Variation& run = variations.runs[0];
  EXPECT_EQ(run.instance.names.at("rows"), 3);
  EXPECT_EQ(run.first, 12);
  EXPECT_EQ(run.dimension, "rows");
  for (int64_t r = 0; r < 3; ++r) {
    EXPECT_EQ(value(run.instance, "i", {r}), value(base, "i", {r + 12}));
    for (int64_t c = 0; c < 7; ++c) {
      EXPECT_EQ(value(run.instance, "x", {r, c}), value(base, "x", {r + 12, c}));
      EXPECT_EQ(stored(run.instance, "x", {r, c}), stored(base, "x", {r + 12, c}));
      EXPECT_EQ(value(run.instance, "t", {c, r}), value(base, "t", {c, r + 12}));
      EXPECT_EQ(stored(run.instance, "t", {c, r}), stored(base, "t", {c, r + 12}));
      EXPECT_EQ(value(run.instance, "d", {r, c}), value(base, "d", {r + 12, c})) << "dead, too";
      EXPECT_EQ(value(run.instance, "w", {c}), value(base, "w", {c}));
    }
  }
  EXPECT_EQ(value(run.instance, "x", {1, 2}), 0x7f800000u) << "overrides go along";
  // A row keeps its address, modulo the alignment of bases.
  const Tensor& mine = *run.instance.find("x");
  const Tensor& theirs = *base.find("x");
  EXPECT_EQ((mine.storage_of(0) - theirs.storage_of(theirs.linear({12, 0}))) * 4 % 256, 0);
}

TEST(Variation, SchedulesAndASecondRun) {
  const Instance base =
      instance_of("sizes rows=2 cols=2\nknobs BLOCK=64\nproperty repeatable blocks=5 warps=6\n");
  const Variations variations = vary(base);
  ASSERT_EQ(variations.runs.size(), 2u);
  EXPECT_EQ(variations.runs[0].instance.the_case.block_seed, 5u);
  EXPECT_EQ(variations.runs[0].instance.the_case.warp_seed, 6u);
  EXPECT_EQ(variations.runs[1].instance.the_case.warp_seed, base.the_case.warp_seed);
  EXPECT_TRUE(variations.runs[0].instance.the_case.property.name.empty());
}

TEST(Variation, PaddingAndDeadEntriesHoldAnotherPoison) {
  const Instance base = instance_of(
      "sizes rows=2 cols=5\nknobs BLOCK=64\nlayout x strides=8,1\n"
      "values lens index_first\nproperty padding_free poison=inf\n");
  const Variations variations = vary(base);
  ASSERT_EQ(variations.runs.size(), 1u) << variations.why_none;
  const Instance& other = variations.runs[0].instance;
  uint32_t row[8], usual[8];
  storage_bytes(other, *other.find("x"), 0, sizeof row, reinterpret_cast<uint8_t*>(row));
  storage_bytes(base, *base.find("x"), 0, sizeof usual, reinterpret_cast<uint8_t*>(usual));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(row[i], usual[i]) << "elements stay";
  for (int i = 5; i < 8; ++i) {
    EXPECT_EQ(row[i], 0x7f800000u);
    EXPECT_EQ(usual[i], poison_bits(DType::f32));
  }
  EXPECT_EQ(value(other, "d", {0, 0}), 0x7f800000u) << "no entry is live with lens 0";
  EXPECT_EQ(value(other, "y", {0, 0}), poison_bits(DType::f32)) << "outputs keep theirs";
}

TEST(Variation, PoisonOfEachType) {
  EXPECT_EQ(poison_bits(DType::f16, Poison::largest), 0x7bffu);
  EXPECT_EQ(poison_bits(DType::f16, Poison::negative_infinity), 0xfc00u);
  EXPECT_EQ(poison_bits(DType::e4m3, Poison::infinity), 0x7eu) << "it has none: the largest";
  EXPECT_EQ(poison_bits(DType::i32, Poison::lowest), 0x80000000u);
  EXPECT_EQ(poison_bits(DType::i64, Poison::largest), 0x7fffffffffffffffu);
  EXPECT_EQ(poison_bits(DType::u8, Poison::lowest), 0u);
  EXPECT_EQ(poison_bits(DType::u64, Poison::largest), ~uint64_t{0});
  EXPECT_EQ(poison_bits(DType::bf16, Poison::one), 0x3f80u);
}

TEST(Variation, ShiftedAndScaledExactly) {
  const Instance shifted = instance_of(
      "sizes rows=4 cols=5\nknobs BLOCK=64\nvalues x exact limit=8 step=1\n"
      "property shift_invariant(x) by=-100\n");
  const Variations shift = vary(shifted);
  ASSERT_EQ(shift.runs.size(), 1u) << shift.why_none;
  const Instance scaled = instance_of(
      "sizes rows=4 cols=5\nknobs BLOCK=64\nvalues x exact limit=8 step=1\nscalars eps=1\n"
      "property scale_invariant(x) exponent=3\n");
  const Variations scale = vary(scaled);
  ASSERT_EQ(scale.runs.size(), 1u) << scale.why_none;
  for (int64_t c = 0; c < 5; ++c) {
    const double x = to_double(DType::f32, value(shifted, "x", {3, c}));
    EXPECT_EQ(to_double(DType::f32, value(shift.runs[0].instance, "x", {3, c})), x - 100);
    EXPECT_EQ(to_double(DType::f32, value(scale.runs[0].instance, "x", {3, c})), x * 8);
    EXPECT_EQ(value(shift.runs[0].instance, "w", {c}), value(shifted, "w", {c}));
  }
}

TEST(Variation, WhatIsScaledAlongIsScaled) {
  const Contract scaled = parsed(R"toml(
name = "scaled"
source = { cuda = "kernel.cu", entry = "scaled" }
sizes = { n = { min = 0, max = 300 } }
launch = { grid = ["n"], block = [64] }
properties = ["scale_invariant(x, r: 1, eps: 2, s: -1)"]
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["n"] },
  { name = "s", kind = "output", dtype = "f32", shape = [1] },
  { name = "r", kind = "inout", dtype = "f32", shape = ["n"], may_alias = ["x"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["n"] },
  { name = "w", kind = "input", dtype = "f32", shape = ["n"] },
  { name = "eps", kind = "scalar", dtype = "f32", value = [1e-6, 1e-30] },
]
[formula]
t = "x + r.before"
s = "rsqrt(mean(t * t, n) + eps)"
r = "t"
y = "t * w * s"
)toml");
  const auto variations = [&](const std::string& lines) {
    return vary(instantiate(scaled, parse_case("assay-case 1\nkernel scaled\nsizes n=5\n"
                                               "values x exact limit=8 step=1\n" +
                                                   lines + "seeds values=0x9\nend\n",
                                               "f.case")));
  };
  const std::string exponent = "property scale_invariant(x) exponent=3\n";
  for (const char* lines : {"values r exact limit=8 step=1\n", "alias r=x\n"}) {
    const Variations scale = variations(lines + exponent);
    ASSERT_EQ(scale.runs.size(), 1u) << scale.why_none;
    const Variation& run = scale.runs[0];
    const Instance& base = *run.instance.derivation->base;
    for (int64_t k = 0; k < 5; ++k) {
      for (const char* operand : {"x", "r"})
        EXPECT_EQ(to_double(DType::f32, value(run.instance, operand, {k})),
                  8 * to_double(DType::f32, value(base, operand, {k})));
      EXPECT_EQ(value(run.instance, "w", {k}), value(base, "w", {k}));
    }
    EXPECT_EQ(run.instance.find("eps")->scalar_value, 64 * base.find("eps")->scalar_value);
    EXPECT_EQ(run.instance.find("eps")->scalar_bits,
              round_to_bits(DType::f32, run.instance.find("eps")->scalar_value));
    EXPECT_EQ(run.exponents, (std::map<std::string, int>{{"r", 3}, {"s", -3}}));
    EXPECT_EQ(run.text, "x times 2^3, r times 2^3, eps times 2^6, s times 2^-3");
  }
  EXPECT_EQ(variations("values r subnormal\n" + exponent).why_none,
            "the changed values are not exact, or not admitted")
      << "r holds numbers that are too small";
  EXPECT_EQ(variations("values r exact limit=8 step=1\nscalars eps=1\n"
                       "property scale_invariant(x) exponent=-20\n")
                .why_none,
            "'eps' has no exact counterpart");
}

TEST(Variation, NoneWhereNothingCouldBeConcluded) {
  const std::string sizes = "sizes rows=4 cols=5\nknobs BLOCK=64\n";
  const std::pair<std::string, std::string> samples[] = {
      {"values x normal\nproperty shift_invariant(x) by=100\n", "not exact"},
      {"values x exact limit=8 step=1\nproperty scale_invariant(x) exponent=3\n", "'eps' is not 0"},
      {"values x exact limit=8 step=1\nscalars eps=1\n"
       "property scale_invariant(x) exponent=32\n",
       "not exact"},
      {"property layout_free\n", "contiguous already"},
      {"layout x strides=0,1\nproperty layout_free\n", "broadcast"},
      {"property knobs_free BLOCK=64\n", "the same"},
      {"blocks 1\nproperty knobs_free BLOCK=128\n", "a few blocks run"},
  };
  for (const auto& [line, why] : samples) {
    const Variations variations = vary(instance_of(sizes + line));
    EXPECT_TRUE(variations.runs.empty()) << line;
    EXPECT_NE(variations.why_none.find(why), std::string::npos) << line << variations.why_none;
  }
}

TEST(Variation, MistakesOfALine) {
  const std::string head = "assay-case 1\nkernel batch\nsizes rows=4 cols=5\nknobs BLOCK=64\n";
  const std::pair<const char*, const char*> samples[] = {
      {"property rows_independant(rows) count=1 first=0",
       "f.case:5:10: the contract states no property 'rows_independant(rows)'; it states "},
      {"property rows_independent(cols) count=1 first=0",
       "f.case:5:10: the contract states no property 'rows_independent(cols)'; it states "},
      {"property rows_independent(rows) first=0", "f.case:5:10: property rows_independent needs count="},
      {"property rows_independent(rows) count=5 first=0", "f.case:5:33: count=5 is outside [1, 4]"},
      {"property rows_independent(rows) count=2 first=3", "f.case:5:41: first=3 is outside [0, 2]"},
      {"property repeatable blocks=1 warps=2 lanes=3",
       "f.case:5:38: property repeatable has no 'lanes'; it has blocks, warps"},
      {"property repeatable blocks=1 warps=2 poison=one",
       "f.case:5:38: property repeatable has no 'poison'"},
      {"property padding_free", "f.case:5:10: expected poison=, one of zero, one, "},
      {"property padding_free poison=ones",
       "f.case:5:23: expected poison=, one of zero, one, largest, lowest, inf, negative_inf; not "
       "'ones'"},
      {"property knobs_free BLOCK=65", "f.case:5:21: knob BLOCK has no value 65"},
      {"property shift_invariant(x) by=0", "f.case:5:29: a shift by 0 changes nothing"},
      {"property scale_invariant(x) exponent=33",
       "f.case:5:29: exponent=33 is outside [-32, 32]"},
  };
  for (const auto& [line, message] : samples) {
    try {
      instantiate(batch(), parse_case(head + line + "\nend\n", "f.case"));
      ADD_FAILURE() << line;
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()).substr(0, std::strlen(message)), message);
    }
  }
}

TEST(Variation, GeneratedCasesCompareEachPropertyInABoundedShare) {
  std::map<std::string, int> compared;
  int large_batches = 0;
  int cases = 0, with = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed, ++cases) {
    const Case c = generate_case(batch(), Seed{seed});
    EXPECT_EQ(parse_case(print_case(c), "f.case"), c);
    if (c.property.name.empty()) continue;
    ++with;
    large_batches += c.property.name == "rows_independent" && c.sizes.at("rows") >= 255;
    ++compared[c.property.name];
    EXPECT_EQ(vary(instantiate(batch(), c)).why_none, "") << print_case(c);
  }
  EXPECT_EQ(compared.size(), 7u);
  for (const auto& [name, count] : compared) EXPECT_GE(count, 8) << name;
  EXPECT_GE(large_batches, 5) << "sizes at which a kernel may choose another way";
  EXPECT_GT(with, cases / 20);
  EXPECT_LT(with, cases / 5);

  std::map<std::string, int> covered;
  for (const Case& c : covering_cases(batch())) ++covered[c.property.name];
  covered.erase("");
  EXPECT_EQ(covered.size(), 7u);
}

TEST(Variation, MutantsAndSimplerCasesStayValid) {
  Case c = instance_of(
               "sizes rows=20 cols=7\nknobs BLOCK=64\n"
               "property rows_independent(rows) count=3 first=12\n")
               .the_case;
  Case plain = c;
  plain.property = {};
  int of_plain = 0, of_compared = 0, keeping = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const Case mutant = mutate_case(batch(), c, Seed{seed});
    EXPECT_NO_THROW(instantiate(batch(), mutant)) << print_case(mutant);
    const Case crossed = cross_cases(batch(), mutant, c, Seed{seed});
    EXPECT_NO_THROW(instantiate(batch(), crossed));
    of_compared += !mutant.property.name.empty();
    const Case kept = mutate_case(batch(), c, Seed{seed}, {{}, true});
    EXPECT_NO_THROW(instantiate(batch(), kept)) << print_case(kept);
    keeping += kept.property == c.property;
    of_plain += !mutate_case(batch(), plain, Seed{seed}).property.name.empty();
  }
  // As often as fresh cases, whatever the parent: one in eight.
  EXPECT_GT(of_plain, 25);
  EXPECT_LT(of_plain, 75);
  EXPECT_GT(of_compared, 25);
  EXPECT_LT(of_compared, 75);
  EXPECT_GT(keeping, 300) << "but where a size no longer allows it";
  bool dropped = false, fewer = false;
  for (const Case& simpler : simpler_cases(batch(), c)) {
    EXPECT_NO_THROW(instantiate(batch(), simpler)) << print_case(simpler);
    dropped |= simpler.property.name.empty();
    fewer |= simpler.sizes.at("rows") < 12 && !simpler.property.name.empty();
  }
  EXPECT_TRUE(dropped);
  EXPECT_TRUE(fewer) << "the rows that are left take the place of those compared";
}

}  // namespace
}  // namespace assay
