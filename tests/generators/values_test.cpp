#include "generators/values.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "generators/hash.hpp"
#include "generators/instance.hpp"
#include "tests/generators/sum_values.hpp"

namespace assay {
namespace {

using namespace testing_contracts;

const DType kFloats[] = {DType::f64, DType::f32, DType::f16, DType::bf16, DType::e4m3, DType::e5m2};
const DType kIntegers[] = {DType::i64, DType::i32, DType::i16, DType::i8,     DType::u64,
                           DType::u32, DType::u16, DType::u8,  DType::boolean};

TEST(Values, StorageAgreesWithLogicalForEveryClassTypeAndLayout) {
  const Contract contract = sum_contract();
  const std::vector<Layout> layouts = {{},
                                       {{7, 1}, 3, 0},
                                       {{1, 5}, 0, 16},
                                       {{20, 3}, 1, 8},
                                       {{0, 1}, 0, 0},
                                       {{1, 0}, 2, 0},
                                       {{64, 1}, 5, 0}};
  for (const ValueClassInfo& info : value_classes()) {
    for (int t = 0; t <= static_cast<int>(DType::boolean); ++t) {
      const auto type = static_cast<DType>(t);
      if (info.for_index || !(is_floating(type) ? info.for_floating : info.for_integer)) continue;
      const int size = byte_size(type);
      for (const Layout& layout : layouts) {
        Case c = sum_case(type, 5, 7, {info.name, {}});
        c.layouts["x"] = layout;
        c.overrides = {{"x", {2, 3}, 1, ""}};
        const Instance instance = instantiate(contract, c);
        const Tensor& x = *instance.find("x");
        const std::vector<uint8_t> values = logical(instance, x);
        std::vector<uint8_t> storage(x.storage_bytes() + 3 * size);
        storage_bytes(instance, x, 0, storage.size(), storage.data());
        for (int64_t i = 0; i < x.elements(); ++i) {
          ASSERT_EQ(element(values, i, size), element(storage, x.storage_of(i), size))
              << info.name << " " << name(type) << " element " << i;
        }
        for (int64_t s = 0; s < x.storage_elements + 3; ++s) {
          if (x.logical_of(s)) continue;
          ASSERT_EQ(element(storage, s, size), poison_bits(type)) << info.name << " at " << s;
        }
        // Any cut of the buffer gives the same bytes.
        std::vector<uint8_t> piece(11);
        for (size_t first = 0; first + piece.size() <= storage.size(); first += 5) {
          storage_bytes(instance, x, first, piece.size(), piece.data());
          ASSERT_EQ(std::memcmp(piece.data(), storage.data() + first, piece.size()), 0);
        }
      }
    }
  }
}

TEST(Values, AnElementDoesNotDependOnHowItIsRead) {
  const Contract contract = sum_contract();
  for (const ValueClassInfo& info : value_classes()) {
    if (!info.for_floating) continue;
    const Instance instance = instantiate(contract, sum_case(DType::f32, 9, 300, {info.name, {}}));
    const Tensor& x = *instance.find("x");
    const std::vector<uint8_t> all = logical(instance, x);
    for (int64_t i = 0; i < x.elements(); i += 37) {
      uint8_t one[4];
      logical_values(instance, x, i, 1, one);
      ASSERT_EQ(std::memcmp(one, all.data() + 4 * i, 4), 0) << info.name << " " << i;
    }
  }
}

TEST(Values, BitsAreStable) {
  // A case file must mean the same data for ever: these words may not change.
  const Contract contract = sum_contract();
  uint64_t digest = 0;
  for (const ValueClassInfo& info : value_classes()) {
    for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::i32}) {
      if (info.for_index || !(is_floating(type) ? info.for_floating : info.for_integer)) continue;
      if (info.kind == ValueClass::patterns || info.kind == ValueClass::exponents ||
          info.kind == ValueClass::beside_ties || info.kind == ValueClass::rounding_edges ||
          info.kind == ValueClass::lone || info.kind == ValueClass::peak_rows)
        continue;  // younger than the digest
      const Instance instance = instantiate(contract, sum_case(type, 3, 40, {info.name, {}}));
      for (const uint8_t byte : logical(instance, *instance.find("x")))
        digest = mix64(digest ^ byte);
    }
  }
  EXPECT_EQ(digest, 6876562796440720070u);
}

TEST(Values, TheTableIsInTheOrderOfTheClasses) {
  for (size_t i = 0; i < value_classes().size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(value_classes()[i].kind), i);
    EXPECT_EQ(find_value_class(value_classes()[i].name), &value_classes()[i]);
  }
}

TEST(Values, PatternsWalkAllOfANarrowType) {
  const Contract contract = sum_contract();
  for (const DType type : {DType::f16, DType::bf16, DType::i16, DType::e4m3, DType::u8}) {
    const int64_t count = int64_t{1} << bit_width(type);
    const Instance instance = instantiate(contract, sum_case(type, 1, 65536, {"patterns", {}}));
    const auto bytes = logical(instance, *instance.find("x"));
    std::set<uint64_t> seen;
    for (int64_t i = 0; i < 65536; ++i) seen.insert(element(bytes, i, byte_size(type)));
    EXPECT_EQ(static_cast<int64_t>(seen.size()), count);
  }
}

TEST(Values, PatternsAreRepeatedWhereAsked) {
  const Contract contract = sum_contract();
  const ValueRecipe recipe{"patterns", {{"first", 250}, {"each", 3}}};
  const Instance instance = instantiate(contract, sum_case(DType::u8, 1, 100, recipe));
  const auto bytes = logical(instance, *instance.find("x"));
  for (int64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(element(bytes, i, 1), static_cast<uint64_t>(250 + i / 3) % 256);
  }
}

TEST(Values, ExponentsReachEverySignAndExponent) {
  const Contract contract = sum_contract();
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    const int stored = format_of(type).precision - 1;
    const int64_t binades = int64_t{1} << (bit_width(type) - stored);
    const ValueRecipe recipe{"exponents", {{"mantissas", 6}}};
    const Instance instance = instantiate(contract, sum_case(type, 1, 6 * binades, recipe));
    const auto bytes = logical(instance, *instance.find("x"));
    std::map<uint64_t, std::set<uint64_t>> seen;
    for (int64_t i = 0; i < 6 * binades; ++i) {
      const uint64_t bits = element(bytes, i, byte_size(type));
      seen[bits >> stored].insert(bits & ((uint64_t{1} << stored) - 1));
    }
    EXPECT_EQ(static_cast<int64_t>(seen.size()), binades) << name(type);
    for (const auto& [binade, mantissas] : seen) {
      EXPECT_TRUE(mantissas.contains(0) && mantissas.contains(1)) << binade;
      EXPECT_TRUE(mantissas.contains((uint64_t{1} << stored) - 1)) << binade;
      EXPECT_GE(mantissas.size(), 4u) << binade;  // hashed ones may repeat
    }
  }
}

TEST(Values, SeedsAndOperandsGiveDifferentData) {
  const Contract contract = parsed(kVectorAdd);
  Case c;
  c.kernel = "vector_add";
  c.types = {{"T", DType::f32}};
  c.knobs = {{"BLOCK", 64}};
  c.sizes = {{"n", 1000}};
  const Instance first = instantiate(contract, c);
  c.value_seed = 1;
  const Instance second = instantiate(contract, c);
  EXPECT_NE(logical(first, *first.find("x")), logical(first, *first.find("y")));
  EXPECT_NE(logical(first, *first.find("x")), logical(second, *second.find("x")));
}

TEST(Values, NormalHasItsMoments) {
  const std::vector<double> x =
      sum_values(sum_contract(), DType::f32, 200, 1000, {"normal", {{"scale", 3}, {"mean", -2}}});
  double sum = 0, squares = 0;
  for (const double value : x) sum += value;
  const double mean = sum / x.size();
  for (const double value : x) squares += (value - mean) * (value - mean);
  EXPECT_NEAR(mean, -2, 0.05);
  EXPECT_NEAR(std::sqrt(squares / x.size()), 3, 0.03);
}

TEST(Values, ExactRowsSumExactlyInAnyOrder) {
  const Contract contract = sum_contract();
  for (const DType type : kFloats) {
    for (const int64_t cols : {1, 2, 3, 100, 1000, 4099, 60000}) {
      for (const double degree : {1.0, 2.0}) {
        const auto x =
            sum_values(contract, type, 2, cols, {"exact", {{"step", 0.125}, {"degree", degree}}});
        double total = 0;
        bool varied = false;
        for (int64_t i = 0; i < cols; ++i) {
          const double units = x[i] / 0.125;
          ASSERT_EQ(units, std::floor(units));
          total += degree == 1 ? std::abs(units) : units * units;
          varied |= x[i] != x[0];
        }
        EXPECT_LT(total, 0x1p24) << name(type) << " " << cols;
        EXPECT_TRUE(varied || cols < 4);
      }
    }
  }
}

TEST(Values, WitnessRowsOutgrowNarrowAccumulators) {
  const Contract contract = sum_contract();
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    const double base = type == DType::bf16 ? 128 : 1024;
    for (const int64_t cols : {2, 3, 64, 1000, 8192, 60000}) {
      for (const double gap : {0.0, 1.0, 16.0, 300.0}) {
        ValueRecipe recipe{"witness", {}};
        if (gap > 0) recipe.parameters = {{"gap", gap}};
        const auto x = sum_values(contract, type, 3, cols, recipe);
        for (int row = 0; row < 3; ++row) {
          double total = 0, magnitudes = 0, largest = 0;
          for (int64_t i = 0; i < cols; ++i) {
            const double value = x[row * cols + i];
            ASSERT_EQ(value, std::floor(value));
            if (value != 0) {
              ASSERT_GE(std::abs(value), base);
              ASSERT_LT(std::abs(value), 2 * base);
            }
            total += value;
            magnitudes += std::abs(value);
            largest = std::max(largest, std::abs(total));
          }
          EXPECT_LE(std::abs(total), 100);
          EXPECT_LT(magnitudes, 0x1p24);
          // A half of a block has one sign: its sum passes the accumulator's integers.
          if (cols >= 64 && (gap == 0 || gap >= 16)) {
            EXPECT_GT(largest, 2 * base) << cols << " " << gap;
          }
        }
      }
    }
  }
}

TEST(Values, AnOddWitnessRowEndsInItsTail) {
  for (const int64_t cols : {1, 3, 1001}) {
    const auto plain = sum_values(sum_contract(), DType::f16, 2, cols, {"witness", {}});
    const auto tailed = sum_values(sum_contract(), DType::f16, 2, cols, {"witness", {{"tail", 3}}});
    for (int64_t row = 0; row < 2; ++row)
      for (int64_t i = 0; i < cols; ++i) {
        const auto at = static_cast<size_t>(row * cols + i);
        EXPECT_EQ(std::abs(tailed[at]), i == cols - 1 ? 3 : std::abs(plain[at]));
        EXPECT_EQ(plain[at] == 0, i == cols - 1);
      }
  }
  const auto even = sum_values(sum_contract(), DType::f16, 1, 4, {"witness", {{"tail", 3}}});
  EXPECT_GE(std::abs(even[3]), 1024);
}

TEST(Values, WitnessPartialSumsBreakAHalfAccumulator) {
  const auto x = sum_values(sum_contract(), DType::f16, 1, 1000, {"witness", {}});
  double exact = 0, half = 0;
  for (const double value : x) {
    exact += value;
    half = to_double(DType::f16, round_to_bits(DType::f16, half + value));
  }
  EXPECT_NE(exact, half);
}

TEST(Values, SpecialClassesHoldWhatTheyName) {
  const Contract contract = sum_contract();
  for (const DType type : kFloats) {
    const FloatFormat format = format_of(type);
    const auto count = [&](const ValueRecipe& recipe, auto wanted) {
      const auto x = sum_values(contract, type, 10, 200, recipe);
      return std::count_if(x.begin(), x.end(), wanted);
    };
    const auto is_nan = [](double v) { return v != v; };
    EXPECT_GT(count({"nans", {{"rate", 0.1}}}, is_nan), 100) << name(type);
    EXPECT_GT(count({"bits", {}}, is_nan),
              type == DType::f64 || type == DType::f32 || type == DType::bf16 ? 0 : 3)
        << name(type);
    if (format.has_infinity) {
      EXPECT_GT(count({"infs", {{"rate", 0.1}}}, [](double v) { return std::isinf(v) && v > 0; }),
                50);
      EXPECT_GT(count({"infs", {{"rate", 0.1}}}, [](double v) { return std::isinf(v) && v < 0; }),
                50);
    }
    EXPECT_EQ(count({"largest", {}}, [&](double v) { return std::abs(v) == format.largest; }),
              2000);
    const double smallest_normal = std::ldexp(1.0, format.min_exponent);
    EXPECT_EQ(count({"subnormal", {}}, [&](double v) { return std::abs(v) < smallest_normal; }),
              2000);
    EXPECT_GT(count({"subnormal", {}}, [](double v) { return v != 0; }), 1200);
    EXPECT_GT(count({"zeros", {}}, [](double v) { return v == 0 && std::signbit(v); }), 900);
    EXPECT_EQ(count({"zeros", {}}, [](double v) { return v == 0; }), 2000);
    EXPECT_GT(count({"edges", {}}, [&](double v) { return v == format.largest; }), 20);
  }
}

TEST(Values, TiesLieHalfwayInTheNarrowerType) {
  const auto x = sum_values(sum_contract(), DType::f32, 10, 200, {"ties", {{"precision", 11}}});
  for (const double value : x) {
    const double ulp_half = ulp(DType::f16, value) / 2;
    const double quotient = std::abs(value) / ulp_half;
    EXPECT_EQ(quotient, std::floor(quotient));
    EXPECT_EQ(std::fmod(quotient, 2), 1) << value;
  }
}

TEST(Values, RowClassesActByRow) {
  const Contract contract = sum_contract();
  const auto rows = [&](const ValueRecipe& recipe, auto check) {
    const auto x = sum_values(contract, DType::f32, 50, 64, recipe);
    for (int row = 0; row < 50; ++row) {
      check(std::vector<double>(x.begin() + 64 * row, x.begin() + 64 * (row + 1)));
    }
  };
  rows({"sorted", {}},
       [](const std::vector<double>& row) { EXPECT_TRUE(std::is_sorted(row.begin(), row.end())); });
  rows({"equal_rows", {}}, [](const std::vector<double>& row) {
    EXPECT_EQ(std::count(row.begin(), row.end(), row[0]), 64);
  });
  rows({"peak", {}}, [](const std::vector<double>& row) {
    EXPECT_EQ(std::count(row.begin(), row.end(), 0.0), 1);
    EXPECT_EQ(std::count(row.begin(), row.end(), -7.0), 63);
  });
  for (const int from_end : {0, 1, 63}) {
    rows({"peak", {{"from_end", from_end}}}, [&](const std::vector<double>& row) {
      EXPECT_EQ(row[63 - from_end], 0.0);
      EXPECT_EQ(std::count(row.begin(), row.end(), -7.0), 63);
    });
  }
  rows({"exact_logits", {{"rate", 0.95}}}, [](const std::vector<double>& row) {
    EXPECT_GE(std::count(row.begin(), row.end(), 0.0), 1);
  });
  rows({"outlier", {{"factor", 1e8}}}, [](const std::vector<double>& row) {
    EXPECT_LE(std::count_if(row.begin(), row.end(), [](double v) { return std::abs(v) > 100; }), 1);
  });
  rows({"cancelling", {}}, [](const std::vector<double>& row) {
    for (int i = 0; i < 64; i += 2) EXPECT_NEAR(row[i] + row[i + 1], 0, 1e-5);
  });
  int masked = 0;
  rows({"masked", {{"rows", 0.3}}}, [&](const std::vector<double>& row) {
    masked += std::all_of(row.begin(), row.end(), [](double v) { return v == -INFINITY; });
  });
  EXPECT_GT(masked, 5);
  EXPECT_LT(masked, 30);
}

TEST(Values, TheAxisIsTheReducedDimension) {
  // w[K, N] of a matrix product is reduced along K, its first dimension.
  const Contract contract = parsed(kMatmul);
  Case c;
  c.kernel = "matmul";
  c.sizes = {{"M", 2}, {"N", 3}, {"K", 10}};
  c.values = {{"w", {"sorted", {}}}};
  const Instance instance = instantiate(contract, c);
  const auto w = reals(instance, *instance.find("w"));
  for (int k = 1; k < 10; ++k) {
    for (int n = 0; n < 3; ++n) EXPECT_LT(w[3 * (k - 1) + n], w[3 * k + n]);
  }
}

TEST(Values, DomainsRestrictEveryClass) {
  const Contract positive = sum_contract(R"(, domain = "1e-3..1e3")");
  const Contract integers = sum_contract(R"(, domain = "1..100 | -90..-5")");
  for (const ValueClassInfo& info : value_classes()) {
    if (info.for_index) continue;
    for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
      if (!info.for_floating) continue;
      for (const double v : sum_values(positive, type, 10, 50, {info.name, {}})) {
        ASSERT_GE(v, 1e-3) << info.name;
        ASSERT_LE(v, 1e3) << info.name;
      }
    }
    for (const DType type : {DType::i8, DType::i32, DType::i64}) {
      if (!info.for_integer) continue;
      for (const double v : sum_values(integers, type, 10, 50, {info.name, {}})) {
        ASSERT_TRUE((v >= 1 && v <= 100) || (v >= -90 && v <= -5)) << info.name << " " << v;
      }
    }
  }
}

TEST(Values, ExcludedNanNeverAppears) {
  const Contract contract = sum_contract("", "[policy]\nnan = \"exclude\"\n");
  for (const char* kind : {"nans", "bits"}) {
    for (const DType type : kFloats) {
      for (const double v : sum_values(contract, type, 20, 200, {kind, {}})) ASSERT_EQ(v, v);
    }
  }
  Case c = sum_case(DType::f32, 2, 2, {"normal", {}});
  c.overrides = {{"x", {0, 0}, 0, "nan"}};
  EXPECT_THROW(instantiate(contract, c), InputError);
}

TEST(Values, IntegerEdgesReachTheExtremes) {
  const Contract contract = sum_contract();
  for (const DType type : kIntegers) {
    if (type == DType::boolean) continue;
    const Instance instance = instantiate(contract, sum_case(type, 10, 100, {"edges", {}}));
    const auto bytes = logical(instance, *instance.find("x"));
    std::set<uint64_t> seen;
    for (int64_t i = 0; i < 1000; ++i) seen.insert(element(bytes, i, byte_size(type)));
    const int bits = bit_width(type);
    const uint64_t ones = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    for (const uint64_t wanted : {uint64_t{0}, uint64_t{1}, ones, uint64_t{1} << (bits - 1),
                                  (uint64_t{1} << (bits - 1)) - 1}) {
      EXPECT_TRUE(seen.contains(wanted)) << name(type) << " " << wanted;
    }
  }
}

TEST(Values, OverridesTakeTextAndBits) {
  const Contract contract = sum_contract();
  Case c = sum_case(DType::f32, 2, 8, {"normal", {}});
  c.overrides = {{"x", {0, 1}, 0, "nan"},
                 {"x", {0, 2}, 0, "-0"},
                 {"x", {0, 3}, 0x7fc00001, ""},
                 {"x", {1, 0}, 0, "-1.5e-3"},
                 {"x", {1, 7}, 0, "1e999"}};
  const Instance instance = instantiate(contract, c);
  const auto bytes = logical(instance, *instance.find("x"));
  EXPECT_EQ(element(bytes, 1, 4), 0x7fc00000u);
  EXPECT_EQ(element(bytes, 2, 4), 0x80000000u);
  EXPECT_EQ(element(bytes, 3, 4), 0x7fc00001u);
  EXPECT_EQ(to_double(DType::f32, element(bytes, 8, 4)), static_cast<double>(-1.5e-3f));
  EXPECT_EQ(element(bytes, 15, 4), 0x7f800000u);
  Case integers = sum_case(DType::i64, 1, 2, {"normal", {}});
  integers.overrides = {{"x", {0, 0}, 0, "-9223372036854775808"}};
  const Instance other = instantiate(contract, integers);
  EXPECT_EQ(element(logical(other, *other.find("x")), 0, 8), uint64_t{1} << 63);
  integers.types["T"] = DType::i8;
  integers.overrides[0].text = "128";
  EXPECT_THROW(instantiate(contract, integers), InputError);
  integers.overrides[0].text = "1.5";
  EXPECT_THROW(instantiate(contract, integers), InputError);
}

TEST(Values, OutputsHoldPoison) {
  const Contract contract = sum_contract();
  const Instance instance = instantiate(contract, sum_case(DType::f16, 3, 4, {"normal", {}}));
  for (const double v : reals(instance, *instance.find("y"))) EXPECT_NE(v, v);
  for (const DType type : kFloats)
    EXPECT_NE(to_double(type, poison_bits(type)), to_double(type, poison_bits(type)));
}

}  // namespace
}  // namespace assay
