// How near a correct kernel of each family comes to its allowance (docs/judging/): rows, orders of
// adding, contractions and the errors of functions are changed towards what uses most of it. None
// may pass it, and the search has to come as near as the pages say.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "tests/oracles/row_cases.hpp"

namespace assay {
namespace {

using testing::Order;
using testing::summed;
using testing::told;

using Row = std::vector<float>;

/// What a correct kernel may choose.
struct Way {
  Order order = Order::sequential;
  bool fused = false;
  bool reciprocal = false;
  int ulps[3] = {0, 0, 0};  ///< by which exp, log and rsqrt miss the correctly rounded result

  static float moved(double exact, int by) {
    auto f = static_cast<float>(exact);
    for (int k = 0; k < std::abs(by); ++k) f = std::nextafter(f, by > 0 ? INFINITY : -INFINITY);
    return f;
  }
  float exp(float x) const {
    const double exact = std::exp(static_cast<double>(x));
    return x == 0 ? 1 : std::fmax(0.0f, moved(exact, ulps[0]));
  }
  float log(float x) const { return x == 1 ? 0 : moved(std::log(static_cast<double>(x)), ulps[1]); }
  float rsqrt(float x) const { return moved(1 / std::sqrt(static_cast<double>(x)), ulps[2]); }

  float sum(const Row& x) const { return summed(x, order); }
  float over(float x, float by) const { return reciprocal ? x * (1 / by) : x / by; }
  float mean(const Row& x) const { return over(sum(x), static_cast<float>(x.size())); }
  float dot(const Row& x, const Row& w) const {
    Row products;
    float total = 0;
    for (size_t k = 0; k < x.size(); ++k) {
      products.push_back(x[k] * w[k]);
      total = std::fma(x[k], w[k], total);
    }
    return fused ? total : sum(products);
  }
  float rotated(float a, float c, float b, float s) const {
    const float product = b * s;
    return fused ? std::fma(a, c, -product) : a * c - product;
  }
};

float max_of(const Row& x) { return *std::max_element(x.begin(), x.end()); }

struct Exponentials {
  float max = 0;
  Row e;
  float sum = 0;
};
Exponentials exponentials(const Row& x, const Way& how) {
  Exponentials out{max_of(x), {}, 0};
  for (const float v : x) out.e.push_back(how.exp(v - out.max));
  out.sum = how.sum(out.e);
  return out;
}

using Kernel = std::function<Row(const Row& x, const Row& w, const Way& how)>;

struct Family {
  const char* name;
  const char* formula;
  bool elementwise;
  Kernel kernel;
  double least_share;  ///< that the search has to reach
};

/// A row's function of each element.
template <typename One>
Row each(const Row& x, One one) {
  Row y;
  for (size_t k = 0; k < x.size(); ++k) y.push_back(one(k));
  return y;
}

std::vector<Family> families() {
  return {
      {"sum", "sum(x, cols)", false, [](auto& x, auto&, auto& how) { return Row{how.sum(x)}; },
       0.15},
      {"dot", "sum(x * w, cols)", false,
       [](auto& x, auto& w, auto& how) { return Row{how.dot(x, w)}; }, 0.15},
      {"mean", "mean(x, cols)", false, [](auto& x, auto&, auto& how) { return Row{how.mean(x)}; },
       0.25},
      {"cumsum", "cumsum(x, cols)", true,
       [](auto& x, auto&, auto&) {
         float total = 0;
         return each(x, [&](size_t k) { return total += x[k]; });
       },
       0.3},
      {"rms_norm", "x * rsqrt(mean(x * x, cols) + 1e-5) * w", true,
       [](auto& x, auto& w, auto& how) {
         const float n = static_cast<float>(x.size());
         const float scale = how.rsqrt(how.over(how.dot(x, x), n) + 1e-5f);
         return each(x, [&](size_t k) { return x[k] * scale * w[k]; });
       },
       0.4},
      {"layer_norm", "(x - mean(x, cols)) * rsqrt(var(x, cols) + 1e-5) * w + x", true,
       [](auto& x, auto& w, auto& how) {
         const float m = how.mean(x);
         const Row d = each(x, [&](size_t k) { return x[k] - m; });
         const float n = static_cast<float>(x.size());
         const float scale = how.rsqrt(how.over(how.dot(d, d), n) + 1e-5f);
         return each(x, [&](size_t k) {
           const float t = d[k] * scale;
           return how.fused ? std::fma(t, w[k], x[k]) : t * w[k] + x[k];
         });
       },
       0.3},
      {"softmax", "softmax(x, cols)", true,
       [](auto& x, auto&, auto& how) {
         const Exponentials s = exponentials(x, how);
         return each(x, [&](size_t k) { return how.over(s.e[k], s.sum); });
       },
       0.4},
      {"log_softmax", "log_softmax(x, cols)", true,
       [](auto& x, auto&, auto& how) {
         const Exponentials s = exponentials(x, how);
         const float log = how.log(s.sum);
         return each(
             x, [&](size_t k) { return how.fused ? x[k] - (s.max + log) : (x[k] - s.max) - log; });
       },
       0.4},
      {"cross_entropy", "log(sum(exp(x - max(x, cols)), cols)) - (x[cols = 0] - max(x, cols))",
       false,
       [](auto& x, auto&, auto& how) {
         const Exponentials s = exponentials(x, how);
         return Row{how.log(s.sum) - (x[0] - s.max)};
       },
       0.35},
      {"logsumexp", "logsumexp(x, cols)", false,
       [](auto& x, auto&, auto& how) {
         const Exponentials s = exponentials(x, how);
         return Row{s.max + how.log(s.sum)};
       },
       0.3},
      {"rotary", "x * x[cols = 0] - w * w[cols = 0]", true,
       [](auto& x, auto& w, auto& how) {
         return each(x, [&](size_t k) { return how.rotated(x[k], x[0], w[k], w[0]); });
       },
       0.8},
  };
}

class Climb {
 public:
  Row row(size_t n) {
    Row x(n);
    const float middle = below(3) == 0 ? 4 * normal() : 0;
    for (float& v : x) v = middle + normal();
    return x;
  }
  size_t size() { return 2 + static_cast<size_t>(below(14)); }
  void change(Row& x) {
    float& v = x[static_cast<size_t>(below(static_cast<int>(x.size())))];
    const float other = x[static_cast<size_t>(below(static_cast<int>(x.size())))];
    switch (below(5)) {
      case 0:
        v = std::nextafter(v, below(2) == 0 ? INFINITY : -INFINITY);
        break;
      case 1:
        v *= 1 + std::ldexp(static_cast<float>(below(16)), -4 - below(20));
        break;
      case 2:
        v = other;
        break;
      case 3:  // half of an ulp: a tie where it is added to that element
        v = (std::nextafter(std::fabs(other), INFINITY) - std::fabs(other)) / 2;
        break;
      default:
        v = normal();
    }
  }
  Way way() {
    Way how{testing::kOrders[below(3)], below(2) == 0, below(2) == 0};
    how.ulps[0] = 2 * (below(3) - 1);
    how.ulps[1] = below(3) - 1;
    how.ulps[2] = 2 * (below(3) - 1);
    return how;
  }
  int below(int n) { return static_cast<int>(rng_() % static_cast<unsigned>(n)); }

 private:
  float normal() { return normal_(rng_); }
  std::mt19937 rng_{7};
  std::normal_distribution<float> normal_;
};

Contract contract_of(const Family& of) {
  const std::string input =
      ", kind = \"input\", dtype = \"f32\", shape = [\"rows\", \"cols\"] },\n";
  return parse_contract(
      "name = \"family\"\nsource = { cuda = \"row_sum.cu\", entry = \"family\" }\n"
      "sizes = { rows = { min = 0, max = 100 }, cols = { min = 1, max = 1000 } }\n"
      "launch = { grid = [\"rows\"], block = [\"32\"] }\nargs = [\n"
      "{ name = \"y\", kind = \"output\", dtype = \"f32\", shape = [\"rows\"" +
          std::string(of.elementwise ? ", \"cols\"" : "") + "] },\n{ name = \"x\"" + input +
          "{ name = \"w\"" + input + "]\n[formula]\ny = \"" + of.formula +
          "\"\n[policy]\nnan = \"propagate\"\nrange = \"naive\"\nsubnormals = \"keep\"\n",
      std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/family.toml");
}

double share_of(const Contract& contract, const Row& x, const Row& w, const Row& y) {
  testing::Experiment e(contract);
  const auto n = static_cast<int64_t>(x.size());
  e.the_case.sizes = {{"rows", 1}, {"cols", n}};
  e.put("x", {1, n}, DType::f32, {x.begin(), x.end()});
  e.put("w", {1, n}, DType::f32, {w.begin(), w.end()});
  const Instance instance = e.instance();
  testing::FakeRun run(instance);
  for (size_t k = 0; k < y.size(); ++k)
    run.set("y", static_cast<int64_t>(k), testing::f32_bits(y[k]));
  const Verdict v = Judge(contract).judge(instance, run);
  EXPECT_EQ(v.outcome, Outcome::pass) << told(v);
  return v.share;
}

/// The largest share of the allowance that the search finds.
double search(const Family& of, int starts, int steps) {
  const Contract contract = contract_of(of);
  Climb climb;
  double largest = 0;
  for (int start = 0; start < starts; ++start) {
    const size_t n = climb.size();
    Row x = climb.row(n);
    Row w = climb.row(n);
    Way how = climb.way();
    double best = -1;
    for (int step = 0; step < steps; ++step) {
      Row next_x = x;
      Row next_w = w;
      const Way next = climb.below(4) == 0 ? climb.way() : how;
      climb.change(climb.below(2) == 0 ? next_x : next_w);
      const double share = share_of(contract, next_x, next_w, of.kernel(next_x, next_w, next));
      if (share < best) continue;
      best = share;
      x = next_x;
      w = next_w;
      how = next;
    }
    largest = std::max(largest, best);
  }
  return largest;
}

TEST(FamilySearch, NoCorrectKernelPassesItsAllowanceAndSomeComeNear) {
  for (const Family& of : families()) {
    const double largest = search(of, 6, 150);
    EXPECT_GT(largest, of.least_share) << of.name;
    RecordProperty(of.name, std::to_string(largest));
  }
}

// {1, u, u, ...}: each addition is a tie that falls back on 1, so that all n - 1 lose u. Half a u
// of what is lost is the output's own rounding.
TEST(FamilySearch, SmallTermsThatAreLostUseAllOfASumsAllowance) {
  const std::vector<Family> all = families();
  for (const Family& of : {all[0], all[3]}) {
    Row x(1000, 0x1p-24f);
    x[0] = 1;
    const Row y = of.kernel(x, x, Way{});
    EXPECT_EQ(y.back(), 1) << of.name;
    const double share = share_of(contract_of(of), x, x, y);
    EXPECT_GT(share, 0.99) << of.name;
    EXPECT_LE(share, 1) << of.name;
  }
}

// One more lost than the order can lose is refused: got is 1 - 2u, not 1.
TEST(FamilySearch, AndNoMore) {
  const Family of = families()[0];
  const Contract contract = contract_of(of);
  testing::Experiment e(contract);
  e.the_case.sizes = {{"rows", 1}, {"cols", 1000}};
  std::vector<double> x(1000, 0x1p-24);
  x[0] = 1;
  e.put("x", {1, 1000}, DType::f32, x);
  e.put("w", {1, 1000}, DType::f32, x);
  const Instance instance = e.instance();
  testing::FakeRun run(instance);
  run.set("y", 0, testing::f32_bits(1 - 0x1p-23f));
  EXPECT_EQ(Judge(contract).judge(instance, run).outcome, Outcome::mismatch);
}

}  // namespace
}  // namespace assay
