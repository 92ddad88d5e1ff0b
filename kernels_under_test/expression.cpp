// Parser and printer of the expression language; evaluation is in evaluate.cpp.
#include "kernels_under_test/expression.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace assay {
namespace {

// Limits that keep every recursion over a tree (parse, print, evaluate, destroy) far from the end
// of the stack, whatever the input.
constexpr int kMaxNesting = 200;
constexpr int kMaxNodes = 4000;
constexpr size_t kMaxCharacters = 1 << 16;

struct BinaryOperator {
  std::string_view text;
  int level;  ///< binds tighter when higher
};

// Longer spellings first, so that `<<` is not read as `<`.
constexpr std::array<BinaryOperator, 18> kBinaryOperators{{
    {"||", 1},
    {"&&", 2},
    {"==", 3},
    {"!=", 3},
    {"<=", 4},
    {">=", 4},
    {"<<", 8},
    {">>", 8},
    {"<", 4},
    {">", 4},
    {"|", 5},
    {"^", 6},
    {"&", 7},
    {"+", 9},
    {"-", 9},
    {"*", 10},
    {"/", 10},
    {"%", 10},
}};
constexpr int kEqualityLevel = 3;
constexpr int kRelationLevel = 4;
constexpr int kUnaryLevel = 11;
constexpr int kPostfixLevel = 12;

int level_of(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::ternary:
      return 0;
    case Expr::Kind::binary:
      for (const BinaryOperator& op : kBinaryOperators)
        if (op.text == expr.text) return op.level;
      return 0;
    case Expr::Kind::unary:
      return kUnaryLevel;
    case Expr::Kind::integer:
      return expr.integer < 0 ? kUnaryLevel : kPostfixLevel;
    case Expr::Kind::real:
      return std::signbit(expr.real) ? kUnaryLevel : kPostfixLevel;
    default:
      return kPostfixLevel;
  }
}

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_part(char c) { return is_name_start(c) || is_digit(c); }

class Parser {
 public:
  Parser(std::string_view text, const SourceLocation& where) : text_(text), start_(where) {}

  ExprPtr parse_whole() {
    if (text_.size() > kMaxCharacters)
      fail("expression longer than " + std::to_string(kMaxCharacters) + " characters");
    ExprPtr expr = ternary();
    skip_space();
    if (at_ < text_.size())
      fail("expected an operator or the end of the expression, found " + found());
    return expr;
  }

 private:
  using Node = std::shared_ptr<Expr>;

  SourceLocation place(size_t at) const {
    SourceLocation where = start_;
    if (where.line == 0) return where;
    for (size_t i = 0; i < at && i < text_.size(); ++i) {
      const auto c = static_cast<unsigned char>(text_[i]);
      if (c == '\n') {
        ++where.line;
        where.column = 1;
      } else if ((c & 0xc0) != 0x80) {  // columns count characters, not UTF-8 bytes
        ++where.column;
      }
    }
    return where;
  }

  [[noreturn]] void fail(const std::string& message) const { fail_at(at_, message); }
  [[noreturn]] void fail_at(size_t at, const std::string& message) const {
    throw InputError(place(at), message);
  }

  std::string found() const {
    if (at_ >= text_.size()) return "the end of the expression";
    size_t end = at_ + 1;
    if (is_name_part(text_[at_]))
      while (end < text_.size() && is_name_part(text_[end]) && end - at_ < 40) ++end;
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xc0) == 0x80) ++end;
    return "'" + std::string(text_.substr(at_, end - at_)) + "'";
  }

  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }

  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c, const char* what) {
    if (!take(c)) fail(std::string("expected '") + c + "' " + what + ", found " + found());
  }

  Node node(Expr::Kind kind, size_t at) {
    if (++nodes_ > kMaxNodes)
      fail_at(at, "expression too long: more than " + std::to_string(kMaxNodes) + " terms");
    Node made = std::make_shared<Expr>();
    made->kind = kind;
    made->where = place(at);
    return made;
  }

  void enter() {
    if (++nesting_ > kMaxNesting)
      fail("expression nested deeper than " + std::to_string(kMaxNesting) + " levels");
  }

  ExprPtr ternary() {
    enter();
    ExprPtr condition = binary(1);
    skip_space();
    const size_t at = at_;
    if (take('?')) {
      Node made = node(Expr::Kind::ternary, at);
      ExprPtr yes = ternary();
      expect(':', "of '? :'");
      ExprPtr no = ternary();
      made->operands = {std::move(condition), std::move(yes), std::move(no)};
      condition = std::move(made);
    }
    --nesting_;
    return condition;
  }

  const BinaryOperator* peek_binary() {
    skip_space();
    for (const BinaryOperator& op : kBinaryOperators)
      if (text_.substr(at_, op.text.size()) == op.text) return &op;
    return nullptr;
  }

  // Precedence climbing: everything that binds at least as tightly as `level`.
  ExprPtr binary(int level) {
    ExprPtr left = unary();
    int previous = 0;
    while (const BinaryOperator* op = peek_binary()) {
      if (op->level < level) break;
      const bool comparison = op->level == kEqualityLevel || op->level == kRelationLevel;
      if (comparison && previous == op->level)
        fail("comparisons do not chain: write 'a < b && b < c'");
      Node made = node(Expr::Kind::binary, at_);
      made->text = op->text;
      at_ += op->text.size();
      ExprPtr right = binary(op->level + 1);
      made->operands = {std::move(left), std::move(right)};
      left = std::move(made);
      previous = op->level;
    }
    return left;
  }

  ExprPtr unary() {
    skip_space();
    const size_t at = at_;
    if (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '!' || text_[at_] == '~')) {
      enter();
      const char sign = text_[at_++];
      if (sign == '-') {
        skip_space();
        if (ExprPtr lowest = lowest_integer(at)) {
          --nesting_;
          return lowest;
        }
      }
      Node made = node(Expr::Kind::unary, at);
      made->text = std::string(1, sign);
      made->operands = {unary()};
      --nesting_;
      return made;
    }
    return postfix(primary());
  }

  // -2^63, the only integer whose magnitude does not fit.
  ExprPtr lowest_integer(size_t at) {
    constexpr std::string_view kMagnitude = "9223372036854775808";
    if (text_.substr(at_, kMagnitude.size()) != kMagnitude) return nullptr;
    const size_t end = at_ + kMagnitude.size();
    if (end < text_.size() && (is_name_part(text_[end]) || text_[end] == '.')) return nullptr;
    at_ = end;
    Node made = node(Expr::Kind::integer, at);
    made->integer = std::numeric_limits<int64_t>::min();
    return made;
  }

  std::string_view identifier() {
    skip_space();
    const size_t begin = at_;
    if (at_ < text_.size() && is_name_start(text_[at_]))
      while (at_ < text_.size() && is_name_part(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  ExprPtr primary() {
    skip_space();
    const size_t at = at_;
    if (at_ >= text_.size())
      fail(at == 0 ? "expected an expression, found nothing"
                   : "expected a value, found the end of the expression");
    if (take('(')) {
      ExprPtr inside = ternary();
      expect(')', "to close the parenthesis");
      return inside;
    }
    if (is_digit(text_[at_]) || text_[at_] == '.') return number();
    const std::string_view word = identifier();
    if (word.empty()) fail("expected a value, found " + found());
    if (word == "inf" || word == "nan") {
      Node made = node(Expr::Kind::real, at);
      made->real = word == "inf" ? std::numeric_limits<double>::infinity()
                                 : std::numeric_limits<double>::quiet_NaN();
      return made;
    }
    Node made = node(Expr::Kind::name, at);
    made->text = word;
    return made;
  }

  ExprPtr number() {
    const size_t begin = at_;
    const bool hex = text_.substr(at_, 2) == "0x" || text_.substr(at_, 2) == "0X";
    if (hex) at_ += 2;
    while (at_ < text_.size() && (is_name_part(text_[at_]) || text_[at_] == '.')) {
      const char c = text_[at_++];
      const bool exponent = hex ? c == 'p' || c == 'P' : c == 'e' || c == 'E';
      if (exponent && at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
    }
    const std::string_view whole = text_.substr(begin, at_ - begin);
    const std::string_view digits = hex ? whole.substr(2) : whole;
    const char* const end = digits.data() + digits.size();
    Node made = node(Expr::Kind::integer, begin);
    const auto as_integer = std::from_chars(digits.data(), end, made->integer, hex ? 16 : 10);
    if (as_integer.ptr == end && as_integer.ec == std::errc()) return made;
    if (as_integer.ptr == end && as_integer.ec == std::errc::result_out_of_range)
      fail_at(begin, "integer does not fit 64 bits: " + std::string(whole));
    made->kind = Expr::Kind::real;
    made->integer = 0;
    const auto as_real = std::from_chars(digits.data(), end, made->real,
                                         hex ? std::chars_format::hex : std::chars_format::general);
    if (as_real.ec == std::errc::result_out_of_range)
      fail_at(begin, "number out of the range of a double: " + std::string(whole));
    if (as_real.ec != std::errc() || as_real.ptr != end)
      fail_at(begin, "malformed number '" + std::string(whole) + "'");
    return made;
  }

  ExprPtr postfix(ExprPtr base) {
    for (;;) {
      skip_space();
      const size_t at = at_;
      if (take('(')) {
        if (base->kind != Expr::Kind::name) fail_at(at, "only a function's name can be called");
        base = call(*base);
      } else if (take('[')) {
        base = subscripts(std::move(base), at);
      } else if (at_ < text_.size() && text_[at_] == '.') {
        if (base->kind != Expr::Kind::name) fail("only a name can stand before '.'");
        ++at_;
        const std::string_view member = identifier();
        if (member.empty()) fail("expected a name after '.', found " + found());
        Node made = node(Expr::Kind::member, at);
        made->text = member;
        made->operands = {std::move(base)};
        base = std::move(made);
      } else {
        return base;
      }
    }
  }

  ExprPtr call(const Expr& callee) {
    Node made = node(Expr::Kind::call, at_);
    made->where = callee.where;
    made->text = callee.text;
    if (take(')')) return made;
    do {
      made->operands.push_back(ternary());
    } while (take(','));
    expect(')', "or ',' in the arguments of a function");
    return made;
  }

  ExprPtr subscripts(ExprPtr base, size_t at) {
    Node made = node(Expr::Kind::index, at);
    made->operands.push_back(std::move(base));
    made->labels.emplace_back();
    do {
      skip_space();
      const size_t begin = at_;
      std::string label(identifier());
      skip_space();
      const bool equals = at_ < text_.size() && text_[at_] == '=' && text_.substr(at_, 2) != "==";
      if (!label.empty() && equals) {
        ++at_;
      } else {
        label.clear();
        at_ = begin;
      }
      made->operands.push_back(ternary());
      made->labels.push_back(std::move(label));
    } while (take(','));
    expect(']', "or ',' in the subscripts");
    return made;
  }

  std::string_view text_;
  SourceLocation start_;
  size_t at_ = 0;
  int nesting_ = 0;
  int nodes_ = 0;
};

std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 40> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  std::string out(buffer.data(), end);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

// A ternary is parenthesised wherever it is an operand of an operator.
void print(const Expr& expr, int level, std::string& out) {
  const bool parentheses = level_of(expr) < level;
  if (parentheses) out += '(';
  switch (expr.kind) {
    case Expr::Kind::integer:
      out += std::to_string(expr.integer);
      break;
    case Expr::Kind::real:
      out += real_text(expr.real);
      break;
    case Expr::Kind::name:
      out += expr.text;
      break;
    case Expr::Kind::unary:
      out += expr.text;
      print(*expr.operands[0], kUnaryLevel, out);
      break;
    case Expr::Kind::binary: {
      // Left-associative, and equal comparisons do not chain.
      const int own = level_of(expr);
      const bool comparison = own == kEqualityLevel || own == kRelationLevel;
      print(*expr.operands[0], comparison ? own + 1 : own, out);
      out += ' ' + expr.text + ' ';
      print(*expr.operands[1], own + 1, out);
      break;
    }
    case Expr::Kind::ternary:
      print(*expr.operands[0], 1, out);
      out += " ? ";
      print(*expr.operands[1], 0, out);
      out += " : ";
      print(*expr.operands[2], 0, out);
      break;
    case Expr::Kind::call:
    case Expr::Kind::index: {
      const bool index = expr.kind == Expr::Kind::index;
      if (index)
        print(*expr.operands[0], kPostfixLevel, out);
      else
        out += expr.text;
      out += index ? '[' : '(';
      const size_t first = index ? 1 : 0;
      for (size_t i = first; i < expr.operands.size(); ++i) {
        if (i > first) out += ", ";
        if (index && !expr.labels[i].empty()) out += expr.labels[i] + " = ";
        print(*expr.operands[i], 0, out);
      }
      out += index ? ']' : ')';
      break;
    }
    case Expr::Kind::member:
      print(*expr.operands[0], kPostfixLevel, out);
      out += '.' + expr.text;
      break;
  }
  if (parentheses) out += ')';
}

void collect_names(const Expr& expr, std::vector<std::string>& out) {
  if (expr.kind == Expr::Kind::name) out.push_back(expr.text);
  for (const ExprPtr& operand : expr.operands) collect_names(*operand, out);
}

}  // namespace

ExprPtr parse_expression(std::string_view text, const SourceLocation& where) {
  return Parser(text, where).parse_whole();
}

std::string to_text(const Expr& expr) {
  std::string out;
  print(expr, 0, out);
  return out;
}

std::vector<std::string> names_in(const Expr& expr) {
  std::vector<std::string> out;
  collect_names(expr, out);
  return out;
}

}  // namespace assay
