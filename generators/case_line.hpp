// A cursor over one line of case text. Private to generators/case.cpp.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

#include "kernels_under_test/input_error.hpp"

namespace assay::case_text {

/// `text` for a message: printable, at most 40 characters.
inline std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, 40)) {
    out += (c >= 0x20 && c < 0x7f) ? c : '?';
  }
  if (text.size() > 40) out += "...";
  return out + "'";
}

inline bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }
inline bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

/// A cursor over one line.
class Line {
 public:
  Line(std::string_view text, const std::string& file, int number)
      : text_(text), file_(file), number_(number) {}

  SourceLocation here() const { return {file_, number_, static_cast<int>(at_) + 1}; }
  [[noreturn]] void fail(const std::string& message) const { throw InputError(here(), message); }
  [[noreturn]] void fail_at(const SourceLocation& where, const std::string& message) const {
    throw InputError(where, message);
  }

  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  /// True at the end of the line or at a trailing comment.
  bool done() {
    skip_space();
    return at_ >= text_.size() || text_[at_] == '#';
  }
  void expect_end() {
    if (!done()) fail("unexpected " + quoted(text_.substr(at_)));
  }
  /// What was read is a word by itself: white space follows, a comment, or nothing.
  bool ends_word() const {
    return at_ >= text_.size() || is_space(text_[at_]) || text_[at_] == '#';
  }
  bool accept(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c, const char* after) {
    if (!accept(c)) fail(std::string("expected '") + c + "' after " + after);
  }
  std::string name(const char* what) {
    skip_space();
    const size_t start = at_;
    while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
    if (at_ == start) fail(std::string("expected ") + what);
    return std::string(text_.substr(start, at_ - start));
  }
  /// Characters up to white space or a comment.
  std::string word(const char* what) {
    skip_space();
    const size_t start = at_;
    while (at_ < text_.size() && !is_space(text_[at_]) && text_[at_] != '#') ++at_;
    if (at_ == start) fail(std::string("expected ") + what);
    return std::string(text_.substr(start, at_ - start));
  }
  /// The rest of the line without trailing white space.
  std::string rest() {
    skip_space();
    std::string_view tail = text_.substr(at_);
    while (!tail.empty() && is_space(tail.back())) tail.remove_suffix(1);
    at_ = text_.size();
    return std::string(tail);
  }
  template <typename T>
  T integer(const char* what) {
    const bool hex = text_.substr(at_, 2) == "0x" || text_.substr(at_, 2) == "0X";
    const char* const first = text_.data() + at_ + (hex ? 2 : 0);
    T value{};
    const auto [end, error] =
        std::from_chars(first, text_.data() + text_.size(), value, hex ? 16 : 10);
    if (error == std::errc::result_out_of_range) fail(std::string(what) + " does not fit 64 bits");
    if (error != std::errc() || end == first) fail(std::string("expected ") + what);
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }
  double real(const char* what) {
    double value = 0;
    const char* const first = text_.data() + at_;
    const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), value);
    if (error != std::errc() || end == first) fail(std::string("expected ") + what);
    if (value != value) fail(std::string(what) + " cannot be nan");
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

 private:
  std::string_view text_;
  const std::string& file_;
  int number_;
  size_t at_ = 0;
};

}  // namespace assay::case_text
