// f32 and f64 arithmetic in every rounding mode, .ftz and .sat, and f16 and bf16 arithmetic, bit
// for bit against exact integers.
#include <map>

#include "exact_float.hpp"

namespace assay::ptx {
namespace {

using exact::Mode;
using exact::Number;

struct RoundingName {
  const char* text;
  Mode mode;
};
constexpr RoundingName kRoundings[] = {
    {".rn", Mode::nearest}, {".rz", Mode::zero}, {".rm", Mode::down}, {".rp", Mode::up}};

/// The exact result of an operation by its mnemonic.
Number apply(const std::string& op, const Number& a, const Number& b, const Number& c, Mode mode) {
  if (op == "add") return exact::add(a, b, mode);
  if (op == "sub") return exact::add(a, exact::negate(b), mode);
  if (op == "mul") return exact::multiply(a, b);
  if (op == "fma" || op == "mad") return exact::add(exact::multiply(a, b), c, mode);
  if (op == "div") return exact::divide(a, b);
  if (op == "rcp") return exact::divide(exact::decode(kF32, kF32.one()), a);
  EXPECT_EQ(op, "sqrt");
  return exact::square_root(a);
}
int operands_of(const std::string& op) {
  if (op == "fma" || op == "mad") return 3;
  return op == "rcp" || op == "sqrt" ? 1 : 2;
}

uint64_t reference(const std::string& op, FloatLayout f, const Lane& x, Mode mode, bool ftz,
                   bool sat, bool relu) {
  auto in = [&](uint64_t bits) { return exact::decode(f, ftz ? exact::flush(f, bits) : bits); };
  uint64_t d = exact::encode(f, apply(op, in(x.a), in(x.b), in(x.c), mode), mode);
  if (ftz) d = exact::flush(f, d);
  if (sat) d = exact::saturate(f, d);
  if (relu && (d & f.sign())) d = 0;
  return d;
}

void check_arithmetic(const std::string& op, FloatLayout f, const std::string& type, int randoms) {
  auto lanes = float_lanes(f, operands_of(op), randoms, 7);
  for (const RoundingName& rounding : kRoundings) {
    for (bool ftz : {false, true}) {
      for (bool sat : {false, true}) {
        bool has_sat = op == "add" || op == "sub" || op == "mul" || op == "fma" || op == "mad";
        if (f.bytes() == 8 && (ftz || sat)) continue;
        if (sat && !has_sat) continue;
        std::string spelling =
            op + rounding.text + (ftz ? ".ftz" : "") + (sat ? ".sat" : "") + type;
        expect_rows(spelling, lanes, [&](const Lane& x) {
          return Result{reference(op, f, x, rounding.mode, ftz, sat, false)};
        });
      }
    }
  }
}

TEST(FloatRows, SumsProductsAndFusedOnesRoundOnceF32) {
  for (const char* op : {"add", "sub", "mul", "fma"}) check_arithmetic(op, kF32, ".f32", 4000);
  expect_rows("add.f32", float_lanes(kF32, 2, 1000), [](const Lane& x) {
    return Result{reference("add", kF32, x, Mode::nearest, false, false, false)};
  });
}
TEST(FloatRows, SumsProductsAndFusedOnesRoundOnceF64) {
  for (const char* op : {"add", "sub", "mul", "fma", "mad"})
    check_arithmetic(op, kF64, ".f64", 3000);
}
TEST(FloatRows, QuotientsAndRootsRoundOnceF32) {
  for (const char* op : {"div", "rcp", "sqrt"}) check_arithmetic(op, kF32, ".f32", 5000);
}
TEST(FloatRows, QuotientsAndRootsRoundOnceF64) {
  for (const char* op : {"div", "rcp", "sqrt"}) check_arithmetic(op, kF64, ".f64", 3000);
}

void check_half(const std::string& op, FloatLayout f, const std::string& type, bool ftz, bool sat,
                bool relu) {
  std::string spelling = op + (op == "fma" ? ".rn" : "") + (ftz ? ".ftz" : "") +
                         (sat ? ".sat" : "") + (relu ? ".relu" : "") + type;
  auto lanes = float_lanes(f, operands_of(op), 4000, 11);
  expect_rows(spelling, lanes, [&](const Lane& x) {
    return Result{reference(op, f, x, Mode::nearest, ftz, sat, relu)};
  });
  // Pairs: another lane's operands in the upper half.
  std::vector<Lane> pairs(lanes.size());
  for (size_t i = 0; i < lanes.size(); ++i) {
    const Lane &low = lanes[i], &high = lanes[(i * 7 + 1) % lanes.size()];
    pairs[i] = {low.a | high.a << 16, low.b | high.b << 16, low.c | high.c << 16};
  }
  expect_rows(spelling + "x2", pairs, [&](const Lane& x) {
    Lane low{x.a & 0xffff, x.b & 0xffff, x.c & 0xffff}, high{x.a >> 16, x.b >> 16, x.c >> 16};
    return Result{reference(op, f, low, Mode::nearest, ftz, sat, relu) |
                  reference(op, f, high, Mode::nearest, ftz, sat, relu) << 16};
  });
}

TEST(FloatRows, HalvesRoundOnce) {
  for (const char* op : {"add", "sub", "mul", "fma"}) {
    for (bool ftz : {false, true}) {
      check_half(op, kF16, ".f16", ftz, false, false);
      check_half(op, kF16, ".f16", ftz, true, false);
    }
    check_half(op, kBf16, ".bf16", false, false, false);
  }
  check_half("fma", kF16, ".f16", false, false, true);
  check_half("fma", kF16, ".f16", true, false, true);
  check_half("fma", kBf16, ".bf16", false, false, true);
}

// ---- min and max ----

uint64_t minmax(FloatLayout f, uint64_t a, uint64_t b, bool max, bool ftz, bool nan, bool xorsign) {
  if (ftz) {
    a = exact::flush(f, a);
    b = exact::flush(f, b);
  }
  uint64_t sign = 0;
  if (xorsign) {
    sign = (a ^ b) & f.sign();
    a &= ~f.sign();
    b &= ~f.sign();
  }
  bool a_nan = exact::is_nan(f, a), b_nan = exact::is_nan(f, b);
  if ((a_nan && b_nan) || (nan && (a_nan || b_nan))) return exact::canonical_nan(f);
  if (a_nan) return b | sign;
  if (b_nan) return a | sign;
  // As sign-magnitude integers -0 is below +0.
  auto key = [&](uint64_t x) {
    int64_t m = static_cast<int64_t>(x & ~f.sign());
    return x & f.sign() ? -m - 1 : m;
  };
  bool first = max ? key(a) >= key(b) : key(a) <= key(b);
  return (first ? a : b) | sign;
}

void check_minmax(FloatLayout f, const std::string& type) {
  auto lanes = float_lanes(f, 2, 2000, 3);
  for (int flags = 0; flags < 16; ++flags) {
    bool max = flags & 1, ftz = flags & 2, nan = flags & 4, xorsign = flags & 8;
    if (ftz && (f.bytes() == 8 || (f.bytes() == 2 && f.fraction == 7))) continue;
    if (f.bytes() == 8 && flags > 1) continue;
    std::string spelling = std::string(max ? "max" : "min") + (ftz ? ".ftz" : "") +
                           (nan ? ".NaN" : "") + (xorsign ? ".xorsign.abs" : "") + type;
    expect_rows(spelling, lanes,
                [&](const Lane& x) { return Result{minmax(f, x.a, x.b, max, ftz, nan, xorsign)}; });
    if (f.bytes() != 2) continue;
    std::vector<Lane> pairs(lanes.size());
    for (size_t i = 0; i < lanes.size(); ++i) {
      const Lane &low = lanes[i], &high = lanes[(i * 5 + 3) % lanes.size()];
      pairs[i] = {low.a | high.b << 16, low.b | high.a << 16};
    }
    expect_rows(spelling + "x2", pairs, [&](const Lane& x) {
      return Result{minmax(f, x.a & 0xffff, x.b & 0xffff, max, ftz, nan, xorsign) |
                    minmax(f, x.a >> 16, x.b >> 16, max, ftz, nan, xorsign) << 16};
    });
  }
}
TEST(FloatRows, MinAndMax) {
  check_minmax(kF32, ".f32");
  check_minmax(kF64, ".f64");
  check_minmax(kF16, ".f16");
  check_minmax(kBf16, ".bf16");
}

// ---- signs and properties ----

/// Every pattern of a 16-bit type, specials and random bits of a wider one.
std::vector<Lane> patterns(FloatLayout f) {
  if (f.bytes() > 2) return float_lanes(f, 1, 4000, 5);
  std::vector<Lane> lanes(65536);
  for (uint64_t i = 0; i < lanes.size(); ++i) lanes[i].a = i;
  return lanes;
}

TEST(FloatRows, NegAbsCopysignKeepPayloads) {
  const std::pair<FloatLayout, const char*> formats[] = {
      {kF32, ".f32"}, {kF64, ".f64"}, {kF16, ".f16"}, {kBf16, ".bf16"}};
  for (auto [f, type] : formats) {
    for (bool ftz : {false, true}) {
      if (ftz && (f.bytes() == 8 || f.fraction == 7)) continue;
      auto in = [&, f = f](uint64_t x) { return ftz ? exact::flush(f, x) : x; };
      std::string suffix = std::string(ftz ? ".ftz" : "") + type;
      expect_rows("neg" + suffix, patterns(f),
                  [&, f = f](const Lane& x) { return Result{in(x.a) ^ f.sign()}; });
      expect_rows("abs" + suffix, patterns(f),
                  [&, f = f](const Lane& x) { return Result{in(x.a) & ~f.sign()}; });
    }
    if (f.bytes() < 4) continue;
    expect_rows("copysign" + std::string(type), float_lanes(f, 2, 1000),
                [f = f](const Lane& x) { return Result{(x.a & f.sign()) | (x.b & ~f.sign())}; });
  }
}

TEST(FloatRows, NegAndAbsOfPairs) {
  auto lanes = integer_lanes(4, 1, 4000, 8);
  for (const char* type : {".f16x2", ".bf16x2"}) {
    expect_rows("neg" + std::string(type), lanes,
                [](const Lane& x) { return Result{x.a ^ 0x80008000u}; });
    expect_rows("abs" + std::string(type), lanes,
                [](const Lane& x) { return Result{x.a & 0x7fff7fffu}; });
  }
}

TEST(FloatRows, Testp) {
  const std::pair<FloatLayout, const char*> formats[] = {{kF32, ".f32"}, {kF64, ".f64"}};
  for (auto [f, type] : formats) {
    std::map<std::string, std::function<bool(uint64_t)>> kinds;
    auto field = [f = f](uint64_t x) { return x & f.infinity(); };
    auto fraction = [f = f](uint64_t x) { return x & ~f.sign() & ~f.infinity(); };
    kinds["finite"] = [=, f = f](uint64_t x) { return field(x) != f.infinity(); };
    kinds["infinite"] = [=, f = f](uint64_t x) { return field(x) == f.infinity() && !fraction(x); };
    kinds["notanumber"] = [=, f = f](uint64_t x) {
      return field(x) == f.infinity() && fraction(x);
    };
    kinds["normal"] = [=, f = f](uint64_t x) {  // zeros count as normal
      return field(x) != f.infinity() && (field(x) != 0 || fraction(x) == 0);
    };
    kinds["subnormal"] = [=](uint64_t x) { return field(x) == 0 && fraction(x) != 0; };
    kinds["number"] = [no = kinds["notanumber"]](uint64_t x) { return !no(x); };
    for (const auto& [name, holds] : kinds) {
      expect_rows("testp." + name + type, patterns(f), [&](const Lane& x) {
        Result r;
        r.p = holds(x.a);
        return r;
      });
    }
  }
}

}  // namespace
}  // namespace assay::ptx
