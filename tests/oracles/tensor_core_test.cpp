// Sums in tensor cores: the table, and the bound against simulated hardware that aligns, cuts and
// adds (docs/judging/matmul.md).
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "oracles/tensor_core_table.hpp"
#include "oracles/verdict.hpp"
#include "tests/oracles/fake_run.hpp"
#include "tests/oracles/row_cases.hpp"

namespace assay {
namespace {

using testing::Experiment;
using testing::f32_bits;
using testing::FakeRun;
using testing::told;

/// y = sum(x * w, K), and whatever `more` adds to it.
Contract dot_contract(const std::string& accuracy, const std::string& type = "f16",
                      const std::string& more = "") {
  return parse_contract(R"toml(
name = "dot"
source = { cuda = "row_sum.cu", entry = "dot" }
sizes = { rows = { min = 0, max = 100 }, K = { min = 0, max = 100000 } }
launch = { grid = ["rows"], block = ["32"] }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["rows"] },
  { name = "x", kind = "input", dtype = ")toml" +
                            type + R"toml(", shape = ["rows", "K"] },
  { name = "w", kind = "input", dtype = ")toml" +
                            type + R"toml(", shape = ["K"] },
  { name = "bias", kind = "input", dtype = "f32", shape = ["rows"] },
]
[formula]
y = "sum(x * w, K))toml" + more +
                            R"toml("
[policy]
range = "naive"
[accuracy]
)toml" + accuracy,
                        std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/dot.toml");
}

/// As hardware adds: all addends cut to multiples of a unit below the largest exponent, the sum cut
/// to 24 bits. Away: cut away from zero, which no hardware does but the bound covers.
struct Adder {
  int products = 4;
  bool away = false;

  double cut(double x, double unit) const {
    const double scaled = x / unit;
    return (away ? std::copysign(std::ceil(std::fabs(scaled)), scaled) : std::trunc(scaled)) * unit;
  }
  double step(double c, const double* terms, int count) const {
    double largest = std::fabs(c);
    for (int i = 0; i < count; ++i) largest = std::max(largest, std::fabs(terms[i]));
    if (largest == 0) return 0;
    const double unit = std::ldexp(1.0, std::ilogb(largest) - 23);
    double sum = cut(c, unit);
    for (int i = 0; i < count; ++i) sum += cut(terms[i], unit);
    return sum == 0 ? 0 : cut(sum, std::ldexp(1.0, std::ilogb(sum) - 23));
  }
  /// `c` begins the first part's accumulator, `total` what the parts are added to.
  float dot(const std::vector<double>& terms, int splits, double start = 0, float total = 0) const {
    const auto n = static_cast<int>(terms.size());
    const int tiles = (n + 15) / 16;
    const int each = (tiles + splits - 1) / splits * 16;
    for (int first = 0; first < n; first += each) {
      double c = first == 0 ? start : 0;
      for (int k = first; k < std::min(n, first + each); k += products)
        c = step(c, terms.data() + k, std::min({products, n - k, first + each - k}));
      total += static_cast<float>(c);
    }
    return total;
  }
};

struct Dot {
  Experiment experiment;
  std::vector<double> terms;

  Dot(const Contract& contract, DType type, const std::vector<double>& x,
      const std::vector<double>& w)
      : experiment(contract) {
    const auto n = static_cast<int64_t>(x.size());
    experiment.the_case.sizes = {{"rows", 1}, {"K", n}};
    experiment.put("x", {1, n}, type, x);
    experiment.put("w", {n}, type, w);
    for (size_t k = 0; k < x.size(); ++k)
      terms.push_back(to_double(type, round_to_bits(type, x[k])) *
                      to_double(type, round_to_bits(type, w[k])));
  }
  void set_bias(float bias) {
    std::erase_if(experiment.the_case.overrides,
                  [](const PointOverride& point) { return point.operand == "bias"; });
    experiment.put_bits("bias", {1}, 0, DType::f32, f32_bits(bias));
  }
  Verdict judge(float got) const {
    const Instance instance = experiment.instance();
    FakeRun run(instance);
    run.set("y", 0, f32_bits(got));
    return Judge(experiment.contract).judge(instance, run);
  }
};

std::vector<double> drawn(int n, int style, std::mt19937& rng) {
  std::normal_distribution<double> normal;
  std::vector<double> x(static_cast<size_t>(n));
  for (double& v : x) v = style == 0 ? normal(rng) : style == 1 ? std::fabs(normal(rng)) : 0.1;
  return x;
}

TEST(TensorCores, TableIsOrderedAndAnswersForNewerTargets) {
  const auto& table = tensor_core_table();
  for (size_t k = 1; k < table.size(); ++k)
    if (table[k].input == table[k - 1].input) {
      EXPECT_LT(table[k - 1].architecture, table[k].architecture);
    }
  for (const TensorCoreRow& row : table) {
    EXPECT_GE(row.products, 1);
    EXPECT_FALSE(row.source.empty());
    const auto target = "sm_" + std::to_string(row.architecture);
    EXPECT_EQ(&tensor_core_row(target, row.input), &row);
    EXPECT_EQ(tensor_core_row("sm_999a", row.input).input, row.input);
  }
  EXPECT_FALSE(is_tensor_core_input(DType::f32));
  EXPECT_THROW(tensor_core_row("sm_80", DType::i8), std::out_of_range);
}

TEST(TensorCores, CuttingHardwareIsAccepted) {
  std::mt19937 rng(5);
  for (const DType type : {DType::f16, DType::bf16}) {
    const Contract contract = dot_contract("mma = \"m16n8k16\"\n", std::string(name(type)));
    for (const int n : {1, 15, 16, 17, 64, 1000, 4096})
      for (const int style : {0, 1, 2}) {
        const Dot dot(contract, type, drawn(n, style, rng), drawn(n, style, rng));
        for (const int products : {4, 8, 16})
          for (const int splits : {1, 3, 1000}) {
            const float got = Adder{products}.dot(dot.terms, splits);
            const Verdict v = dot.judge(got);
            EXPECT_EQ(v.outcome, Outcome::pass) << n << " " << style << " " << told(v);
            EXPECT_LE(v.share, 1);
            EXPECT_EQ(dot.judge(Adder{products, true}.dot(dot.terms, splits)).outcome,
                      Outcome::pass);
          }
      }
  }
}

// An H200: the product of 2^-23, a subnormal f16 number, and 1.283 is aligned by the exponent -14,
// and what lies 25 places below is cut.
TEST(TensorCores, SubnormalFactorsAreAlignedAsIfNormal) {
  const Contract contract = dot_contract("mma = \"m16n8k16\"\n");
  const double w1 = to_double(DType::f16, 0x98ed);
  const double w2 = to_double(DType::f16, 0x3d22);
  const Dot dot(contract, DType::f16, {0, 0x1p-24, 0x1p-23}, {0.881, w1, w2});
  const float card = std::bit_cast<float>(0x34241900u);
  const double exact = 0x1p-24 * w1 + 0x1p-23 * w2;
  EXPECT_GT(std::fabs(card - exact), 0x1p-40);
  EXPECT_EQ(dot.judge(card).outcome, Outcome::pass);
  // Four steps of (k + 1) 2^-23 + 2u = 6 2^-23, k = 4, of 2^-14 1.283.
  EXPECT_EQ(dot.judge(static_cast<float>(exact + 24 * 0x1p-37 * 1.2)).outcome, Outcome::pass);
  EXPECT_EQ(dot.judge(static_cast<float>(exact + 24 * 0x1p-37 * 1.4)).outcome, Outcome::mismatch);
  // The least normal number is normal: its sum with a neighbour is exact.
  const Dot normal(contract, DType::f16, {0x1p-14, 0x1p-13}, {1, 1});
  EXPECT_EQ(normal.judge(0x1.8p-13f).outcome, Outcome::pass);
  EXPECT_EQ(normal.judge(0x1.800002p-13f).outcome, Outcome::mismatch);
  // Zeros beside integers leave them exact.
  const Dot zeros(contract, DType::f16, {0, 3, 0, 5}, {7, 2, 0, 1});
  EXPECT_EQ(zeros.judge(11).outcome, Outcome::pass);
  EXPECT_EQ(zeros.judge(0x1.600002p3f).outcome, Outcome::mismatch);
}

// Codes of a sum in tensor cores are judged by what may have overflowed on the way, which evaluates
// the sum again by itself: its factors are there, too.
TEST(TensorCores, CodesOfASumWithSubnormalFactors) {
  const Contract contract = parse_contract(R"toml(
name = "codes"
source = { cuda = "row_sum.cu", entry = "codes" }
sizes = { rows = { min = 0, max = 100 }, K = { min = 0, max = 100000 } }
launch = { grid = ["rows"], block = ["32"] }
args = [
  { name = "y", kind = "output", dtype = "i8", shape = ["rows"] },
  { name = "x", kind = "input", dtype = "bf16", shape = ["rows", "K"] },
  { name = "w", kind = "input", dtype = "bf16", shape = ["K"] },
]
[formula]
y = "quant(sum(x * w, K), i8)"
[policy]
range = "naive"
nan = "propagate"
[accuracy]
mma = "m16n8k16"
)toml",
                                           std::string(ASSAY_SOURCE_DIR) +
                                               "/kernels_under_test/kernels/codes.toml");
  Experiment experiment(contract);
  experiment.the_case.sizes = {{"rows", 1}, {"K", 3}};
  experiment.put("x", {1, 3}, DType::bf16, {0x1p-130, 0x1.8p127, 3});
  experiment.put("w", {3}, DType::bf16, {1, 2, 2});
  const Instance instance = experiment.instance();
  const auto outcome = [&](uint64_t code) {
    FakeRun run(instance);
    run.set("y", 0, code);
    return Judge(contract).judge(instance, run).outcome;
  };
  EXPECT_EQ(outcome(127), Outcome::pass);
  EXPECT_EQ(outcome(6), Outcome::mismatch);
}

TEST(TensorCores, WithoutTheFactCuttingAllTheWayIsRejected) {
  // Positive products, each step cut: the errors add up beyond those of rounding to nearest.
  std::mt19937 rng(9);
  const std::vector<double> x = drawn(1024, 1, rng);
  const Contract nearest = dot_contract("depth = 10\n");
  const Dot dot(nearest, DType::f16, x, x);
  EXPECT_EQ(dot.judge(Adder{4}.dot(dot.terms, 1)).outcome, Outcome::mismatch);
  const Contract tensor = dot_contract("mma = \"m16n8k16\"\n");
  EXPECT_EQ(Dot(tensor, DType::f16, x, x).judge(Adder{4}.dot(dot.terms, 1)).outcome, Outcome::pass);
}

TEST(TensorCores, ExactDataLeavesNoRoom) {
  const Contract contract = dot_contract("mma = \"m16n8k16\"\n");
  std::vector<double> x;
  std::vector<double> w;
  double total = 0;
  float narrow = 0;
  for (int k = 0; k < 256; ++k) {
    x.push_back(1024 + (k * 37) % 1000);
    w.push_back(k % 2 == 0 ? 1 : -1);
    total += x.back() * w.back();
    narrow = static_cast<float>(to_double(
        DType::f16, round_to_bits(DType::f16, static_cast<double>(narrow) + x.back() * w[k])));
  }
  const Dot dot(contract, DType::f16, x, w);
  const auto exact = static_cast<float>(total);
  EXPECT_EQ(dot.judge(exact).outcome, Outcome::pass);
  EXPECT_EQ(dot.judge(Adder{4}.dot(dot.terms, 3)).outcome, Outcome::pass);
  EXPECT_EQ(dot.judge(std::nextafter(exact, 1e9f)).outcome, Outcome::mismatch);
  // An f16 accumulator: sums of numbers from 1024 on keep whole units up to 2047 only.
  std::vector<double> up(x);
  const Dot rising(contract, DType::f16, up, std::vector<double>(up.size(), 1.0));
  float in_half = 0;
  for (const double t : rising.terms)
    in_half = static_cast<float>(
        to_double(DType::f16, round_to_bits(DType::f16, static_cast<double>(in_half) + t)));
  EXPECT_EQ(rising.judge(in_half).outcome, Outcome::mismatch);
}

// Products of bf16 reach far below 2^-149: multiples of a quantum all the same, but no accumulator
// holds them, and each instruction rounds what it has.
TEST(TensorCores, ProductsBelowTheAccumulatorAreNotExact) {
  const Contract contract = dot_contract("mma = \"m16n8k16\"\n", "bf16");
  std::vector<double> x(64, 0);
  for (size_t k = 0; k < 64; k += 16) x[k] = 0x1p-80;  // one an instruction
  const Dot dot(contract, DType::bf16, x, std::vector<double>(64, 0x1p-70));
  // Four times 2^-150 is 2^-148; to nearest even each is lost, cut away from 0 none.
  for (const float got : {0.0f, 0x1p-148f, 0x1p-147f})
    EXPECT_EQ(dot.judge(got).outcome, Outcome::pass) << got;
  EXPECT_EQ(dot.judge(0x1p-140f).outcome, Outcome::mismatch);
  EXPECT_EQ(dot.judge(NAN).outcome, Outcome::mismatch);
  // Multiples of 2^-149 are what f32 holds: nothing may be lost.
  const Dot held(contract, DType::bf16, x, std::vector<double>(64, 0x1p-69));
  EXPECT_EQ(held.judge(0x1p-147f).outcome, Outcome::pass);
  EXPECT_EQ(held.judge(0x1.8p-148f).outcome, Outcome::mismatch);
}

// mma with C = bias, a split that begins with it, atomics onto it, or an addition at the end.
TEST(TensorCores, AStartMayBeTheAccumulatorOfThePartsOrComeLast) {
  std::mt19937 rng(11);
  const Contract contract = dot_contract("mma = \"m16n8k16\"\n", "f16", " + bias");
  int differ = 0;
  for (const int n : {1, 16, 100, 1000})
    for (const int style : {0, 1, 2})
      for (const double scale : {1e-3, 1.0, 1e5}) {
        const std::vector<double> x = drawn(n, style, rng);
        Dot dot(contract, DType::f16, x, drawn(n, style, rng));
        const float sum = Adder{8}.dot(dot.terms, 1);
        // Of any size, and such that little is left.
        const auto bias = scale == 1.0 ? -sum * 0.999f : static_cast<float>(scale) * 0.7f;
        dot.set_bias(bias);
        for (const int products : {4, 8, 16})
          for (const int splits : {1, 3}) {
            const Adder adder{products, splits == 3};
            const float last = adder.dot(dot.terms, splits) + bias;
            const float first = adder.dot(dot.terms, splits, static_cast<double>(bias));
            for (const float got : {last, first, adder.dot(dot.terms, splits, 0, bias)})
              ASSERT_EQ(dot.judge(got).outcome, Outcome::pass) << n << " " << style << " " << scale;
            differ += first != last ? 1 : 0;
          }
        if (scale < 1) continue;
        for (const float got : {sum, sum + 2 * bias})  // left out; added by each of two parts
          ASSERT_EQ(dot.judge(got).outcome, Outcome::mismatch) << n << " " << style << " " << scale;
      }
  EXPECT_GT(differ, 20);
}

TEST(TensorCores, AnExactStartBesideExactProductsLeavesNoRoom) {
  const Contract contract = dot_contract("mma = \"m16n8k16\"\n", "f16", " + bias");
  std::vector<double> x;
  for (int k = 0; k < 100; ++k) x.push_back((k * 37) % 64 - 31);
  Dot dot(contract, DType::f16, x, std::vector<double>(100, 3));
  for (const float bias : {5.0f, 100000.0f}) {
    dot.set_bias(bias);
    const float exact = Adder{4}.dot(dot.terms, 1) + bias;
    EXPECT_EQ(dot.judge(exact).outcome, Outcome::pass);
    EXPECT_EQ(dot.judge(Adder{4}.dot(dot.terms, 3, static_cast<double>(bias))).outcome,
              Outcome::pass);
    EXPECT_EQ(dot.judge(std::nextafter(exact, INFINITY)).outcome, Outcome::mismatch);
    EXPECT_EQ(dot.judge(exact - 93).outcome, Outcome::mismatch);  // a product left out
  }
  // 0.1 has bits below the integers': the start may lose them in each step, and no more.
  dot.set_bias(0.1f);
  const float exact = Adder{4}.dot(dot.terms, 1) + 0.1f;
  EXPECT_EQ(dot.judge(Adder{4}.dot(dot.terms, 1, static_cast<double>(0.1f))).outcome,
            Outcome::pass);
  EXPECT_EQ(dot.judge(exact + 1).outcome, Outcome::mismatch);
}

TEST(TensorCores, FullPrecisionFactorsAddInTheOrdinaryWay) {
  std::mt19937 rng(9);
  const std::vector<double> x = drawn(1024, 1, rng);
  const Dot dot(dot_contract("mma = \"m16n8k16\"\ndepth = { K = 10 }\n", "f32"), DType::f32, x, x);
  const Dot narrow(dot_contract("mma = \"m16n8k16\"\n"), DType::f16, x, x);
  EXPECT_EQ(dot.judge(Adder{4}.dot(dot.terms, 1)).outcome, Outcome::mismatch);
  EXPECT_EQ(narrow.judge(Adder{4}.dot(narrow.terms, 1)).outcome, Outcome::pass);
}

TEST(TensorCores, FiniteProductsBeyondTheRange) {
  // In order: +1e40 overflows, then -1e60 beside an infinity.
  const Contract contract = dot_contract("mma = \"m16n8k16\"\n", "bf16");
  std::vector<double> x(32, 0);
  std::vector<double> w(32, 1e30);
  x[0] = 1e10;
  x[31] = -1e30;
  const Dot dot(contract, DType::bf16, x, w);
  for (const float got : {INFINITY, -INFINITY, NAN})
    EXPECT_EQ(dot.judge(got).outcome, Outcome::pass) << got;
  x[0] = 1e-10;
  const Dot one_sign(contract, DType::bf16, x, w);
  EXPECT_EQ(one_sign.judge(-INFINITY).outcome, Outcome::pass);
  EXPECT_EQ(one_sign.judge(INFINITY).outcome, Outcome::mismatch);
  EXPECT_EQ(one_sign.judge(1e20f).outcome, Outcome::mismatch);
}

TEST(TensorCores, ExactPartialSumsThatAreSubnormalMayBeFlushed) {
  const std::vector<double> x{0x1p-100, 0x1p-100, 0x1p-100, -0x1p-100};
  const std::vector<double> w{0x1p-26, 0x1.8p-27, -0x1p-26, -0x1p-25};
  for (const bool flush : {false, true}) {
    Contract contract = dot_contract("mma = \"m16n8k16\"\n", "bf16");
    contract.policy.subnormals = flush ? SubnormalPolicy::flush : SubnormalPolicy::keep;
    const Dot dot(contract, DType::bf16, x, w);
    EXPECT_EQ(dot.judge(0x1.6p-125f).outcome, Outcome::pass);
    // The second product is below 2^-126.
    EXPECT_EQ(dot.judge(0x1p-125f).outcome, flush ? Outcome::pass : Outcome::mismatch);
  }
}

TEST(TensorCores, DepthOfOneDimension) {
  std::mt19937 rng(9);
  const std::vector<double> x = drawn(4096, 1, rng);
  const Contract loose = dot_contract("mma = \"m16n8k16\"\n");
  const Contract tight = dot_contract("mma = \"m16n8k16\"\ndepth = { K = 20 }\n");
  const Dot free(loose, DType::f16, x, x);
  const float got = Adder{4}.dot(free.terms, 1);
  EXPECT_EQ(free.judge(got).outcome, Outcome::pass);
  EXPECT_EQ(Dot(tight, DType::f16, x, x).judge(got).outcome, Outcome::mismatch);
  EXPECT_EQ(Dot(tight, DType::f16, x, x).judge(Adder{4}.dot(free.terms, 16)).outcome,
            Outcome::pass);
}

}  // namespace
}  // namespace assay
