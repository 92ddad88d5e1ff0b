#include "oracles/number_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace assay {

std::string shortest(double x) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, x).ptr;
  return {buffer, end};
}

std::string element_text(DType type, uint64_t bits) {
  if (is_integer(type)) {
    const __int128 value = to_integer(type, bits);
    return value < 0 ? std::to_string(static_cast<int64_t>(value))
                     : std::to_string(static_cast<uint64_t>(value));
  }
  const double x = to_double(type, bits);
  if (!std::isfinite(x)) return shortest(x);
  if (type == DType::f64) return shortest(x);
  char buffer[40];
  double back = 0;
  for (int digits = 1; digits < 10; ++digits) {
    std::snprintf(buffer, sizeof buffer, "%.*g", digits, x);
    std::from_chars(buffer, buffer + std::char_traits<char>::length(buffer), back);
    if (round_to_bits(type, back) == round_to_bits(type, x)) break;
  }
  return shortest(back);  // -10, not -1e+01
}

std::string full_text(DType type, uint64_t bits) {
  const double x = is_integer(type) ? 0 : to_double(type, bits);
  if (is_integer(type) || !std::isfinite(x)) return element_text(type, bits);
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.17g", x);
  return buffer;
}

std::string brief(double x) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.6g", x);
  return buffer;
}

std::string multiple(double x) {
  char buffer[40];
  for (int digits = 4; digits <= 17; ++digits) {
    std::snprintf(buffer, sizeof buffer, "%.*g", digits, x);
    if (x == 1 || std::string_view(buffer) != "1") break;
  }
  return buffer;
}

std::string hex(DType type, uint64_t bits) {
  char buffer[24];
  std::snprintf(buffer, sizeof buffer, "0x%0*llx", std::max(1, bit_width(type) / 4),
                static_cast<unsigned long long>(bits));
  return buffer;
}

std::string wide_text(__int128 x) {
  if (x == 0) return "0";
  std::string digits;
  const bool negative = x < 0;
  auto rest = negative ? -static_cast<unsigned __int128>(x) : static_cast<unsigned __int128>(x);
  for (; rest > 0; rest /= 10) digits += static_cast<char>('0' + static_cast<int>(rest % 10));
  if (negative) digits += '-';
  return {digits.rbegin(), digits.rend()};
}

std::string packed_text(const Packing& pack, uint64_t word) {
  std::string text;
  for (int i = 0; i < pack.in_word(); ++i) {
    const int place = pack.low_first ? i : pack.in_word() - 1 - i;
    const uint64_t bits = word >> (4 * place) & 15;
    const auto code = static_cast<int>(to_integer(pack.element, bits));
    text += (text.empty() ? "" : " ") + std::to_string(code);
  }
  return text;
}

}  // namespace assay
