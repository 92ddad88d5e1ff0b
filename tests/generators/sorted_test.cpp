// Inputs that are `sorted`: every value class in ascending order. Domains that hold an infinity alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "generators/generate.hpp"
#include "generators/instance.hpp"
#include "tests/generators/contracts.hpp"

namespace assay {
namespace {

using namespace testing_contracts;

Contract sorted_contract(const std::string& types, const std::string& keys) {
  return parsed(R"toml(
name = "k"
source = { cuda = "kernel.cu", entry = "k" }
types = { T = [)toml" +
                types + R"toml(] }
sizes = { rows = { min = 0, max = 100 }, n = { min = 0, max = 10000000000 } }
launch = { grid = ["1"], block = ["32"] }
args = [
  { name = "y", kind = "output", dtype = "T", shape = ["rows", "n"] },
  { name = "x", kind = "input", dtype = "T", shape = ["rows", "n"])toml" +
                keys + R"toml( },
]
[formula]
y = "x"
)toml");
}

Case sized(DType type, int64_t rows, int64_t n) {
  Case c;
  c.kernel = "k";
  c.types = {{"T", type}};
  c.sizes = {{"rows", rows}, {"n", n}};
  return c;
}

std::vector<double> values(const Instance& instance, int64_t first, int64_t count) {
  const Tensor& x = *instance.find("x");
  const int size = byte_size(x.dtype);
  std::vector<uint8_t> bytes(static_cast<size_t>(count * size));
  logical_values(instance, x, first, count, bytes.data());
  std::vector<double> out;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = load_bits(bytes.data() + i * size, size);
    out.push_back(is_floating(x.dtype) ? to_double(x.dtype, bits)
                                       : static_cast<double>(to_integer(x.dtype, bits)));
  }
  return out;
}

/// NaN last.
bool ascending(const std::vector<double>& row) {
  return std::is_sorted(row.begin(), row.end(),
                        [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; });
}

TEST(SortedInputs, EveryClassOfEveryTypeAscendsAlongTheRow) {
  const Contract contract =
      sorted_contract(R"("f64", "f32", "f16", "bf16", "e4m3", "i64", "i32", "i8", "u32", "u8")",
                      ", sorted = true");
  for (const DType type : contract.types[0].kinds) {
    for (const ValueClassInfo& info : value_classes()) {
      if (!(is_floating(type) ? info.for_floating : info.for_integer)) continue;
      for (const int64_t n : {1, 2, 37, 3000}) {
        Case c = sized(type, 3, n);
        c.values["x"] = {info.name, {}};
        const Instance instance = instantiate(contract, c);
        const std::vector<double> all = values(instance, 0, 3 * n);
        for (int64_t row = 0; row < 3; ++row) {
          const std::vector<double> one(all.begin() + row * n, all.begin() + (row + 1) * n);
          EXPECT_TRUE(ascending(one)) << name(type) << " " << info.name << " " << n;
        }
        // Any element by itself is the same one.
        for (const int64_t at : {int64_t{0}, n / 2, 2 * n + n / 3}) {
          const double one = values(instance, at, 1)[0], there = all[static_cast<size_t>(at)];
          EXPECT_TRUE(one == there || (std::isnan(one) && std::isnan(there))) << info.name;
        }
      }
    }
  }
}

TEST(SortedInputs, ARowHasTheValuesOfItsClass) {
  for (const char* kind : {"normal", "bits", "edges", "exact"}) {
    Case c = sized(DType::i32, 2, 500);
    c.values["x"] = {kind, {}};
    const Contract with = sorted_contract(R"("i32")", ", sorted = true");
    const Contract without = sorted_contract(R"("i32")", "");
    const Instance a = instantiate(with, c), b = instantiate(without, c);
    std::vector<double> drawn = values(b, 500, 500);
    std::sort(drawn.begin(), drawn.end());
    EXPECT_EQ(values(a, 500, 500), drawn) << kind;
  }
}

TEST(SortedInputs, KeepToTheDomainAndReachFar) {
  const Contract contract =
      sorted_contract(R"("f32", "i32")", R"(, sorted = true, domain = "5..9 | -3..-1")");
  for (const DType type : contract.types[0].kinds) {
    const Instance instance = instantiate(contract, sized(type, 2, 10000000000));
    double before = -4;
    for (int64_t at = 0; at < 10000000000; at += 999999999) {
      const double value = values(instance, at, 1)[0];
      EXPECT_GE(value, before);
      EXPECT_TRUE((value >= -3 && value <= -1) || (value >= 5 && value <= 9)) << value;
      before = value;
    }
    EXPECT_GT(before, 0);
  }
}

TEST(SortedInputs, SortedIndicesAscendWhateverTheOrderOfTheRanges) {
  const Contract contract = parsed(R"toml(
name = "k"
source = { cuda = "kernel.cu", entry = "k" }
sizes = { rows = { min = 0, max = 100 }, n = { min = 0, max = 1000 } }
launch = { grid = ["1"], block = ["32"] }
args = [
  { name = "y", kind = "output", dtype = "i32", shape = ["rows", "n"] },
  { name = "x", kind = "index", dtype = "i32", shape = ["rows", "n"], sorted = true, domain = "4..9 | -2..-1 | 6..20" },
]
[formula]
y = "x"
)toml");
  Case c = sized(DType::i32, 3, 200);
  c.types.clear();
  const std::vector<double> all = values(instantiate(contract, c), 0, 200);
  EXPECT_TRUE(ascending(all));
  EXPECT_EQ(all.front(), -2);
  EXPECT_EQ(all.back(), 20);
}

TEST(Domains, AnInfinityAloneIsWhatEveryClassHolds) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const auto& [text, value] : {std::pair{"-inf..-inf", -kInfinity}, {"inf..inf", kInfinity}}) {
    const Contract contract =
        sorted_contract(R"("f64", "f32", "f16", "bf16", "e5m2")",
                        std::string(", domain = \"") + text + "\"");
    for (const DType type : contract.types[0].kinds) {
      for (const char* kind : {"normal", "bits", "infs", "zeros", "largest"}) {
        Case c = sized(type, 1, 100);
        c.values["x"] = {kind, {}};
        EXPECT_EQ(values(instantiate(contract, c), 0, 100), std::vector<double>(100, value))
            << name(type) << " " << kind;
      }
    }
  }
}

TEST(Domains, BeyondATypesNumbersThereIsNothing) {
  for (const char* domain : {"-inf..-inf", "1000..inf", "500..600"}) {
    const Contract contract =
        sorted_contract(R"("e4m3")", std::string(", domain = \"") + domain + "\"");
    EXPECT_THROW(instantiate(contract, sized(DType::e4m3, 1, 1)), InputError) << domain;
  }
  const Contract half = sorted_contract(R"("f16")", R"(, domain = "1e5..inf")");
  EXPECT_EQ(values(instantiate(half, sized(DType::f16, 1, 5)), 0, 5),
            std::vector<double>(5, std::numeric_limits<double>::infinity()));
}

}  // namespace
}  // namespace assay
