// Tokens of PTX text (PTX ISA 9.0, chapter 4). The lexer reads on demand; tokens are views into
// the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels_under_test/input_error.hpp"

namespace assay::ptx {

struct Token {
  enum class Kind : uint8_t {
    end,
    name,         ///< `%r1`, `$L__BB0_1`, `add.rn.f32`, `%tid.x`: dotted parts belong to it
    directive,    ///< `.reg`
    string,       ///< "..." without the quotes
    number,       ///< starts with a digit
    punctuation,  ///< one character; `<<` and `>>` are two
  };
  Kind kind = Kind::end;
  std::string_view text;  ///< of a directive: with its dot
  int32_t line = 1;
  const char* line_start = nullptr;

  bool is(char c) const { return kind == Kind::punctuation && text.size() == 1 && text[0] == c; }
  bool is(std::string_view word) const { return kind != Kind::string && text == word; }
  bool is_name() const { return kind == Kind::name || kind == Kind::string; }
};

class Lexer {
 public:
  /// Both must live as long as the tokens.
  Lexer(std::string_view text, const std::string& file);

  const Token& peek() const { return token_; }
  Token take();
  bool accept(char c);
  void expect(char c, const char* what);

  /// Reads on to the `}` that closes the block whose `{` was taken; for debug sections.
  void skip_block();
  /// Reads on to the next `;` and takes it.
  void skip_statement();

  [[noreturn]] void fail(const Token& at, const std::string& message) const;
  [[noreturn]] void fail_here(const std::string& message) const { fail(token_, message); }

 private:
  void advance();
  void skip_space();
  void skip_line();
  void read_name();
  [[noreturn]] void fail_at(const char* at, const std::string& message) const;

  const char* cursor_;
  const char* end_;
  const char* line_start_;
  int32_t line_ = 1;
  Token token_;
  const std::string& file_;
};

/// Token as a message shows it: 'add', end of file.
std::string shown(const Token& token);

}  // namespace assay::ptx
