#include "kernels_under_test/expression.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <random>

namespace assay {
namespace {

const SourceLocation kStart{"k.toml", 3, 10};

std::string reprinted(const std::string& text) { return to_text(*parse_expression(text, kStart)); }

std::string error_of(const std::string& text) {
  try {
    parse_expression(text, kStart);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

// Every tree as nested prefix text: independent of the printer's precedence rules.
std::string prefix(const Expr& expr) {
  std::string out;
  switch (expr.kind) {
    case Expr::Kind::integer:
      return std::to_string(expr.integer);
    case Expr::Kind::real:
      return "r" + std::to_string(std::bit_cast<uint64_t>(expr.real));
    case Expr::Kind::name:
      return expr.text;
    case Expr::Kind::unary:
      out = "u" + expr.text;
      break;
    case Expr::Kind::binary:
      out = expr.text;
      break;
    case Expr::Kind::ternary:
      out = "?:";
      break;
    case Expr::Kind::call:
      out = "call " + expr.text;
      break;
    case Expr::Kind::index:
      out = "index";
      break;
    case Expr::Kind::member:
      out = "." + expr.text;
      break;
  }
  std::string list;
  for (size_t i = 0; i < expr.operands.size(); ++i) {
    list += ' ';
    if (i < expr.labels.size() && !expr.labels[i].empty()) list += expr.labels[i] + "=";
    list += prefix(*expr.operands[i]);
  }
  return "(" + out + list + ")";
}

std::string tree(const std::string& text) { return prefix(*parse_expression(text, kStart)); }

TEST(Expression, PrecedenceFollowsTheGrammar) {
  EXPECT_EQ(tree("a + b * c"), "(+ a (* b c))");
  EXPECT_EQ(tree("a - b - c"), "(- (- a b) c)");
  EXPECT_EQ(tree("a || b && c == d < e | f ^ g & h << i + j * -k"),
            "(|| a (&& b (== c (< d (| e (^ f (& g (<< h (+ i (* j (u- k)))))))))))");
  EXPECT_EQ(tree("a ? b : c ? d : e"), "(?: a b (?: c d e))");
  EXPECT_EQ(tree("(a ? b : c) ? d : e"), "(?: (?: a b c) d e)");
  EXPECT_EQ(tree("!ub || Q == e4m3"), "(|| (u! ub) (== Q e4m3))");
  EXPECT_EQ(tree("-x[0]"), "(u- (index x 0))");
  EXPECT_EQ(tree("a <= b"), "(<= a b)");
  EXPECT_EQ(tree("a<b"), "(< a b)");
}

TEST(Expression, PostfixForms) {
  EXPECT_EQ(tree("stride(x, 0)"), "(call stride x 0)");
  EXPECT_EQ(tree("f()"), "(call f)");
  EXPECT_EQ(tree("x + residual.before"), "(+ x (.before residual))");
  EXPECT_EQ(tree("residual.before[i]"), "(index (.before residual) i)");
  EXPECT_EQ(tree("k[page = table[token / BS], slot = token % BS]"),
            "(index k page=(index table (/ token BS)) slot=(% token BS))");
  EXPECT_EQ(tree("k[a == b]"), "(index k (== a b))");
  EXPECT_EQ(tree("(x * y)[cols = 1]"), "(index (* x y) cols=1)");
}

TEST(Expression, Numbers) {
  EXPECT_EQ(parse_expression("0x10", kStart)->integer, 16);
  EXPECT_EQ(parse_expression("9223372036854775807", kStart)->integer, INT64_MAX);
  EXPECT_EQ(parse_expression("- 9223372036854775808", kStart)->integer, INT64_MIN);
  EXPECT_EQ(parse_expression("1e-6", kStart)->real, 1e-6);
  EXPECT_EQ(parse_expression("0x1p-3", kStart)->real, 0.125);
  EXPECT_EQ(parse_expression("0x1.8p+1", kStart)->real, 3.0);
  EXPECT_EQ(parse_expression(".5", kStart)->real, 0.5);
  EXPECT_EQ(parse_expression("2.", kStart)->kind, Expr::Kind::real);
  EXPECT_EQ(tree("0x1e-3"), "(- 30 3)");
  EXPECT_EQ(tree("-inf"), "(u- r9218868437227405312)");
  EXPECT_EQ(tree("info + nano"), "(+ info nano)");
}

TEST(Expression, ErrorsPointIntoTheFile) {
  EXPECT_EQ(error_of("a + "), "k.toml:3:14: expected a value, found the end of the expression");
  EXPECT_EQ(error_of(""), "k.toml:3:10: expected an expression, found nothing");
  EXPECT_EQ(error_of("a b"),
            "k.toml:3:12: expected an operator or the end of the expression, found 'b'");
  EXPECT_EQ(error_of("(a"),
            "k.toml:3:12: expected ')' to close the parenthesis, found the end of the expression");
  EXPECT_EQ(error_of("f(a, b"),
            "k.toml:3:16: expected ')' or ',' in the arguments of a function, found the end of the "
            "expression");
  EXPECT_EQ(error_of("x[1"),
            "k.toml:3:13: expected ']' or ',' in the subscripts, found the end of the expression");
  EXPECT_EQ(error_of("a ? b"),
            "k.toml:3:15: expected ':' of '? :', found the end of the expression");
  EXPECT_EQ(error_of("1 < x < 3"), "k.toml:3:16: comparisons do not chain: write 'a < b && b < c'");
  EXPECT_EQ(error_of("2x"), "k.toml:3:10: malformed number '2x'");
  EXPECT_EQ(error_of("1e999"), "k.toml:3:10: number out of the range of a double: 1e999");
  EXPECT_EQ(error_of("9223372036854775808"),
            "k.toml:3:10: integer does not fit 64 bits: 9223372036854775808");
  EXPECT_EQ(error_of("3(4)"), "k.toml:3:11: only a function's name can be called");
  EXPECT_EQ(error_of("f(x).y"), "k.toml:3:14: only a name can stand before '.'");
  EXPECT_EQ(error_of("x."),
            "k.toml:3:12: expected a name after '.', found the end of the expression");
  EXPECT_EQ(error_of("a = b"),
            "k.toml:3:12: expected an operator or the end of the expression, found '='");
  EXPECT_EQ(error_of("a @ b"),
            "k.toml:3:12: expected an operator or the end of the expression, found '@'");
}

TEST(Expression, ErrorsInLaterLinesAndBehindWideCharacters) {
  EXPECT_EQ(error_of("a +\n  b c"),
            "k.toml:4:5: expected an operator or the end of the expression, found 'c'");
  EXPECT_EQ(error_of("é"), "k.toml:3:10: expected a value, found 'é'");
}

TEST(Expression, NodesKnowTheirPlace) {
  const ExprPtr sum = parse_expression("abc + f(x)", kStart);
  EXPECT_EQ(sum->where.column, 14);
  EXPECT_EQ(sum->operands[0]->where.column, 10);
  EXPECT_EQ(sum->operands[1]->where.column, 16);
  EXPECT_EQ(sum->operands[1]->operands[0]->where.column, 18);
}

// Deep and long input ends in an error, not at the end of the stack.
TEST(Expression, DepthAndLengthAreLimited) {
  const std::string deep(100000, '(');
  EXPECT_NE(error_of(deep).find("characters"), std::string::npos);
  for (const char* unit : {"(", "-", "a?", "a?b:", "f(", "x[", "!"}) {
    std::string text;
    for (int i = 0; i < 10000; ++i) text += unit;
    EXPECT_NE(error_of(text + "a").find("nested deeper than 200 levels"), std::string::npos)
        << unit;
  }
  for (const char* unit : {"a+", "a&&", "a*"}) {
    std::string text;
    for (int i = 0; i < 10000; ++i) text += unit;
    EXPECT_NE(error_of(text + "a").find("too long"), std::string::npos) << unit;
  }
  std::string fits = "a";
  for (int i = 0; i < 1000; ++i) fits += "+a";
  EXPECT_EQ(names_in(*parse_expression(fits, kStart)).size(), 1001u);
}

TEST(Expression, PrintsWithoutNeedlessParentheses) {
  EXPECT_EQ(reprinted("((a)) + (b * c)"), "a + b * c");
  EXPECT_EQ(reprinted("(a + b) * c"), "(a + b) * c");
  EXPECT_EQ(reprinted("a - (b - c)"), "a - (b - c)");
  EXPECT_EQ(reprinted("(a < b) == c"), "a < b == c");
  EXPECT_EQ(reprinted("(a == b) == c"), "(a == b) == c");
  EXPECT_EQ(reprinted("-(-a)"), "--a");
  EXPECT_EQ(reprinted("1e0"), "1.0");
}

TEST(Expression, NamesComeInOrderWithoutCalleesAndLabels) {
  const std::vector<std::string> expected{"k", "table", "token", "residual"};
  EXPECT_EQ(names_in(*parse_expression("sum(k[page = table[token]], residual.before)", kStart)),
            expected);
}

// Random trees: printing and parsing gives the same tree back, and the same text.
class RandomTrees {
 public:
  explicit RandomTrees(uint64_t seed) : random_(seed) {}

  ExprPtr make(int depth) {
    auto out = std::make_shared<Expr>();
    const uint64_t choice = depth == 0 ? pick(3) : pick(9);
    switch (choice) {
      case 0:
        out->kind = Expr::Kind::integer;
        out->integer = static_cast<int64_t>(random_() >> (1 + pick(63)));
        break;
      case 1:
        out->kind = Expr::Kind::real;
        out->real = std::bit_cast<double>(random_() & 0x7fefffffffffffff);
        break;
      case 2:
        out->kind = Expr::Kind::name;
        out->text = std::string(1, static_cast<char>('a' + pick(26)));
        break;
      case 3:
        out->kind = Expr::Kind::unary;
        out->text = std::string(1, "-!~"[pick(3)]);
        out->operands = {make(depth - 1)};
        break;
      case 4:
      case 5: {
        static const char* const kOperators[] = {"||", "&&", "==", "!=", "<", "<=", ">", ">=", "|",
                                                 "^",  "&",  "<<", ">>", "+", "-",  "*", "/",  "%"};
        out->kind = Expr::Kind::binary;
        out->text = kOperators[pick(18)];
        out->operands = {make(depth - 1), make(depth - 1)};
        break;
      }
      case 6:
        out->kind = Expr::Kind::ternary;
        out->operands = {make(depth - 1), make(depth - 1), make(depth - 1)};
        break;
      case 7:
        out->kind = Expr::Kind::call;
        out->text = "f";
        for (uint64_t i = pick(4); i > 0; --i) out->operands.push_back(make(depth - 1));
        break;
      default:
        out->kind = Expr::Kind::index;
        out->operands = {make(depth - 1)};
        out->labels = {""};
        for (uint64_t i = 1 + pick(2); i > 0; --i) {
          out->operands.push_back(make(depth - 1));
          out->labels.push_back(pick(2) == 0 ? "" : "dim");
        }
    }
    return out;
  }

 private:
  uint64_t pick(uint64_t count) { return random_() % count; }
  std::mt19937_64 random_;
};

TEST(Expression, RandomTreesRoundTrip) {
  RandomTrees trees(3);
  for (int i = 0; i < 20000; ++i) {
    const ExprPtr made = trees.make(1 + i % 5);
    const std::string text = to_text(*made);
    const ExprPtr back = parse_expression(text, kStart);
    ASSERT_EQ(prefix(*back), prefix(*made)) << text;
    ASSERT_EQ(to_text(*back), text);
  }
}

// Arbitrary bytes either parse or give an InputError.
TEST(Expression, GarbageNeverEscapes) {
  std::mt19937_64 random(5);
  const std::string alphabet = "ab01. ()[]=<>!&|^~+-*/%?:,.xep\n\xc3\xa9";
  int parsed = 0;
  for (int i = 0; i < 50000; ++i) {
    std::string text;
    for (uint64_t n = random() % 12; n > 0; --n) text += alphabet[random() % alphabet.size()];
    try {
      const ExprPtr expr = parse_expression(text, kStart);
      ASSERT_EQ(prefix(*parse_expression(to_text(*expr), kStart)), prefix(*expr)) << text;
      ++parsed;
    } catch (const InputError& error) {
      ASSERT_EQ(std::string(error.what()).rfind("k.toml:", 0), 0u);
    }
  }
  EXPECT_GT(parsed, 500);
}

}  // namespace
}  // namespace assay
