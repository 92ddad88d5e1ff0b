// No correct kernel is accused: formulas computed in float32 in six orders of adding, with and
// without fused multiply-adds, with functions that err by their published bound, on data that
// overflows, cancels, underflows, and holds infinities, NaN and signed zeros.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <random>

#include "tests/oracles/row_cases.hpp"

namespace assay {
namespace {

using Row = std::vector<float>;

// --- kernels ---

/// What a correct kernel may choose.
struct Freedom {
  int order = 0;      ///< of adding, 0 to 5
  int direction = 0;  ///< functions err down, not at all, or up
  bool fused = false;
};
constexpr int kOrders = 6;

float sum(Row x, const Freedom& how) {
  if (how.order == 1) std::reverse(x.begin(), x.end());
  if (how.order == 2) std::stable_sort(x.begin(), x.end(), [](float a, float b) { return a < b; });
  if (how.order == 3)
    std::stable_sort(x.begin(), x.end(),
                     [](float a, float b) { return std::fabs(a) > std::fabs(b); });
  if (how.order == 4) return testing::summed(x, testing::Order::lanes);
  if (how.order == 5) return testing::summed(x, testing::Order::pairwise);
  return testing::summed(x, testing::Order::sequential);
}

/// The correctly rounded value, moved by up to the published number of ulps.
float published(double exact, int ulps, const Freedom& how) {
  auto f = static_cast<float>(exact);
  if (!std::isfinite(f) || exact == 1 || exact == 0) return f;
  for (int k = 0; k < ulps && how.direction != 0; ++k)
    f = std::nextafter(f, how.direction > 0 ? INFINITY : -INFINITY);
  return f;
}

float exp_of(float x, const Freedom& how) {
  return std::fmax(std::isnan(x) ? x : 0.0f, published(std::exp(static_cast<double>(x)), 2, how));
}
float exp2_of(float x, const Freedom& how) {
  return std::fmax(std::isnan(x) ? x : 0.0f, published(std::exp2(static_cast<double>(x)), 2, how));
}
float rsqrt_of(float x, const Freedom& how) {
  return published(1 / std::sqrt(static_cast<double>(x)), 2, how);
}
float log_of(float x, const Freedom& how) {
  return published(std::log(static_cast<double>(x)), 1, how);
}

/// NaN where an element is.
float max_of(const Row& x) {
  float m = -INFINITY;
  for (const float v : x) m = std::isnan(v) || std::isnan(m) ? NAN : std::fmax(m, v);
  return m;
}

Row softmax(const Row& x, const std::function<float(float x, float max)>& exponential,
            const Freedom& how) {
  const float m = max_of(x);
  Row e;
  for (const float v : x) e.push_back(exponential(v, m));
  const float s = sum(e, how);
  for (float& v : e) v = v / s;
  return e;
}

Row normalised(const Row& x, const Row& w, float eps, const Freedom& how) {
  const auto n = static_cast<float>(x.size());
  const float mean = sum(x, how) / n;
  Row squares;
  for (const float v : x) squares.push_back((v - mean) * (v - mean));
  const float scale = rsqrt_of(sum(squares, how) / n + eps, how);
  Row y;
  for (size_t k = 0; k < x.size(); ++k) {
    const float t = (x[k] - mean) * scale;
    y.push_back(how.fused ? std::fma(t, w[k], x[k]) : t * w[k] + x[k]);
  }
  return y;
}

float dot(const Row& x, const Row& w, const Freedom& how) {
  Row products;
  float fused = 0;
  for (size_t k = 0; k < x.size(); ++k) {
    products.push_back(x[k] * w[k]);
    fused = std::fma(x[k], w[k], fused);
  }
  return how.fused ? fused : sum(products, how);
}

// --- data ---

class Data {
 public:
  static constexpr int kClasses = 12;

  Row row(int n, int kind) {
    Row x(static_cast<size_t>(n));
    const float base = std::ldexp(1 + unit(), static_cast<int>(rng_() % 60) - 30);
    for (size_t k = 0; k < x.size(); ++k) x[k] = element(kind, base, k == 0 ? 0 : x[k - 1], k);
    return x;
  }
  int below(int n) { return static_cast<int>(rng_() % static_cast<uint64_t>(n)); }

 private:
  float unit() { return static_cast<float>(rng_() >> 40) * 0x1p-24f; }
  float normal() { return normal_(rng_); }
  float sign() { return rng_() % 2 == 0 ? 1.0f : -1.0f; }

  float element(int kind, float base, float before, size_t k) {
    constexpr float largest = 0x1.fffffep127f;
    switch (kind) {
      case 0:
        return normal();
      case 1:
        return sign() * std::ldexp(1 + unit(), below(250) - 125);
      case 2:
        return std::bit_cast<float>(static_cast<uint32_t>(rng_()));
      case 3:
        return sign() * largest * (below(4) == 0 ? unit() : 1);
      case 4:
        return sign() * std::bit_cast<float>(static_cast<uint32_t>(below(0x900000)));
      case 5:
        return k % 2 == 1 ? -before * (below(3) == 0 ? 1 + 0x1p-23f : 1) : normal() * 1e6f;
      case 6:
        return static_cast<float>(below(2001) - 1000);
      case 7:
        return base;
      case 8:
        return base + normal() * base * 1e-6f;
      case 9:
        return below(3) == 0 ? -INFINITY : 0.0f;
      case 10:
        return below(20) == 0 ? sign() * INFINITY : sign() * 0x1p127f * unit();
      default:
        return sign() * 0.0f;
    }
  }

  std::mt19937_64 rng_{1};
  std::normal_distribution<float> normal_;
};

// --- the check ---

using Kernel = std::function<Row(const Row& x, const Row& w, const Freedom& how)>;

Contract contract_of(const std::string& formula, bool elementwise, const std::string& more) {
  const std::string input =
      ", kind = \"input\", dtype = \"f32\", shape = [\"rows\", \"cols\"] },\n";
  return parse_contract(
      "name = \"sound\"\nsource = { cuda = \"row_sum.cu\", entry = \"sound\" }\n"
      "sizes = { rows = { min = 0, max = 100 }, cols = { min = 1, max = 1000 } }\n"
      "launch = { grid = [\"rows\"], block = [\"32\"] }\nargs = [\n"
      "{ name = \"y\", kind = \"output\", dtype = \"f32\", shape = [\"rows\"" +
          std::string(elementwise ? ", \"cols\"" : "") + "] },\n{ name = \"x\"" + input +
          "{ name = \"w\"" + input + "]\n[formula]\ny = \"" + formula + "\"\n" + more +
          "[policy]\nnan = \"propagate\"\nrange = \"naive\"\n",
      std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/sound.toml");
}

void expect_sound(const std::string& formula, bool elementwise, const Kernel& kernel,
                  const std::string& more = "") {
  const Contract contract = contract_of(formula, elementwise, more);
  const Judge judge(contract);
  Data data;
  int64_t judged = 0;
  for (int kind = 0; kind < Data::kClasses; ++kind)
    for (const int n : {1, 2, 1 + data.below(70)}) {
      testing::Experiment e(contract);
      e.the_case.sizes = {{"rows", 1}, {"cols", n}};
      const Row x = data.row(n, kind);
      const Row w = data.row(n, data.below(3) == 0 ? 0 : kind);
      e.put("x", {1, n}, DType::f32, {x.begin(), x.end()});
      e.put("w", {1, n}, DType::f32, {w.begin(), w.end()});
      const Instance instance = e.instance();
      for (int choice = 0; choice < kOrders; ++choice) {
        const Freedom how{choice, data.below(3) - 1, data.below(2) == 0};
        const Row y = kernel(x, w, how);
        testing::FakeRun run(instance);
        for (size_t k = 0; k < y.size(); ++k)
          run.set("y", static_cast<int64_t>(k), testing::f32_bits(y[k]));
        const Verdict v = judge.judge(instance, run);
        judged += v.judged - v.no_bound;
        EXPECT_TRUE(v.wrong == 0 && v.undecided == 0)
            << formula << " data " << kind << " n " << n << " order " << how.order << ": "
            << testing::told(v);
      }
    }
  EXPECT_GT(judged, 100) << formula << ": too few elements had a bound";
}

TEST(Soundness, Sums) {
  expect_sound("sum(x, cols)", false, [](auto& x, auto&, auto& how) { return Row{sum(x, how)}; });
  expect_sound("sum(x * w, cols)", false,
               [](auto& x, auto& w, auto& how) { return Row{dot(x, w, how)}; });
  expect_sound("sum(x, cols) - sum(x * w, cols)", false,
               [](auto& x, auto& w, auto& how) { return Row{sum(x, how) - dot(x, w, how)}; });
}

TEST(Soundness, Softmax) {
  const float log2e = 1.44269504f;
  expect_sound("softmax(x, cols)", true, [](auto& x, auto&, auto& how) {
    return softmax(
        x, [&](float v, float m) { return exp_of(v - m, how); }, how);
  });
  expect_sound("softmax(x, cols)", true, [&](auto& x, auto&, auto& how) {
    return softmax(
        x, [&](float v, float m) { return exp2_of((v - m) * log2e, how); }, how);
  });
  expect_sound(
      "softmax(x, cols)", true,
      [&](auto& x, auto&, auto& how) {
        const auto exponential = [&](float v, float m) {
          const float scaled = m * log2e;
          const float product = v * log2e;
          return exp2_of(how.fused ? std::fma(v, log2e, -scaled) : product - scaled, how);
        };
        return softmax(x, exponential, how);
      },
      "[accuracy]\nexp = \"prescaled\"\n");
}

TEST(Soundness, Norms) {
  expect_sound("(x - mean(x, cols)) * rsqrt(var(x, cols) + 1e-5) * w + x", true,
               [](auto& x, auto& w, auto& how) { return normalised(x, w, 1e-5f, how); });
  expect_sound("(x - mean(x, cols)) * rsqrt(var(x, cols)) * w + x", true,
               [](auto& x, auto& w, auto& how) { return normalised(x, w, 0, how); });
}

TEST(Soundness, SingularPoints) {
  expect_sound("x / sum(x, cols)", true, [](auto& x, auto&, auto& how) {
    Row y;
    for (const float v : x) y.push_back(v / sum(x, how));
    return y;
  });
  expect_sound("log(sum(x, cols))", false,
               [](auto& x, auto&, auto& how) { return Row{log_of(sum(x, how), how)}; });
  expect_sound("rsqrt(sum(x, cols))", false,
               [](auto& x, auto&, auto& how) { return Row{rsqrt_of(sum(x, how), how)}; });
  expect_sound("max(sum(x, cols), sqrt(sum(w, cols)))", false, [](auto& x, auto& w, auto& how) {
    return Row{max_of({sum(x, how), std::sqrt(sum(w, how))})};
  });
  expect_sound("max(x / (w - x), cols)", false, [](auto& x, auto& w, auto&) {
    Row y;
    for (size_t k = 0; k < x.size(); ++k) y.push_back(x[k] / (w[k] - x[k]));
    return Row{max_of(y)};
  });
  expect_sound("where(sum(x, cols) > 0, w, -inf)", true, [](auto& x, auto& w, auto& how) {
    Row y;
    for (const float v : w) y.push_back(sum(x, how) > 0 ? v : -INFINITY);
    return y;
  });
}

}  // namespace
}  // namespace assay
