#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <new>
#include <random>

#include "kernels_under_test/dtype.hpp"
#include "kernels_under_test/expression.hpp"

namespace {
thread_local long allocations = 0;
}

// Not inlined: g++ takes an inlined pair for a mismatch (-Wmismatched-new-delete).
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace assay {
namespace {

const SourceLocation kStart{"k.toml", 1, 1};

IntegerScope scope() {
  static const std::map<std::string, int64_t, std::less<>> kValues{
      {"rows", 7}, {"cols", 1024}, {"low", INT64_MIN}, {"high", INT64_MAX}, {"zero", 0}, {"Q", 4}};
  IntegerScope out;
  out.value = [](std::string_view name) -> std::optional<int64_t> {
    const auto found = kValues.find(name);
    if (found == kValues.end()) return std::nullopt;
    return found->second;
  };
  out.call = [](const Expr& call) -> std::optional<int64_t> {
    if (call.text == "stride") return 100 + call.operands[1]->integer;
    return std::nullopt;
  };
  out.element = [](const Expr& node) -> std::optional<int64_t> {
    if (node.kind == Expr::Kind::member && node.text == "x") return 5;
    if (node.kind == Expr::Kind::index) return 10 * node.operands[1]->integer;
    return std::nullopt;
  };
  return out;
}

int64_t value(const std::string& text) {
  return evaluate_integer(*parse_expression(text, kStart), scope());
}
double real(const std::string& text) {
  return evaluate_real(*parse_expression(text, kStart), scope());
}
std::string error_of(const std::string& text) {
  try {
    evaluate_integer(*parse_expression(text, kStart), scope(), {"rows", "cols", "zero"});
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Evaluate, OperatorsAsInC) {
  EXPECT_EQ(value("-7 / 2"), -3);
  EXPECT_EQ(value("-7 % 2"), -1);
  EXPECT_EQ(value("7 / -2"), -3);
  EXPECT_EQ(value("1 + 2 * 3 - 4"), 3);
  EXPECT_EQ(value("1 << 62 >> 61"), 2);
  EXPECT_EQ(value("-8 >> 1"), -4);
  EXPECT_EQ(value("6 & 3 | 8 ^ 1"), 11);
  EXPECT_EQ(value("~0"), -1);
  EXPECT_EQ(value("!7 + !0"), 1);
  EXPECT_EQ(value("rows < cols && cols >= 1024 && rows != 8 && 3 > 2 && 2 <= 2"), 1);
  EXPECT_EQ(value("rows == 8 || 0"), 0);
  EXPECT_EQ(value("rows ? 3 : 4"), 3);
  EXPECT_EQ(value("-1 << 63"), INT64_MIN);
}

TEST(Evaluate, Functions) {
  EXPECT_EQ(value("min(3, 1, 2)"), 1);
  EXPECT_EQ(value("max(3, 1, 9, 2)"), 9);
  EXPECT_EQ(value("abs(-4)"), 4);
  EXPECT_EQ(value("align_up(9, 8)"), 16);
  EXPECT_EQ(value("align_up(-9, 8)"), -8);
  EXPECT_EQ(value("is_pow2(64) + is_pow2(0) + is_pow2(-8) + is_pow2(1)"), 2);
  EXPECT_EQ(value("log2_ceil(1)"), 0);
  EXPECT_EQ(value("log2_ceil(1025)"), 11);
  EXPECT_EQ(value("log2_ceil(high)"), 63);
  EXPECT_EQ(value("next_pow2(0)"), 1);
  EXPECT_EQ(value("next_pow2(1024)"), 1024);
  EXPECT_EQ(value("next_pow2(1025)"), 2048);
}

// Against the definitions, over all sign combinations.
TEST(Evaluate, Divisions) {
  for (int a = -20; a <= 20; ++a) {
    for (int b = -6; b <= 6; ++b) {
      if (b == 0) continue;
      const std::string args = "(" + std::to_string(a) + ", " + std::to_string(b) + ")";
      const double quotient = static_cast<double>(a) / b;
      const auto floor = static_cast<int64_t>(std::floor(quotient));
      EXPECT_EQ(value("ceil_div" + args), static_cast<int64_t>(std::ceil(quotient))) << args;
      EXPECT_EQ(value("div_floor" + args), floor) << args;
      EXPECT_EQ(value("mod_floor" + args), a - floor * b) << args;
      EXPECT_EQ(value("div_trunc" + args), static_cast<int64_t>(std::trunc(quotient))) << args;
      EXPECT_EQ(value("mod_trunc" + args), a - static_cast<int64_t>(std::trunc(quotient)) * b);
    }
  }
  EXPECT_EQ(value("low % -1"), 0);
  EXPECT_EQ(value("mod_floor(low, -1)"), 0);
  EXPECT_EQ(value("ceil_div(high, 2)"), INT64_MAX / 2 + 1);
  EXPECT_EQ(value("div_floor(low, 2)"), INT64_MIN / 2);
}

TEST(Evaluate, OverflowIsAnErrorAtTheOperator) {
  EXPECT_EQ(error_of("high + 1"), "k.toml:1:6: '+' overflows 64-bit integers");
  for (const char* text :
       {"low - 1", "high * 2", "-low", "abs(low)", "low / -1", "div_floor(low, -1)",
        "ceil_div(low, -1)", "div_trunc(low, -1)", "1 << 63", "high << 1", "next_pow2(high)",
        "align_up(high, 2)", "3 << 62"})
    EXPECT_NE(error_of(text).find("overflows"), std::string::npos) << text;
}

TEST(Evaluate, OtherErrors) {
  EXPECT_EQ(error_of("1 / zero"), "k.toml:1:3: division by 0 in '/'");
  EXPECT_EQ(error_of("1 % zero"), "k.toml:1:3: division by 0 in '%'");
  EXPECT_EQ(error_of("ceil_div(1, zero)"), "k.toml:1:1: division by 0 in 'ceil_div'");
  EXPECT_EQ(error_of("mod_floor(1, zero)"), "k.toml:1:1: division by 0 in 'mod_floor'");
  EXPECT_EQ(error_of("1 << 64"), "k.toml:1:3: shift by 64; expected 0 to 63");
  EXPECT_EQ(error_of("1 >> -1"), "k.toml:1:3: shift by -1; expected 0 to 63");
  EXPECT_EQ(error_of("align_up(1, 0)"), "k.toml:1:1: 'align_up' to 0; expected at least 1");
  EXPECT_EQ(error_of("log2_ceil(0)"), "k.toml:1:1: 'log2_ceil' of 0; expected at least 1");
  EXPECT_EQ(error_of("2 + colz"), "k.toml:1:5: unknown name 'colz' (did you mean 'cols'?)");
  EXPECT_EQ(error_of("ceildiv(1, 2)"),
            "k.toml:1:1: unknown function 'ceildiv' (did you mean 'ceil_div'?)");
  EXPECT_EQ(error_of("abs(1, 2)"), "k.toml:1:1: 'abs' takes 1 argument, not 2");
  EXPECT_EQ(error_of("min(1)"), "k.toml:1:1: 'min' takes two or more arguments, not 1");
  EXPECT_EQ(error_of("1 + 0.5"), "k.toml:1:5: a real number where an integer is needed");
  EXPECT_EQ(error_of("sqrt(4)"),
            "k.toml:1:1: 'sqrt' gives a real number where an integer is needed");
  EXPECT_EQ(error_of("block.y"), "k.toml:1:6: 'block.y' has no value here");
}

TEST(Evaluate, UnsetScopeFunctionsAreUnknownNames) {
  for (const char* text : {"rows", "stride(x, 0)", "lens[0]", "block.x"})
    EXPECT_THROW(evaluate_integer(*parse_expression(text, kStart), {}), InputError) << text;
}

TEST(Evaluate, LogicIsLazy) {
  EXPECT_EQ(value("zero && 1 / zero"), 0);
  EXPECT_EQ(value("rows || 1 / zero"), 1);
  EXPECT_EQ(value("rows ? 1 : 1 / zero"), 1);
  EXPECT_EQ(value("zero ? 1 / zero : 2"), 2);
}

TEST(Evaluate, ScopeGivesCallsElementsAndTypes) {
  EXPECT_EQ(value("stride(x, 1) + lens[3] + block.x"), 101 + 30 + 5);
  EXPECT_EQ(value("Q == e4m3"), 1);
  EXPECT_EQ(value("Q == f32"), 0);
}

// Random expressions against 128-bit arithmetic done the plain way.
TEST(Evaluate, RandomSumsAndProductsOverflowExactlyWhenTheyShould) {
  std::mt19937_64 random(9);
  int overflows = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto a = static_cast<int64_t>(random()) >> (random() % 60);
    const auto b = static_cast<int64_t>(random()) >> (random() % 60);
    const char op = "+-*"[random() % 3];
    const __int128 wide = op == '+'   ? static_cast<__int128>(a) + b
                          : op == '-' ? static_cast<__int128>(a) - b
                                      : static_cast<__int128>(a) * b;
    const std::string text = std::to_string(a) + " " + op + " (" + std::to_string(b) + ")";
    if (wide > INT64_MAX || wide < INT64_MIN) {
      ++overflows;
      ASSERT_NE(error_of(text).find("overflows"), std::string::npos) << text;
    } else {
      ASSERT_EQ(value(text), static_cast<int64_t>(wide)) << text;
    }
  }
  EXPECT_GT(overflows, 1000);
}

TEST(Evaluate, RealsJoinIntegers) {
  EXPECT_EQ(real("1 / 2"), 0);
  EXPECT_EQ(real("1.0 / 2"), 0.5);
  EXPECT_EQ(real("1 / sqrt(cols)"), 1.0 / 32);
  EXPECT_EQ(real("exp2(-24)"), std::ldexp(1.0, -24));
  EXPECT_EQ(real("min(0.5, 2)"), 0.5);
  EXPECT_EQ(real("max(1, 2)"), 2);
  EXPECT_EQ(real("abs(-0.5)"), 0.5);
  EXPECT_EQ(real("rows > 6.5 ? 1e-6 : nan"), 1e-6);
  EXPECT_EQ(real("-inf"), -INFINITY);
  EXPECT_TRUE(std::isnan(real("nan")));
  EXPECT_EQ(real("7.5 % 2"), 1.5);
  EXPECT_EQ(real("stride(x, 1) * 0.5"), 50.5);
  EXPECT_THROW(real("exp2(0.5)"), InputError);
  EXPECT_THROW(real("1.5 | 1"), InputError);
  EXPECT_THROW(real("~1.5"), InputError);
  EXPECT_THROW(real("ceil_div(1.5, 2)"), InputError);
  EXPECT_THROW(real("1 / zero"), InputError);
}

// Evaluated for every case: good input must not allocate.
TEST(Evaluate, GoodInputDoesNotAllocate) {
  const ExprPtr expr = parse_expression(
      "ceil_div(cols, 128) + 10 + (rows == 7 && cols != 3 ? max(rows, 2) : stride(x, 0)) + block.x",
      kStart);
  const IntegerScope names = scope();
  const long before = allocations;
  int64_t total = 0;
  for (int i = 0; i < 100; ++i) total += evaluate_integer(*expr, names);
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(total, 100 * (8 + 10 + 7 + 5));
}

}  // namespace
}  // namespace assay
