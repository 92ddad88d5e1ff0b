// On exact data nothing is allowed: a single product left out of a matrix product shows, unless
// that product is 0. Those are few: odd witness rows end in an element that is not 0.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "generators/generate.hpp"
#include "tests/oracles/fake_run.hpp"
#include "tests/oracles/wide_cases.hpp"

namespace assay {
namespace {

using testing::f32_bits;
using testing::FakeRun;
using testing::values_of;

/// The product of the case's matrices, in doubles: exact for data of class exact.
struct Product {
  int64_t rows, cols, depth;
  std::vector<double> x, w;
  explicit Product(const Instance& instance)
      : rows(instance.names.at("M")),
        cols(instance.names.at("N")),
        depth(instance.names.at("K")),
        x(values_of(instance, "x")),
        w(values_of(instance, "w")) {}
  double term(int64_t i, int64_t j, int64_t k) const {
    return x[static_cast<size_t>(i * depth + k)] * w[static_cast<size_t>(k * cols + j)];
  }
  double element(int64_t i, int64_t j) const {
    double sum = 0;
    for (int64_t k = 0; k < depth; ++k) sum += term(i, j, k);
    return sum;
  }
};

TEST(ExactData, EveryDroppedProductOfAMatrixProductShowsUnlessItIsZero) {
  const Contract contract = testing::tree_contract("matmul");
  const Judge judge(contract);
  int64_t dropped = 0;
  int64_t zeros = 0;
  for (uint64_t seed = 1; seed <= 6000 && dropped < 900; ++seed) {
    Case c = generate_case(contract, Seed{seed}, 1 << 12);
    const std::string classes = c.values["x"].name + " " + c.values["w"].name;
    if (classes != "exact exact" && classes != "witness equal" && classes != "equal witness")
      continue;
    c.blocks.clear();
    c.overrides.clear();
    const Instance instance = instantiate(contract, c);
    const Product product(instance);
    if (product.rows * product.cols * product.depth == 0 || product.rows * product.cols > 4096)
      continue;
    FakeRun run(instance);
    for (int64_t i = 0; i < product.rows; ++i)
      for (int64_t j = 0; j < product.cols; ++j)
        run.set("y", i * product.cols + j, f32_bits(static_cast<float>(product.element(i, j))));
    ASSERT_EQ(judge.judge(instance, run).outcome, Outcome::pass) << "seed " << seed;
    const auto at = static_cast<int64_t>(seed);
    const int64_t i = at % product.rows;
    const int64_t j = at / 3 % product.cols;
    for (const int64_t k : {int64_t{0}, at % product.depth, product.depth - 1}) {
      const double left = product.element(i, j) - product.term(i, j, k);
      run.set("y", i * product.cols + j, f32_bits(static_cast<float>(left)));
      const bool zero = product.term(i, j, k) == 0;
      EXPECT_EQ(judge.judge(instance, run).outcome, zero ? Outcome::pass : Outcome::mismatch)
          << "seed " << seed << " k " << k << " " << classes;
      ++dropped;
      zeros += zero ? 1 : 0;
    }
  }
  RecordProperty("dropped", static_cast<int>(dropped));
  RecordProperty("zeros", static_cast<int>(zeros));
  EXPECT_GE(dropped, 200);
  EXPECT_LT(zeros, dropped / 50);
}

/// Sums of doubles of either sign round, each order in its own way, unless every bit has its place.
TEST(ExactData, SumsOfDoublesRoundUnlessTheirBitsFit) {
  std::mt19937_64 random(9);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> x(2 + static_cast<size_t>(trial % 5));
    for (double& v : x)
      v = (random() % 4 == 0 ? 1.0 : -1.0) * (1 + static_cast<double>(random() >> 11) * 0x1p-52);
    double forwards = 0;
    for (const double v : x) forwards += v;
    double backwards = 0;
    for (size_t k = x.size(); k-- > 0;) backwards += x[k];
    for (const double sum : {forwards, backwards})
      EXPECT_EQ(testing::wide_sum("sum(x, cols) * 3", testing::kSafe, x, sum * 3).outcome,
                Outcome::pass)
          << sum;
  }
  const std::vector<double> fits{-0x1.8p52 - 1, -0x1p50 - 1, 0x1p49 + 1};
  const double exact = fits[0] + fits[1] + fits[2];
  EXPECT_EQ(testing::wide_sum("sum(x, cols) * 3", testing::kSafe, fits, exact * 3).outcome,
            Outcome::pass);
  for (const double off : {-2.0, 2.0})
    EXPECT_EQ(
        testing::wide_sum("sum(x, cols) * 3", testing::kSafe, fits, (exact + off) * 3).outcome,
        Outcome::mismatch);
}

}  // namespace
}  // namespace assay
