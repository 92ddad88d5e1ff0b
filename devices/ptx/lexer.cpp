#include "devices/ptx/lexer.hpp"

#include <array>
#include <cstring>

namespace assay::ptx {
namespace {

enum : uint8_t { kNameStart = 1, kNameRest = 2, kDigit = 4, kNumberRest = 8 };

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> classes{};
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = kNameStart | kNameRest | kNumberRest;
  for (int c = 'A'; c <= 'Z'; ++c) classes[c] = kNameStart | kNameRest | kNumberRest;
  for (int c = '0'; c <= '9'; ++c) classes[c] = kNameRest | kDigit | kNumberRest;
  classes['_'] = classes['$'] = kNameStart | kNameRest;
  classes['%'] = kNameStart;
  classes['.'] = kNumberRest;
  return classes;
}
constexpr std::array<uint8_t, 256> kClasses = make_classes();

bool in_class(char c, uint8_t classes) { return kClasses[static_cast<uint8_t>(c)] & classes; }

}  // namespace

std::string shown(const Token& token) {
  if (token.kind == Token::Kind::end) return "end of file";
  std::string text(token.text.substr(0, 60));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
  }
  return "'" + text + "'";
}

Lexer::Lexer(std::string_view text, const std::string& file)
    : cursor_(text.data()), end_(text.data() + text.size()), line_start_(text.data()), file_(file) {
  advance();
}

void Lexer::fail(const Token& at, const std::string& message) const {
  const int column = at.line_start ? static_cast<int>(at.text.data() - at.line_start) + 1 : 0;
  throw InputError({file_, at.line, column}, message);
}

void Lexer::fail_at(const char* at, const std::string& message) const {
  throw InputError({file_, line_, static_cast<int>(at - line_start_) + 1}, message);
}

Token Lexer::take() {
  const Token taken = token_;
  advance();
  return taken;
}

bool Lexer::accept(char c) {
  if (!token_.is(c)) return false;
  advance();
  return true;
}

void Lexer::expect(char c, const char* what) {
  if (!accept(c)) {
    fail_here(std::string("expected '") + c + "' " + what + ", found " + shown(token_));
  }
}

void Lexer::skip_line() {
  const void* found = std::memchr(cursor_, '\n', static_cast<size_t>(end_ - cursor_));
  cursor_ = found ? static_cast<const char*>(found) : end_;
}

/// White space, both kinds of comment, and the old `@@DWARF` debug lines.
void Lexer::skip_space() {
  while (cursor_ < end_) {
    const char c = *cursor_;
    if (c == '\n') {
      ++line_;
      line_start_ = ++cursor_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++cursor_;
    } else if (c == '/' && cursor_ + 1 < end_ && cursor_[1] == '/') {
      skip_line();
    } else if (c == '/' && cursor_ + 1 < end_ && cursor_[1] == '*') {
      const char* open = cursor_;
      for (cursor_ += 2;; ++cursor_) {
        if (cursor_ + 1 >= end_) fail_at(open, "expected '*/' to close this comment");
        if (cursor_[0] == '*' && cursor_[1] == '/') break;
        if (*cursor_ == '\n') {
          ++line_;
          line_start_ = cursor_ + 1;
          open = line_start_;
        }
      }
      cursor_ += 2;
    } else if (c == '@' && cursor_ + 1 < end_ && cursor_[1] == '@') {
      skip_line();
    } else {
      return;
    }
  }
}

/// A name goes on through `.part` and `::part`.
void Lexer::read_name() {
  ++cursor_;
  for (;;) {
    while (cursor_ < end_ && in_class(*cursor_, kNameRest)) ++cursor_;
    if (cursor_ + 1 < end_ && *cursor_ == '.' && in_class(cursor_[1], kNameRest)) {
      ++cursor_;
    } else if (cursor_ + 2 < end_ && cursor_[0] == ':' && cursor_[1] == ':' &&
               in_class(cursor_[2], kNameRest)) {
      cursor_ += 2;
    } else {
      return;
    }
  }
}

void Lexer::advance() {
  skip_space();
  token_.line = line_;
  token_.line_start = line_start_;
  const char* start = cursor_;
  if (cursor_ >= end_) {
    token_.kind = Token::Kind::end;
  } else if (in_class(*cursor_, kDigit)) {
    token_.kind = Token::Kind::number;
    for (;;) {
      while (cursor_ < end_ && in_class(*cursor_, kNumberRest)) ++cursor_;
      const bool hexadecimal = start[0] == '0' && cursor_ > start + 1 && (start[1] | 32) != 'e' &&
                               !in_class(start[1], kDigit) && start[1] != '.';
      const bool sign = cursor_ + 1 < end_ && (*cursor_ == '-' || *cursor_ == '+') &&
                        (cursor_[-1] | 32) == 'e' && in_class(cursor_[1], kDigit);
      if (hexadecimal || !sign) break;
      ++cursor_;
    }
  } else if (in_class(*cursor_, kNameStart)) {
    // A lone `%` is the remainder operator of constant expressions.
    const bool lone = *cursor_ == '%' && (cursor_ + 1 >= end_ || !in_class(cursor_[1], kNameRest));
    token_.kind = lone ? Token::Kind::punctuation : Token::Kind::name;
    if (lone) {
      ++cursor_;
    } else {
      read_name();
    }
  } else if (*cursor_ == '.' && cursor_ + 1 < end_ && in_class(cursor_[1], kNameStart)) {
    token_.kind = Token::Kind::directive;
    for (++cursor_; cursor_ < end_ && in_class(*cursor_, kNameRest);) ++cursor_;
  } else if (*cursor_ == '"') {
    for (++cursor_; cursor_ < end_ && *cursor_ != '"' && *cursor_ != '\n';) ++cursor_;
    if (cursor_ >= end_ || *cursor_ != '"') fail_at(start, "expected '\"' to close this string");
    token_.kind = Token::Kind::string;
    token_.text = {start + 1, static_cast<size_t>(cursor_ - start - 1)};
    ++cursor_;
    return;
  } else {
    token_.kind = Token::Kind::punctuation;
    if (std::memchr("(){}[]<>,;:=+-*/|&^~!@?#.", *cursor_, 25) == nullptr) {
      fail_at(start, "expected PTX, found a character that it does not have");
    }
    ++cursor_;
    const bool shift = cursor_ < end_ && *cursor_ == *start && (*start == '<' || *start == '>');
    if (shift) ++cursor_;
  }
  token_.text = {start, static_cast<size_t>(cursor_ - start)};
}

void Lexer::skip_block() {
  int depth = 1;
  while (depth > 0) {
    if (token_.kind == Token::Kind::end) fail_here("expected '}' before end of file");
    if (token_.is('{')) ++depth;
    if (token_.is('}')) --depth;
    advance();
  }
}

void Lexer::skip_statement() {
  while (!token_.is(';')) {
    if (token_.kind == Token::Kind::end) fail_here("expected ';' before end of file");
    advance();
  }
  advance();
}

}  // namespace assay::ptx
