// cvt between all types, rounding modes and modifiers, bit for bit against exact integers.
#include "exact_float.hpp"

namespace assay::ptx {
namespace {

using boost::multiprecision::cpp_int;
using exact::Mode;
using exact::Number;

struct FloatName {
  const char* text;
  FloatLayout layout;
};
const FloatName kFloats[] = {{".f16", kF16}, {".bf16", kBf16}, {".f32", kF32}, {".f64", kF64}};
struct IntName {
  const char* text;
  int bytes;
  bool is_signed;
};
const IntName kInts[] = {{".u8", 1, false},  {".s8", 1, true},   {".u16", 2, false},
                         {".s16", 2, true},  {".u32", 4, false}, {".s32", 4, true},
                         {".u64", 8, false}, {".s64", 8, true}};
const std::pair<const char*, Mode> kRoundings[] = {
    {"rn", Mode::nearest}, {"rz", Mode::zero}, {"rm", Mode::down}, {"rp", Mode::up}};

/// An element of 8 bits is extended to 16 by its type.
uint64_t stored(uint64_t bits, const IntName& t) {
  if (t.bytes != 1) return low_bits(bits, t.bytes);
  return t.is_signed ? low_bits(static_cast<uint64_t>(sign_extend(bits, 1)), 2) : bits & 0xff;
}
/// Upper bytes of an 8-bit source hold anything.
std::vector<Lane> int_lanes(const IntName& t) {
  auto lanes = integer_lanes(t.bytes, 1, 1500, 21);
  if (t.bytes == 1) {
    for (size_t i = 0; i < lanes.size(); ++i) lanes[i].a |= (i * 37 & 0xff) << 8;
  }
  return lanes;
}
cpp_int int_value(uint64_t bits, const IntName& t) {
  if (t.is_signed) return cpp_int(sign_extend(low_bits(bits, t.bytes), t.bytes));
  return cpp_int(low_bits(bits, t.bytes));
}
cpp_int highest(const IntName& t) {
  return (cpp_int(1) << (8 * t.bytes - (t.is_signed ? 1 : 0))) - 1;
}
cpp_int lowest(const IntName& t) {
  return t.is_signed ? cpp_int(-(cpp_int(1) << (8 * t.bytes - 1))) : cpp_int(0);
}
uint64_t to_bits(const cpp_int& value) {
  uint64_t m = static_cast<uint64_t>(abs(value) & cpp_int(~0ull));
  return value < 0 ? 0 - m : m;
}

TEST(ConvertRows, IntegersToIntegers) {
  for (const IntName& d : kInts) {
    for (const IntName& s : kInts) {
      for (bool sat : {false, true}) {
        std::string spelling = std::string("cvt") + (sat ? ".sat" : "") + d.text + s.text;
        if (sat && !in_table(spelling)) continue;
        expect_rows(spelling, int_lanes(s), [&](const Lane& x) {
          cpp_int value = int_value(x.a, s);
          if (sat) value = std::min(std::max(value, lowest(d)), highest(d));
          return Result{stored(to_bits(value), d)};
        });
      }
    }
  }
}

Number int_number(const cpp_int& value) {
  Number n;
  n.negative = value < 0;
  n.m = abs(value);
  return n;
}

TEST(ConvertRows, IntegersToFloats) {
  for (const FloatName& d : kFloats) {
    for (const IntName& s : kInts) {
      for (auto [rounding, mode] : kRoundings) {
        for (bool sat : {false, true}) {
          std::string spelling =
              std::string("cvt.") + rounding + (sat ? ".sat" : "") + d.text + s.text;
          if (!in_table(spelling)) {
            EXPECT_EQ(d.layout.fraction, 7) << spelling;  // bf16 has fewer forms
            continue;
          }
          expect_rows(spelling, int_lanes(s), [&, mode = mode](const Lane& x) {
            uint64_t bits = exact::encode(d.layout, int_number(int_value(x.a, s)), mode);
            return Result{sat ? exact::saturate(d.layout, bits) : bits};
          });
        }
      }
    }
  }
}

std::vector<Lane> source_lanes(FloatLayout f, int randoms) {
  if (f.bytes() > 2) return float_lanes(f, 1, randoms, 31);
  std::vector<Lane> lanes(65536);
  for (uint64_t i = 0; i < lanes.size(); ++i) lanes[i].a = i;
  return lanes;
}

std::vector<Lane> thinned(const std::vector<Lane>& lanes) {
  if (lanes.size() < 10000) return lanes;
  std::vector<Lane> some;
  for (size_t i = 0; i < lanes.size(); i += 11) some.push_back(lanes[i]);
  return some;
}

/// An f32 or f64 about every value and midpoint that a 16-bit type (or f32) tells apart.
std::vector<Lane> dense_lanes(FloatLayout s, FloatLayout d, int steps) {
  std::vector<Lane> lanes;
  for (int i = 0; i < steps; ++i) {
    uint64_t bits = low_bits(static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15ull, d.bytes());
    if ((bits & d.infinity()) == d.infinity()) continue;
    Number n = exact::decode(d, bits);
    Number half = n;
    half.m = 2 * n.m + 1;
    half.e = n.e - 1;
    uint64_t value = exact::encode(s, n, Mode::nearest),
             tie = exact::encode(s, half, Mode::nearest);
    for (uint64_t x : {value, value + 1, tie - 1, tie, tie + 1}) lanes.push_back({x});
  }
  return lanes;
}

struct Modifiers {
  bool ftz = false, sat = false, relu = false, satfinite = false;
  std::string text() const {
    return std::string(ftz ? ".ftz" : "") + (sat ? ".sat" : "") + (relu ? ".relu" : "") +
           (satfinite ? ".satfinite" : "");
  }
};

uint64_t convert(FloatLayout d, FloatLayout s, uint64_t bits, Mode mode, const Modifiers& m) {
  // f32 and bf16 without modifiers move to f32 as they are, NaN too.
  bool plain = !m.ftz && !m.sat;
  if (plain && d.fraction == 23 && s.exponent == 8 && s.fraction <= 23 && s.fraction != 10)
    return bits << (23 - s.fraction);
  bool s32 = s.fraction == 23, d32 = d.fraction == 23;
  bool s_bf16 = s.fraction == 7;
  if (m.ftz && (s32 || (s_bf16 && d32))) bits = exact::flush(s, bits);
  uint64_t result = exact::encode(d, exact::decode(s, bits), mode);
  if (m.ftz && d32) result = exact::flush(d, result);
  if (m.sat) result = exact::saturate(d, result);
  if (m.relu && (result & d.sign())) result = 0;
  if (m.satfinite && (result & ~d.sign()) == d.infinity())
    result = (result & d.sign()) | (d.infinity() - 1);
  return result;
}

TEST(ConvertRows, FloatsToFloats) {
  int tested = 0;
  for (const FloatName& d : kFloats) {
    for (const FloatName& s : kFloats) {
      auto lanes = source_lanes(s.layout, 4000);
      if (d.layout.bytes() < s.layout.bytes()) {
        auto dense = dense_lanes(s.layout, d.layout, 2000);
        lanes.insert(lanes.end(), dense.begin(), dense.end());
      }
      for (auto [rounding, mode] : kRoundings) {
        for (int flags = 0; flags < 16; ++flags) {
          Modifiers m{(flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0, (flags & 8) != 0};
          bool exact =
              d.layout.fraction >= s.layout.fraction && d.layout.exponent >= s.layout.exponent;
          if (exact && mode != Mode::nearest) continue;
          std::string spelling =
              "cvt" + (exact ? "" : std::string(".") + rounding) + m.text() + d.text + s.text;
          if (!in_table(spelling)) continue;
          ++tested;
          // Every pattern once; a part of them for the other modes and modifiers.
          bool all = mode == Mode::nearest && flags == 0;
          expect_rows(spelling, all ? lanes : thinned(lanes), [&, mode = mode](const Lane& x) {
            return Result{convert(d.layout, s.layout, x.a, mode, m)};
          });
        }
      }
    }
  }
  EXPECT_GE(tested, 100);
}

/// Rounds to an integral value: the exact integer, or nothing for NaN and infinities.
Number integral(const Number& x, const std::string& rounding) {
  if (x.kind != Number::finite || x.m == 0 || x.e >= 0) return x;
  cpp_int unit = cpp_int(1) << -x.e;
  cpp_int floor = x.m / unit, rest = 2 * (x.m % unit);
  bool up = false;
  if (rounding == "rni") up = rest > unit || (rest == unit && (floor & 1) != 0);
  if (rounding == "rmi") up = x.negative && rest != 0;
  if (rounding == "rpi") up = !x.negative && rest != 0;
  Number n = x;
  n.m = up ? cpp_int(floor + 1) : floor;
  n.e = 0;
  return n;
}

TEST(ConvertRows, FloatsToIntegralFloats) {
  for (const FloatName& f : kFloats) {
    for (std::string rounding : {"rni", "rzi", "rmi", "rpi"}) {
      for (int flags = 0; flags < 4; ++flags) {
        Modifiers m{(flags & 1) != 0, (flags & 2) != 0};
        std::string spelling = "cvt." + rounding + m.text() + f.text + f.text;
        if (!in_table(spelling)) {
          EXPECT_NE(f.layout.fraction == 23, true) << spelling;
          continue;
        }
        auto lanes = source_lanes(f.layout, 4000);
        expect_rows(spelling, flags == 0 ? lanes : thinned(lanes), [&](const Lane& x) {
          uint64_t in = m.ftz ? exact::flush(f.layout, x.a) : x.a;
          Number n = integral(exact::decode(f.layout, in), rounding);
          uint64_t bits = exact::encode(f.layout, n, Mode::nearest);
          return Result{m.sat ? exact::saturate(f.layout, bits) : bits};
        });
      }
    }
  }
}

TEST(ConvertRows, FloatsToIntegers) {
  int tested = 0;
  for (const IntName& d : kInts) {
    for (const FloatName& s : kFloats) {
      auto lanes = thinned(source_lanes(s.layout, 3000));
      for (std::string rounding : {"rni", "rzi", "rmi", "rpi"}) {
        for (bool ftz : {false, true}) {
          std::string spelling = "cvt." + rounding + (ftz ? ".ftz" : "") + d.text + s.text;
          if (!in_table(spelling)) continue;
          ++tested;
          expect_rows(spelling, lanes, [&](const Lane& x) {
            Number n = exact::decode(s.layout, ftz ? exact::flush(s.layout, x.a) : x.a);
            // PTX ISA, cvt: NaN.
            if (n.kind == Number::nan) {
              bool zero = s.layout.fraction != 52 && d.bytes != 8;
              return Result{zero ? 0 : stored(uint64_t(1) << (8 * d.bytes - 1), d)};
            }
            n = integral(n, rounding);
            cpp_int value =
                n.kind == Number::infinite ? cpp_int(1) << 2000 : cpp_int(n.m << std::max(n.e, 0));
            if (n.negative) value = -value;
            value = std::min(std::max(value, lowest(d)), highest(d));
            return Result{stored(to_bits(value), d)};
          });
        }
      }
    }
  }
  EXPECT_GE(tested, 8 * 4 * 4 - 8);
}

TEST(ConvertRows, PairsPutTheFirstOperandAbove) {
  const std::pair<const char*, FloatLayout> types[] = {{".f16x2", kF16}, {".bf16x2", kBf16}};
  for (auto [type, layout] : types) {
    auto lanes = float_lanes(kF32, 2, 4000, 41);
    auto dense = dense_lanes(kF32, layout, 1000);
    for (size_t i = 0; i + 1 < dense.size(); ++i) lanes.push_back({dense[i].a, dense[i + 1].a});
    for (int flags = 0; flags < 8; ++flags) {
      Modifiers m{false, false, (flags & 1) != 0, (flags & 2) != 0};
      Mode mode = flags & 4 ? Mode::zero : Mode::nearest;
      std::string spelling =
          std::string("cvt.") + (flags & 4 ? "rz" : "rn") + m.text() + type + ".f32";
      expect_rows(
          spelling, lanes,
          [&, layout = layout](const Lane& x) {
            return Result{convert(layout, kF32, x.a, mode, m) << 16 |
                          convert(layout, kF32, x.b, mode, m)};
          },
          2);
    }
  }
}

TEST(ConvertRows, Tf32) {
  // f32's exponent with 10 fraction bits, in the upper 19 bits of a word.
  auto reference = [](uint64_t a, Mode mode, const Modifiers& m) -> uint64_t {
    constexpr FloatLayout tf32{10, 8};
    if (exact::is_nan(kF32, a)) return 0x7fffffffu;
    uint64_t bits = exact::encode(tf32, exact::decode(kF32, a), mode);
    if (m.relu && (bits & tf32.sign())) bits = 0;
    if (m.satfinite && (bits & ~tf32.sign()) == tf32.infinity()) bits -= 1;
    return bits << 13;
  };
  auto lanes = float_lanes(kF32, 1, 6000, 51);
  for (int i = 0; i < 3000; ++i) lanes.push_back({uint64_t(i) * 0x1000 + 0x3f7ff000u + i % 3 - 1});
  const std::pair<const char*, Mode> modes[] = {
      {"rna", Mode::nearest_away}, {"rn", Mode::nearest}, {"rz", Mode::zero}};
  int tested = 0;
  for (auto [rounding, mode] : modes) {
    for (int flags = 0; flags < 4; ++flags) {
      Modifiers m{false, false, (flags & 1) != 0, (flags & 2) != 0};
      std::string spelling = std::string("cvt.") + rounding + m.text() + ".tf32.f32";
      if (!in_table(spelling)) continue;
      ++tested;
      expect_rows(spelling, lanes,
                  [&, mode = mode](const Lane& x) { return Result{reference(x.a, mode, m)}; });
    }
  }
  EXPECT_GE(tested, 6);
}

TEST(ConvertRows, ScalarDefinitionsAgree) {
  for (uint32_t h = 0; h < 65536; ++h) {
    uint64_t f16 = exact::encode(kF32, exact::decode(kF16, h), Mode::nearest);
    ASSERT_EQ(f16_to_f32_bits(static_cast<uint16_t>(h)), f16) << h;
    if (!exact::is_nan(kBf16, h)) {
      ASSERT_EQ(bf16_to_f32_bits(static_cast<uint16_t>(h)), uint64_t(h) << 16);
    }
  }
  for (const Lane& x : float_lanes(kF32, 1, 20000, 61)) {
    Number n = exact::decode(kF32, x.a);
    ASSERT_EQ(f32_to_f16_bits_rn(static_cast<uint32_t>(x.a)),
              exact::encode(kF16, n, Mode::nearest));
    ASSERT_EQ(f32_to_bf16_bits_rn(static_cast<uint32_t>(x.a)),
              exact::encode(kBf16, n, Mode::nearest));
  }
}

}  // namespace
}  // namespace assay::ptx
