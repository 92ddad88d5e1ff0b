// Intervals hold what an expression gives, for each choice of its names, and are narrow where a
// launch's numbers need it.
#include "kernels_under_test/interval.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace {

struct Ranges {
  Interval a, b;
};

Interval over(const std::string& text, const Ranges& ranges) {
  IntervalScope scope;
  scope.value = [&](std::string_view name) -> std::optional<Interval> {
    if (name == "a") return ranges.a;
    if (name == "b") return ranges.b;
    return std::nullopt;
  };
  return evaluate_interval(*parse_expression(text, {"t", 1, 1}), scope);
}

constexpr int64_t kLowest = INT64_MIN, kHighest = INT64_MAX;

struct Narrow {
  const char* text;
  Ranges ranges;
  Interval expected;
};

TEST(Interval, AreAsNarrowAsTheirKindAllows) {
  const Narrow rows[] = {
      {"ceil_div(a, 128)", {{0, 70000}, {}}, {0, 547}},
      {"min(ceil_div(a, 128), 65535)", {{0, kHighest}, {}}, {0, 65535}},
      {"max(1, a) * b", {{0, 64}, {2, 3}}, {2, 192}},
      {"a - b", {{0, 5}, {1, 2}}, {-2, 4}},
      {"a % 8", {{16, 19}, {}}, {0, 3}},
      {"a % 8", {{0, 19}, {}}, {0, 7}},
      {"a / b", {{-7, 7}, {-2, 2}}, {-7, 7}},
      {"a > 5 ? 1 : 2", {{6, 9}, {}}, {1, 1}},
      {"a > 5 ? 1 : 2", {{0, 9}, {}}, {1, 2}},
      {"a > 5 && b > 0", {{0, 5}, {}}, {0, 0}},
      {"a > 5 || b > 0", {{0, 5}, {1, 9}}, {1, 1}},
      {"!(a == b)", {{0, 5}, {6, 9}}, {1, 1}},
      {"a << b", {{1, 3}, {0, 4}}, {1, 48}},
      {"next_pow2(a)", {{3, 70}, {}}, {4, 128}},
      {"align_up(a, 16)", {{1, 17}, {}}, {16, 32}},
      {"a == e4m3", {{0, 0}, {}}, {0, 0}},
      {"a * b", {{1, kHighest}, {2, 4}}, {2, kHighest}},
      {"a + unknown", {{0, 1}, {}}, {kLowest, kHighest}},
      {"min(unknown, 7)", {{}, {}}, {kLowest, 7}},
  };
  for (const Narrow& row : rows) {
    const Interval got = over(row.text, row.ranges);
    EXPECT_EQ(got, row.expected) << row.text << ": [" << got.low << ", " << got.high << "]";
  }
}

TEST(Interval, HoldTheValueOfEachChoice) {
  const char* const texts[] = {
      "a + b",         "a - b",           "a * b",           "a / b",           "a % b",
      "a == b",        "a != b",          "a < b",           "a <= b",          "a > b",
      "a >= b",        "a & b",           "a | b",           "a ^ b",           "a << b",
      "a >> b",        "-a",              "~a",              "!a",              "min(a, b)",
      "max(a, b)",     "abs(a)",          "ceil_div(a, b)",  "align_up(a, b)",  "is_pow2(a)",
      "log2_ceil(a)",  "next_pow2(a)",    "div_floor(a, b)", "mod_floor(a, b)", "div_trunc(a, b)",
      "mod_trunc(a, b)", "a ? b : a - b", "a && b",          "a || b",          "a * a - b * b % 3",
      "min(a, b, 2) * max(a, 1)",         "(a / 3) * 3 == a"};
  constexpr int64_t kEnd = 9;
  int evaluated = 0;
  for (const char* const text : texts) {
    const ExprPtr expr = parse_expression(text, {"t", 1, 1});
    for (int64_t low_a = -kEnd; low_a <= kEnd; low_a += 3) {
      for (int64_t low_b = -kEnd; low_b <= kEnd; low_b += 2) {
        const Ranges ranges{{low_a, low_a + 4}, {low_b, low_b + 3}};
        const Interval whole = over(text, ranges);
        for (int64_t a = ranges.a.low; a <= ranges.a.high; ++a) {
          for (int64_t b = ranges.b.low; b <= ranges.b.high; ++b) {
            IntegerScope scope;
            scope.value = [&](std::string_view name) { return name == "a" ? a : b; };
            try {
              const int64_t value = evaluate_integer(*expr, scope);
              ++evaluated;
              ASSERT_TRUE(whole.holds(value))
                  << text << " of " << a << ", " << b << " is " << value << ", not in ["
                  << whole.low << ", " << whole.high << "]";
            } catch (const InputError&) {
              // No value: division by 0 and the like.
            }
          }
        }
      }
    }
  }
  EXPECT_GT(evaluated, 40000);
}

}  // namespace
}  // namespace assay
