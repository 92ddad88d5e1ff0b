// permutation: an output's line holds the elements of a value's line, in any order (rule R21).
#include <algorithm>
#include <map>

#include "oracles/number_text.hpp"
#include "oracles/relations/relation.hpp"

namespace assay {
namespace {

/// Equal for equal elements: integers by value; numbers by their bits, all NaN alike.
std::pair<int, __int128> key_of(DType type, uint64_t bits) {
  if (!is_floating(type)) return {0, to_integer(type, bits)};
  const double x = to_double(type, bits);
  return x != x ? std::pair<int, __int128>{1, 0} : std::pair<int, __int128>{0, bits};
}

std::pair<int, __int128> key_of(const Line& line, int64_t j, DType type) {
  return line.integral() ? std::pair<int, __int128>{0, line.integer(j)}
                         : key_of(type, round_to_bits(type, line.v(j)));
}

}  // namespace

void check_permutation(RelationCase& c) {
  const Tensor* out = c.output("out");
  if (out == nullptr) return;
  c.each_line("of", "along", [&](const Line& line) {
    std::map<std::pair<int, __int128>, int64_t> left;
    for (int64_t j = 0; j < line.n; ++j) {
      const bool exact = line.integral() || (line.e(j) == 0 && line.lo(j) == 0 && line.hi(j) == 0);
      if (!exact) throw InputError(c.where(), "a permutation needs elements that are exact");
      ++left[key_of(line, j, out->dtype)];
    }
    for (const int64_t place : c.beside(*out, line)) {
      const Got got = c.read(*out, place, 1)[0];
      if (!c.judged(*out, place, got)) continue;
      const auto found = left.find(key_of(out->dtype, got.bits));
      if (found != left.end() && found->second > 0) {
        --found->second;
        continue;
      }
      const bool known = found != left.end();
      c.wrong(
          *out, place, "R21",
          [] { return std::string("an element of the line, as often as there"); },
          [&] {
            return element_text(out->dtype, got.bits) +
                   (known ? " comes more often than in the line" : " is no element of the line");
          });
    }
  });
}

}  // namespace assay
