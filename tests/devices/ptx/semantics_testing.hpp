// What the tests of the row functions share: operands that provoke, and a comparison of both builds
// with a scalar reference, element by element.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "devices/ptx/semantics.hpp"
#include "devices/ptx/table.hpp"

namespace assay::ptx {

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
struct Random {
  uint64_t state;
  uint64_t operator()() {
    uint64_t z = state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
};

inline Instruction instruction_of(const std::string& spelling, size_t sources = 0) {
  SpellingMatch match = match_spelling(spelling);
  EXPECT_EQ(match.reason, "") << spelling;
  EXPECT_GE(match.prototype.row, 0) << spelling;
  match.prototype.src.resize(sources);
  return match.prototype;
}

inline bool in_table(const std::string& spelling) {
  return match_spelling(spelling).reason.empty();
}

/// One lane's operands, or results: bits in the low end.
struct Lane {
  uint64_t a = 0, b = 0, c = 0, e = 0;
  bool pa = false, pb = false, carry = false;
};
struct Result {
  uint64_t d = 0;
  bool p = false, q = false, carry = false;
  bool operator==(const Result&) const = default;
};

/// Runs up to 32 lanes. `alias`: d is this source's row (1: a, 2: b, 3: c); 0: a row of its own.
inline std::array<Result, kLanes> run_row(RowFunction function, const RowShape& shape,
                                          const Lane* lanes, int count, int alias = 0) {
  alignas(64) unsigned char memory[5][kLanes * 8] = {};
  Rows r;
  auto put = [&](int row, uint8_t bytes, int lane, uint64_t value) {
    std::memcpy(memory[row] + lane * bytes, &value, bytes);
  };
  for (int i = 0; i < count; ++i) {
    put(1, shape.src[0], i, lanes[i].a);
    put(2, shape.src[1], i, lanes[i].b);
    put(3, shape.src[2], i, lanes[i].c);
    put(4, shape.src[3], i, lanes[i].e);
    r.pa |= uint32_t(lanes[i].pa) << i;
    r.pb |= uint32_t(lanes[i].pb) << i;
    r.carry_in |= uint32_t(lanes[i].carry) << i;
  }
  r.d = memory[alias];
  r.a = memory[1];
  r.b = memory[2];
  r.c = memory[3];
  r.e = memory[4];
  function(r);
  std::array<Result, kLanes> results{};
  for (int i = 0; i < count; ++i) {
    std::memcpy(&results[i].d, memory[alias] + i * shape.d, shape.d);
    results[i].p = (r.p_out >> i) & 1u;
    results[i].q = (r.p_out2 >> i) & 1u;
    results[i].carry = (r.carry_out >> i) & 1u;
  }
  return results;
}

inline void PrintTo(const Result& r, std::ostream* out) { *out << std::hex << r.d; }
inline std::string describe(const Lane& x, const Result& r) {
  char text[256];
  std::snprintf(
      text, sizeof text, "a=%llx b=%llx c=%llx e=%llx pa=%d pb=%d cc=%d -> d=%llx p=%d q=%d cc=%d",
      (unsigned long long)x.a, (unsigned long long)x.b, (unsigned long long)x.c,
      (unsigned long long)x.e, x.pa, x.pb, x.carry, (unsigned long long)r.d, r.p, r.q, r.carry);
  return text;
}

using Reference = std::function<Result(const Lane&)>;

/// Both builds against the reference, in rows of 32; also with d in a source's row where the widths
/// agree. Says which spelling and lane differ first.
inline void expect_rows(const Instruction& instruction, const std::string& spelling,
                        const std::vector<Lane>& lanes, const Reference& reference) {
  RowFunction generic = row_function(instruction, false);
  RowFunction fast = cpu_has_avx2() ? row_function(instruction, true) : generic;
  ASSERT_NE(generic, nullptr) << spelling;
  ASSERT_NE(fast, nullptr) << spelling;
  ASSERT_FALSE(lanes.empty()) << spelling;
  RowShape shape = row_shape(instruction);
  for (size_t first = 0; first < lanes.size(); first += kLanes) {
    int count = static_cast<int>(std::min<size_t>(kLanes, lanes.size() - first));
    auto got = run_row(generic, shape, &lanes[first], count);
    auto got_fast = run_row(fast, shape, &lanes[first], count);
    for (int alias = 1; alias <= 3; ++alias) {
      if (shape.d == 0 || shape.src[alias - 1] != shape.d) continue;
      ASSERT_EQ(run_row(generic, shape, &lanes[first], count, alias), got) << spelling << alias;
      ASSERT_EQ(run_row(fast, shape, &lanes[first], count, alias), got_fast) << spelling << alias;
    }
    for (int i = 0; i < count; ++i) {
      Result expected = reference(lanes[first + i]);
      ASSERT_EQ(describe(lanes[first + i], got[i]), describe(lanes[first + i], expected))
          << spelling << ", generic build";
      ASSERT_EQ(describe(lanes[first + i], got_fast[i]), describe(lanes[first + i], expected))
          << spelling << ", AVX2 build";
    }
  }
}
inline void expect_rows(const std::string& spelling, const std::vector<Lane>& lanes,
                        const Reference& reference, size_t sources = 0) {
  expect_rows(instruction_of(spelling, sources), spelling, lanes, reference);
}

// ---- operands ----

inline uint64_t low_bits(uint64_t x, int bytes) {
  return bytes == 8 ? x : x & ((uint64_t(1) << (8 * bytes)) - 1);
}
inline int64_t sign_extend(uint64_t x, int bytes) {
  int shift = 64 - 8 * bytes;
  return static_cast<int64_t>(x << shift) >> shift;
}

/// Integers at the edges of every width and shift.
inline std::vector<uint64_t> integer_specials(int bytes) {
  uint64_t top = uint64_t(1) << (8 * bytes - 1);
  std::vector<uint64_t> values = {
      0,   1,   2,   3,   7,     31,  32,      33,      63,        64,         65,
      127, 128, 255, 256, ~0ull, top, top - 1, top + 1, ~0ull - 1, 0x55555555, 0xaaaaaaaa};
  for (uint64_t& v : values) v = low_bits(v, bytes);
  return values;
}

struct FloatLayout {
  int fraction, exponent;  ///< bits
  int bytes() const { return (1 + fraction + exponent) / 8; }
  uint64_t sign() const { return uint64_t(1) << (fraction + exponent); }
  uint64_t infinity() const { return ((uint64_t(1) << exponent) - 1) << fraction; }
  uint64_t one() const { return ((uint64_t(1) << (exponent - 1)) - 1) << fraction; }
};
inline constexpr FloatLayout kF16{10, 5}, kBf16{7, 8}, kF32{23, 8}, kF64{52, 11};

inline std::vector<uint64_t> float_specials(FloatLayout f) {
  uint64_t ulp_top = (uint64_t(1) << f.fraction) - 1;
  std::vector<uint64_t> values = {0,            // zero
                                  1,            // smallest subnormal
                                  ulp_top,      // largest subnormal
                                  ulp_top + 1,  // smallest normal
                                  ulp_top + 2,
                                  f.one(),
                                  f.one() + 1,
                                  f.one() - 1,                                  // about 1
                                  f.one() + (uint64_t(1) << f.fraction),        // 2
                                  f.one() + (uint64_t(3) << (f.fraction - 1)),  // 3
                                  f.one() - (uint64_t(1) << (f.fraction - 1)),  // 0.75
                                  f.one() - (uint64_t(1) << f.fraction),        // 0.5
                                  f.one() - (uint64_t(f.fraction) << f.fraction) + 5,
                                  f.one() + (uint64_t(f.fraction + 1) << f.fraction) + 1,
                                  f.infinity() - 1,  // largest finite
                                  f.infinity() - (uint64_t(1) << f.fraction) + 1,
                                  f.infinity(),
                                  f.infinity() + 1,
                                  f.infinity() | (ulp_top / 2 + 1)};  // inf, signalling, quiet NaN
  size_t n = values.size();
  for (size_t i = 0; i < n; ++i) values.push_back(values[i] | f.sign());
  return values;
}

/// Random bits, or one of several shapes that meet rounding: exponents near another operand's, few
/// fraction bits, ties.
inline uint64_t random_float(FloatLayout f, Random& random, uint64_t near) {
  uint64_t bits = low_bits(random(), f.bytes());
  uint64_t fraction = (uint64_t(1) << f.fraction) - 1;
  switch (random() % 4) {
    case 0:
      return bits;
    case 1: {  // exponent within 32 of the other operand's
      uint64_t exponent = ((near & f.infinity()) >> f.fraction) + random() % 65;
      exponent = exponent < 32 ? 0 : exponent - 32;
      exponent = std::min(exponent, (f.infinity() >> f.fraction) - 1);
      return (bits & (f.sign() | fraction)) | (exponent << f.fraction);
    }
    case 2: {  // exponent near 0
      uint64_t exponent = (f.one() >> f.fraction) - 16 + random() % 33;
      exponent = std::min(exponent, (f.infinity() >> f.fraction) - 1);
      return (bits & (f.sign() | fraction)) | (exponent << f.fraction);
    }
    default:
      return bits & ~(fraction >> (random() % (f.fraction + 1)));  // few fraction bits
  }
}

/// All pairs or triples of `specials` (triples thinned), then random ones.
inline std::vector<Lane> cross(const std::vector<uint64_t>& specials, int operands) {
  std::vector<Lane> lanes;
  size_t stride = operands == 3 ? 3 : 1;
  for (size_t i = 0; i < specials.size(); ++i) {
    if (operands == 1) lanes.push_back({specials[i]});
    for (size_t j = 0; operands >= 2 && j < specials.size(); ++j) {
      if (operands == 2) lanes.push_back({specials[i], specials[j]});
      for (size_t k = (i + j) % stride; operands == 3 && k < specials.size(); k += stride)
        lanes.push_back({specials[i], specials[j], specials[k]});
    }
  }
  return lanes;
}
inline std::vector<Lane> float_lanes(FloatLayout f, int operands, int randoms, uint64_t seed = 1) {
  std::vector<Lane> lanes = cross(float_specials(f), operands);
  Random random{seed};
  for (int i = 0; i < randoms; ++i) {
    Lane lane;
    lane.a = random_float(f, random, f.one());
    lane.b = random_float(f, random, lane.a);
    lane.c = random_float(f, random, random() & 1 ? lane.b : lane.a);
    lanes.push_back(lane);
  }
  return lanes;
}
inline std::vector<Lane> integer_lanes(int bytes, int operands, int randoms, uint64_t seed = 1) {
  std::vector<Lane> lanes = cross(integer_specials(bytes), operands);
  Random random{seed};
  for (int i = 0; i < randoms; ++i) {
    auto value = [&] { return low_bits(random() >> (random() % (8 * bytes)), bytes); };
    lanes.push_back({value(), value(), value(), value()});
  }
  for (Lane& lane : lanes) {
    uint64_t bits = random();
    lane.pa = bits & 1;
    lane.pb = bits & 2;
    lane.carry = bits & 4;
  }
  return lanes;
}

}  // namespace assay::ptx
