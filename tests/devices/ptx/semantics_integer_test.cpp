// Integer arithmetic of all widths against 128-bit integers.
#include "semantics_testing.hpp"

namespace assay::ptx {
namespace {

using Wide = __int128;

struct IntName {
  const char* text;
  int bytes;
  bool is_signed;
  Wide value(uint64_t bits) const {
    return is_signed ? Wide(sign_extend(bits, bytes)) : Wide(low_bits(bits, bytes));
  }
  Wide lowest() const { return is_signed ? -(Wide(1) << (8 * bytes - 1)) : Wide(0); }
  Wide highest() const { return (Wide(1) << (8 * bytes - (is_signed ? 1 : 0))) - 1; }
};
constexpr IntName kInts[] = {{".s16", 2, true},  {".u16", 2, false}, {".s32", 4, true},
                             {".u32", 4, false}, {".s64", 8, true},  {".u64", 8, false}};

Result result(Wide value, int bytes) {
  return {low_bits(static_cast<uint64_t>(static_cast<unsigned __int128>(value)), bytes)};
}

/// All ones for a zero divisor: see semantics.hpp.
Wide divide(Wide a, Wide b) { return b == 0 ? -1 : a / b; }
Wide remainder(Wide a, Wide b) { return b == 0 ? -1 : a - a / b * b; }

TEST(IntegerRows, TwoOperands) {
  for (const IntName& t : kInts) {
    auto lanes = integer_lanes(t.bytes, 2, 3000);
    auto check = [&](const char* op, auto f) {
      expect_rows(op + std::string(t.text), lanes,
                  [&](const Lane& x) { return result(f(t.value(x.a), t.value(x.b)), t.bytes); });
    };
    check("add", [](Wide a, Wide b) { return a + b; });
    check("sub", [](Wide a, Wide b) { return a - b; });
    check("mul.lo", [](Wide a, Wide b) {
      return Wide(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b));
    });
    check("div", [](Wide a, Wide b) { return divide(a, b); });
    check("rem", [](Wide a, Wide b) { return remainder(a, b); });
    check("min", [](Wide a, Wide b) { return std::min(a, b); });
    check("max", [](Wide a, Wide b) { return std::max(a, b); });
  }
}

/// The upper half of a product, by schoolbook multiplication of 32-bit digits.
uint64_t high_half(const IntName& t, uint64_t a, uint64_t b) {
  if (t.bytes < 8)
    return low_bits(static_cast<uint64_t>((t.value(a) * t.value(b)) >> (8 * t.bytes)), t.bytes);
  uint64_t a1 = a >> 32, a0 = a & 0xffffffffu, b1 = b >> 32, b0 = b & 0xffffffffu;
  uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
  uint64_t middle2 = a0 * b1 + (middle & 0xffffffffu);
  uint64_t high = a1 * b1 + (middle >> 32) + (middle2 >> 32);
  if (t.is_signed && (a >> 63)) high -= b;
  if (t.is_signed && (b >> 63)) high -= a;
  return high;
}

TEST(IntegerRows, Products) {
  for (const IntName& t : kInts) {
    auto lanes = integer_lanes(t.bytes, 2, 3000, 2);
    std::string type = t.text;
    expect_rows("mul.hi" + type, lanes,
                [&](const Lane& x) { return Result{high_half(t, x.a, x.b)}; });
    for (Lane& x : lanes) x.c = low_bits(x.a * 77 + x.b * 0x123456789ull, t.bytes);
    expect_rows("mad.lo" + type, lanes,
                [&](const Lane& x) { return Result{low_bits(x.a * x.b + x.c, t.bytes)}; });
    expect_rows("mad.hi" + type, lanes, [&](const Lane& x) {
      return Result{low_bits(high_half(t, x.a, x.b) + x.c, t.bytes)};
    });
    if (t.bytes == 8) continue;
    expect_rows("mul.wide" + type, lanes,
                [&](const Lane& x) { return result(t.value(x.a) * t.value(x.b), 2 * t.bytes); });
    for (Lane& x : lanes) x.c = low_bits(x.a * 0x9e3779b97f4a7c15ull + x.b, 2 * t.bytes);
    expect_rows("mad.wide" + type, lanes, [&](const Lane& x) {
      return result(t.value(x.a) * t.value(x.b) + Wide(x.c), 2 * t.bytes);
    });
  }
}

Wide clamp(const IntName& t, Wide value) {
  return std::min(std::max(value, t.lowest()), t.highest());
}

TEST(IntegerRows, Saturating) {
  const IntName& s32 = kInts[2];
  auto lanes = integer_lanes(4, 3, 3000, 3);
  expect_rows("add.sat.s32", lanes, [&](const Lane& x) {
    return result(clamp(s32, s32.value(x.a) + s32.value(x.b)), 4);
  });
  expect_rows("sub.sat.s32", lanes, [&](const Lane& x) {
    return result(clamp(s32, s32.value(x.a) - s32.value(x.b)), 4);
  });
  expect_rows("mad.hi.sat.s32", lanes, [&](const Lane& x) {
    Wide high = s32.value(high_half(s32, x.a, x.b));
    return result(clamp(s32, high + s32.value(x.c)), 4);
  });
}

TEST(IntegerRows, Carries) {
  for (const IntName& t : kInts) {
    if (t.bytes == 2) continue;
    auto lanes = integer_lanes(t.bytes, 3, 3000, 4);
    std::string type = t.text;
    auto sum = [&](Wide total, bool reports) {
      Result r = result(total, t.bytes);
      // Everything is unsigned here: a carry is a bit above the width, a borrow a negative total.
      r.carry = reports && (total < 0 || (total >> (8 * t.bytes)) != 0);
      return r;
    };
    auto u = [&](uint64_t x) { return Wide(low_bits(x, t.bytes)); };
    expect_rows("add.cc" + type, lanes, [&](const Lane& x) { return sum(u(x.a) + u(x.b), true); });
    expect_rows("sub.cc" + type, lanes, [&](const Lane& x) { return sum(u(x.a) - u(x.b), true); });
    expect_rows("addc.cc" + type, lanes,
                [&](const Lane& x) { return sum(u(x.a) + u(x.b) + x.carry, true); });
    expect_rows("subc.cc" + type, lanes,
                [&](const Lane& x) { return sum(u(x.a) - u(x.b) - x.carry, true); });
    for (bool high : {false, true}) {
      std::string half = high ? ".hi" : ".lo";
      auto product = [&](const Lane& x) {
        return u(high ? high_half(t, x.a, x.b) : x.a * x.b) + u(x.c);
      };
      expect_rows("mad" + half + ".cc" + type, lanes,
                  [&](const Lane& x) { return sum(product(x), true); });
      expect_rows("madc" + half + ".cc" + type, lanes,
                  [&](const Lane& x) { return sum(product(x) + x.carry, true); });
    }
  }
}

/// addc, subc, madc without .cc: the result alone counts; the machine ignores their carry_out.
TEST(IntegerRows, CarriesConsumed) {
  for (const IntName& t : kInts) {
    if (t.bytes == 2) continue;
    auto lanes = integer_lanes(t.bytes, 3, 500, 5);
    for (const char* op : {"addc", "subc", "madc.lo", "madc.hi"}) {
      Instruction with = instruction_of(op + std::string(".cc") + t.text);
      Instruction without = instruction_of(op + std::string(t.text));
      for (bool fast : {false, cpu_has_avx2()}) {
        for (size_t i = 0; i + kLanes <= lanes.size(); i += kLanes) {
          auto x = run_row(row_function(with, fast), row_shape(with), &lanes[i], kLanes);
          auto y = run_row(row_function(without, fast), row_shape(without), &lanes[i], kLanes);
          for (int k = 0; k < kLanes; ++k) ASSERT_EQ(x[k].d, y[k].d) << op << t.text;
        }
      }
    }
  }
}

TEST(IntegerRows, OneOperand) {
  for (const IntName& t : kInts) {
    if (!t.is_signed) continue;
    auto lanes = integer_lanes(t.bytes, 1, 2000, 6);
    expect_rows("neg" + std::string(t.text), lanes,
                [&](const Lane& x) { return result(-t.value(x.a), t.bytes); });
    expect_rows("abs" + std::string(t.text), lanes, [&](const Lane& x) {
      return result(t.value(x.a) < 0 ? -t.value(x.a) : t.value(x.a), t.bytes);
    });
  }
}

TEST(IntegerRows, SumOfAbsoluteDifferences) {
  for (const IntName& t : kInts) {
    expect_rows("sad" + std::string(t.text), integer_lanes(t.bytes, 3, 2000, 7),
                [&](const Lane& x) {
                  Wide a = t.value(x.a), b = t.value(x.b);
                  return result(Wide(x.c) + (a < b ? b - a : a - b), t.bytes);
                });
  }
}

TEST(IntegerRows, Products24) {
  auto lanes = integer_lanes(4, 3, 3000, 8);
  for (bool is_signed : {false, true}) {
    auto low24 = [&](uint64_t x) {
      int64_t v = static_cast<int64_t>(x & 0xffffffu);
      return is_signed && v >= 0x800000 ? v - 0x1000000 : v;
    };
    std::string type = is_signed ? ".s32" : ".u32";
    for (bool high : {false, true}) {
      auto product = [&](const Lane& x) {
        return static_cast<uint64_t>((low24(x.a) * low24(x.b)) >> (high ? 16 : 0)) & 0xffffffffu;
      };
      std::string half = high ? ".hi" : ".lo";
      expect_rows("mul24" + half + type, lanes, [&](const Lane& x) { return Result{product(x)}; });
      expect_rows("mad24" + half + type, lanes,
                  [&](const Lane& x) { return Result{(product(x) + x.c) & 0xffffffffu}; });
      if (high && is_signed) {
        expect_rows("mad24.hi.sat.s32", lanes, [&](const Lane& x) {
          Wide sum = Wide(sign_extend(product(x), 4)) + sign_extend(x.c, 4);
          return result(clamp(kInts[2], sum), 4);
        });
      }
    }
  }
}

TEST(IntegerRows, DotProducts) {
  auto lanes = integer_lanes(4, 3, 4000, 9);
  auto element = [](uint64_t word, int index, int bytes, bool is_signed) {
    uint64_t bits = low_bits(word >> (8 * bytes * index), bytes);
    return is_signed ? sign_extend(bits, bytes) : static_cast<int64_t>(bits);
  };
  for (bool sa : {false, true}) {
    for (bool sb : {false, true}) {
      std::string types = std::string(sa ? ".s32" : ".u32") + (sb ? ".s32" : ".u32");
      expect_rows("dp4a" + types, lanes, [&](const Lane& x) {
        int64_t sum = static_cast<int64_t>(x.c);
        for (int k = 0; k < 4; ++k) sum += element(x.a, k, 1, sa) * element(x.b, k, 1, sb);
        return result(sum, 4);
      });
      for (int upper : {0, 1}) {
        expect_rows((upper ? "dp2a.hi" : "dp2a.lo") + types, lanes, [&](const Lane& x) {
          int64_t sum = static_cast<int64_t>(x.c);
          for (int k = 0; k < 2; ++k)
            sum += element(x.a, k, 2, sa) * element(x.b, k + 2 * upper, 1, sb);
          return result(sum, 4);
        });
      }
    }
  }
}

}  // namespace
}  // namespace assay::ptx
