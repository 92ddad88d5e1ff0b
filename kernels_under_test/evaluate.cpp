// Evaluation of expressions over integers and, for scalar operands, over doubles.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels_under_test/dtype.hpp"
#include "kernels_under_test/expression.hpp"

namespace assay {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

[[noreturn]] void fail(const Expr& node, const std::string& message) {
  throw InputError(node.where, message);
}
[[noreturn]] void overflow(const Expr& node) {
  fail(node, "'" + node.text + "' overflows 64-bit integers");
}

int64_t narrowed(__int128 value, const Expr& node) {
  if (value < kLowest || value > kHighest) overflow(node);
  return static_cast<int64_t>(value);
}

// Operators by their spelling: one or two characters, packed.
constexpr int spelling(char a, char b = 0) { return a | b << 8; }
int spelling(const std::string& text) {
  return spelling(text[0], text.size() > 1 ? text[1] : '\0');
}

void require_divisor(const Expr& node, int64_t divisor) {
  if (divisor == 0) fail(node, "division by 0 in '" + node.text + "'");
}

int64_t floor_quotient(int64_t a, int64_t b) {
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}

int64_t divided(const Expr& node, int64_t a, int64_t b) {
  require_divisor(node, b);
  if (b == -1) return narrowed(-static_cast<__int128>(a), node);
  return a / b;
}

int64_t remainder_of(const Expr& node, int64_t a, int64_t b) {
  require_divisor(node, b);
  return b == -1 ? 0 : a % b;
}

int64_t shifted(const Expr& node, int64_t a, int64_t count) {
  if (count < 0 || count > 63)
    fail(node, "shift by " + std::to_string(count) + "; expected 0 to 63");
  if (node.text == ">>") return a >> count;
  return narrowed(static_cast<__int128>(a) * (static_cast<__int128>(1) << count), node);
}

/// A binary operator without laziness, on integers.
int64_t apply_binary(const Expr& node, int64_t a, int64_t b) {
  int64_t out = 0;
  switch (spelling(node.text)) {
    case spelling('+'):
      if (__builtin_add_overflow(a, b, &out)) overflow(node);
      return out;
    case spelling('-'):
      if (__builtin_sub_overflow(a, b, &out)) overflow(node);
      return out;
    case spelling('*'):
      if (__builtin_mul_overflow(a, b, &out)) overflow(node);
      return out;
    case spelling('/'):
      return divided(node, a, b);
    case spelling('%'):
      return remainder_of(node, a, b);
    case spelling('=', '='):
      return a == b;
    case spelling('!', '='):
      return a != b;
    case spelling('<'):
      return a < b;
    case spelling('<', '='):
      return a <= b;
    case spelling('>'):
      return a > b;
    case spelling('>', '='):
      return a >= b;
    case spelling('|'):
      return a | b;
    case spelling('^'):
      return a ^ b;
    case spelling('&'):
      return a & b;
    case spelling('<', '<'):
    case spelling('>', '>'):
      return shifted(node, a, b);
    default:
      fail(node, "unknown operator '" + node.text + "'");
  }
}

int64_t apply_unary(const Expr& node, int64_t a) {
  switch (node.text[0]) {
    case '-':
      if (a == kLowest) overflow(node);
      return -a;
    case '!':
      return a == 0;
    default:
      return ~a;
  }
}

enum class Function {
  min,
  max,
  abs,
  ceil_div,
  align_up,
  is_pow2,
  log2_ceil,
  next_pow2,
  div_floor,
  mod_floor,
  div_trunc,
  mod_trunc,
  exp2,
  sqrt,
};

struct FunctionRow {
  std::string_view name;
  Function function;
  int arguments;  ///< -1: two or more
  bool real;      ///< gives a real
};

constexpr std::array<FunctionRow, 14> kFunctions{{
    {"ceil_div", Function::ceil_div, 2, false},
    {"min", Function::min, -1, false},
    {"max", Function::max, -1, false},
    {"abs", Function::abs, 1, false},
    {"align_up", Function::align_up, 2, false},
    {"is_pow2", Function::is_pow2, 1, false},
    {"log2_ceil", Function::log2_ceil, 1, false},
    {"next_pow2", Function::next_pow2, 1, false},
    {"div_floor", Function::div_floor, 2, false},
    {"mod_floor", Function::mod_floor, 2, false},
    {"div_trunc", Function::div_trunc, 2, false},
    {"mod_trunc", Function::mod_trunc, 2, false},
    {"exp2", Function::exp2, 1, true},
    {"sqrt", Function::sqrt, 1, true},
}};

const FunctionRow* find_function(const std::string& text) {
  for (const FunctionRow& row : kFunctions)
    if (row.name == text) return &row;
  return nullptr;
}

void check_arguments(const Expr& node, const FunctionRow& row) {
  const int count = static_cast<int>(node.operands.size());
  if (row.arguments < 0 ? count >= 2 : count == row.arguments) return;
  const std::string expected = row.arguments < 0 ? "two or more" : std::to_string(row.arguments);
  fail(node, "'" + node.text + "' takes " + expected + " argument" +
                 (row.arguments == 1 ? "" : "s") + ", not " + std::to_string(count));
}

// Smallest k with 2^k >= a.
int64_t log2_ceil(const Expr& node, int64_t a) {
  if (a < 1) fail(node, "'log2_ceil' of " + std::to_string(a) + "; expected at least 1");
  return a == 1 ? 0 : 64 - __builtin_clzll(static_cast<uint64_t>(a - 1));
}

int64_t ceil_quotient(const Expr& node, int64_t a, int64_t b) {
  require_divisor(node, b);
  if (b == -1) return narrowed(-static_cast<__int128>(a), node);
  return a / b + ((a % b != 0) && ((a < 0) == (b < 0)));
}

/// Functions of one or two integers (min and max by pairs).
int64_t apply_function(const Expr& node, Function function, int64_t a, int64_t b) {
  switch (function) {
    case Function::min:
      return std::min(a, b);
    case Function::max:
      return std::max(a, b);
    case Function::abs:
      if (a == kLowest) overflow(node);
      return a < 0 ? -a : a;
    case Function::ceil_div:
      return ceil_quotient(node, a, b);
    case Function::align_up:
      if (b <= 0) fail(node, "'align_up' to " + std::to_string(b) + "; expected at least 1");
      return narrowed(static_cast<__int128>(ceil_quotient(node, a, b)) * b, node);
    case Function::is_pow2:
      return a > 0 && (a & (a - 1)) == 0;
    case Function::log2_ceil:
      return log2_ceil(node, a);
    case Function::next_pow2: {
      const int64_t exponent = a <= 1 ? 0 : log2_ceil(node, a);
      if (exponent > 62) overflow(node);
      return int64_t{1} << exponent;
    }
    case Function::div_floor:
      require_divisor(node, b);
      return b == -1 ? divided(node, a, b) : floor_quotient(a, b);
    case Function::mod_floor: {
      const int64_t rest = remainder_of(node, a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    case Function::div_trunc:
      return divided(node, a, b);
    case Function::mod_trunc:
      return remainder_of(node, a, b);
    default:
      fail(node, "'" + node.text + "' gives a real number where an integer is needed");
  }
}

template <typename T>
std::string did_you_mean(const std::string& name, const T& candidates) {
  const std::string near = nearest_name(name, candidates);
  return near.empty() ? "" : " (did you mean '" + near + "'?)";
}

[[noreturn]] void unknown_function(const Expr& node) {
  std::vector<std::string> known = builtin_functions();
  known.insert(known.end(), {"stride", "size", "numel"});
  fail(node, "unknown function '" + node.text + "'" + did_you_mean(node.text, known));
}

// Names, calls and elements that the scope knows; shared by both evaluations.
class Resolver {
 public:
  Resolver(const IntegerScope& scope, const std::vector<std::string>& known)
      : scope_(scope), known_(known) {}

  int64_t name(const Expr& node) const {
    if (scope_.value) {
      if (const std::optional<int64_t> value = scope_.value(node.text)) return *value;
    }
    // `Q == e4m3`: a dtype's name stands for its number, as a type parameter's does.
    if (const std::optional<DType> type = parse_dtype(node.text)) return static_cast<int>(*type);
    fail(node, "unknown name '" + node.text + "'" + did_you_mean(node.text, known_));
  }

  int64_t call(const Expr& node) const {
    if (scope_.call) {
      if (const std::optional<int64_t> value = scope_.call(node)) return *value;
    }
    unknown_function(node);
  }

  int64_t element(const Expr& node) const {
    if (scope_.element) {
      if (const std::optional<int64_t> value = scope_.element(node)) return *value;
    }
    const std::string text = to_text(node);
    fail(node, "'" + text + "' has no value here" + did_you_mean(text, known_));
  }

 private:
  const IntegerScope& scope_;
  const std::vector<std::string>& known_;
};

int64_t integer_value(const Expr& node, const Resolver& resolver) {
  switch (node.kind) {
    case Expr::Kind::integer:
      return node.integer;
    case Expr::Kind::real:
      fail(node, "a real number where an integer is needed");
    case Expr::Kind::name:
      return resolver.name(node);
    case Expr::Kind::unary:
      return apply_unary(node, integer_value(*node.operands[0], resolver));
    case Expr::Kind::binary: {
      const int64_t left = integer_value(*node.operands[0], resolver);
      if (node.text == "&&") return left != 0 && integer_value(*node.operands[1], resolver) != 0;
      if (node.text == "||") return left != 0 || integer_value(*node.operands[1], resolver) != 0;
      return apply_binary(node, left, integer_value(*node.operands[1], resolver));
    }
    case Expr::Kind::ternary:
      return integer_value(*node.operands[integer_value(*node.operands[0], resolver) != 0 ? 1 : 2],
                           resolver);
    case Expr::Kind::call: {
      const FunctionRow* row = find_function(node.text);
      if (row == nullptr) return resolver.call(node);
      check_arguments(node, *row);
      int64_t value = integer_value(*node.operands[0], resolver);
      if (row->arguments == 1) return apply_function(node, row->function, value, 0);
      for (size_t i = 1; i < node.operands.size(); ++i)
        value =
            apply_function(node, row->function, value, integer_value(*node.operands[i], resolver));
      return value;
    }
    case Expr::Kind::index:
    case Expr::Kind::member:
      return resolver.element(node);
  }
  fail(node, "malformed expression");
}

// Integers stay integers until a real joins them.
struct Number {
  bool is_real = false;
  int64_t integer = 0;
  double real = 0;
  double as_double() const { return is_real ? real : static_cast<double>(integer); }
  bool truth() const { return is_real ? real != 0 : integer != 0; }
};
Number from_integer(int64_t value) { return {false, value, 0}; }
Number from_real(double value) { return {true, 0, value}; }

Number apply_binary(const Expr& node, const Number& a, const Number& b) {
  if (!a.is_real && !b.is_real) return from_integer(apply_binary(node, a.integer, b.integer));
  const double x = a.as_double();
  const double y = b.as_double();
  switch (spelling(node.text)) {
    case spelling('+'):
      return from_real(x + y);
    case spelling('-'):
      return from_real(x - y);
    case spelling('*'):
      return from_real(x * y);
    case spelling('/'):
      return from_real(x / y);
    case spelling('%'):
      return from_real(std::fmod(x, y));
    case spelling('=', '='):
      return from_integer(x == y);
    case spelling('!', '='):
      return from_integer(x != y);
    case spelling('<'):
      return from_integer(x < y);
    case spelling('<', '='):
      return from_integer(x <= y);
    case spelling('>'):
      return from_integer(x > y);
    case spelling('>', '='):
      return from_integer(x >= y);
    default:
      fail(node, "'" + node.text + "' needs integers on both sides");
  }
}

// Only whole exponents: exact, whereas libm's exp2 has other bits on machines without FMA.
double exact_exp2(const Expr& node, double exponent) {
  if (exponent != std::floor(exponent) || std::fabs(exponent) > 2000)
    fail(node, "'exp2' needs a whole exponent between -2000 and 2000");
  return std::ldexp(1.0, static_cast<int>(exponent));
}

Number apply_function(const Expr& node, Function function, const Number& a, const Number& b) {
  switch (function) {
    case Function::exp2:
      return from_real(exact_exp2(node, a.as_double()));
    case Function::sqrt:
      return from_real(std::sqrt(a.as_double()));
    default:
      break;
  }
  if (!a.is_real && !b.is_real)
    return from_integer(apply_function(node, function, a.integer, b.integer));
  switch (function) {
    case Function::abs:
      return from_real(std::fabs(a.as_double()));
    case Function::min:
      return from_real(std::fmin(a.as_double(), b.as_double()));
    case Function::max:
      return from_real(std::fmax(a.as_double(), b.as_double()));
    default:
      fail(node, "'" + node.text + "' needs integers");
  }
}

Number number_value(const Expr& node, const Resolver& resolver) {
  switch (node.kind) {
    case Expr::Kind::real:
      return from_real(node.real);
    case Expr::Kind::unary: {
      const Number operand = number_value(*node.operands[0], resolver);
      if (!operand.is_real) return from_integer(apply_unary(node, operand.integer));
      if (node.text == "-") return from_real(-operand.real);
      if (node.text == "!") return from_integer(operand.real == 0);
      fail(node, "'~' needs an integer");
    }
    case Expr::Kind::binary: {
      const Number left = number_value(*node.operands[0], resolver);
      if (node.text == "&&")
        return from_integer(left.truth() && number_value(*node.operands[1], resolver).truth());
      if (node.text == "||")
        return from_integer(left.truth() || number_value(*node.operands[1], resolver).truth());
      return apply_binary(node, left, number_value(*node.operands[1], resolver));
    }
    case Expr::Kind::ternary: {
      const bool chosen = number_value(*node.operands[0], resolver).truth();
      return number_value(*node.operands[chosen ? 1 : 2], resolver);
    }
    case Expr::Kind::call: {
      const FunctionRow* row = find_function(node.text);
      if (row == nullptr) return from_integer(resolver.call(node));
      check_arguments(node, *row);
      Number value = number_value(*node.operands[0], resolver);
      if (row->arguments == 1) return apply_function(node, row->function, value, Number{});
      for (size_t i = 1; i < node.operands.size(); ++i)
        value =
            apply_function(node, row->function, value, number_value(*node.operands[i], resolver));
      return value;
    }
    default:
      return from_integer(integer_value(node, resolver));
  }
}

}  // namespace

bool check_builtin_call(const Expr& call) {
  const FunctionRow* row = find_function(call.text);
  if (row != nullptr) check_arguments(call, *row);
  return row != nullptr;
}

std::vector<std::string> builtin_functions() {
  std::vector<std::string> names;
  for (const FunctionRow& row : kFunctions) names.emplace_back(row.name);
  return names;
}

int64_t evaluate_integer(const Expr& expr, const IntegerScope& scope,
                         const std::vector<std::string>& known_names) {
  return integer_value(expr, Resolver(scope, known_names));
}

double evaluate_real(const Expr& expr, const IntegerScope& scope) {
  const std::vector<std::string> none;
  return number_value(expr, Resolver(scope, none)).as_double();
}

}  // namespace assay
