// fp8: every code, every f16, against a search over the format's values.
#include "devices/ptx/semantics_fp8.hpp"

#include <bit>
#include <cmath>
#include <random>

#include "tests/devices/ptx/decoding.hpp"
#include "tests/devices/ptx/running.hpp"

namespace assay::ptx {
namespace {

/// The value of a code as Micikevicius et al. define the formats, from powers of two.
double value_of(Type type, int code) {
  const bool e4m3 = type == Type::e4m3;
  const int fraction_bits = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15;
  const int exponent = (code & 0x7f) >> fraction_bits;
  const double fraction = (code & ((1 << fraction_bits) - 1)) / std::pow(2.0, fraction_bits);
  const double sign = code & 0x80 ? -1 : 1;
  if (e4m3 && (code & 0x7f) == 0x7f) return NAN;
  if (!e4m3 && exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  return exponent == 0 ? sign * fraction * std::pow(2.0, 1 - bias)
                       : sign * (1 + fraction) * std::pow(2.0, exponent - bias);
}

std::vector<double> values_of(Type type) {
  std::vector<double> values;
  for (int code = 0; code < 128; ++code) values.push_back(value_of(type, code));
  return values;
}

/// The nearest finite code, ties to the even one.
int nearest(Type type, double x) {
  if (std::isnan(x)) return 0x7f;
  const int largest = type == Type::e4m3 ? 0x7e : 0x7b;
  static const std::vector<double> e4m3 = values_of(Type::e4m3), e5m2 = values_of(Type::e5m2);
  const std::vector<double>& values = type == Type::e4m3 ? e4m3 : e5m2;
  int best = 0;
  double least = INFINITY;
  const double magnitude = std::fabs(x);
  for (int code = 0; code <= largest; ++code) {
    const double distance = std::fabs(std::min(magnitude, values[largest]) - values[code]);
    if (distance < least || (distance == least && code % 2 == 0)) {
      least = distance;
      best = code;
    }
  }
  return std::signbit(x) ? best | 0x80 : best;
}

TEST(Fp8, EveryCodeHasItsValue) {
  for (const Type type : {Type::e4m3, Type::e5m2}) {
    for (int code = 0; code < 256; ++code) {
      const double want = value_of(type, code);
      const float got = fp8_value(type, static_cast<uint8_t>(code));
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got)) << code;
      } else {
        EXPECT_EQ(got, want) << code;
        EXPECT_EQ(std::signbit(got), std::signbit(want)) << code;
      }
    }
  }
  EXPECT_EQ(fp8_value(Type::e4m3, 0x7e), 448);
  EXPECT_EQ(fp8_value(Type::e5m2, 0x7b), 57344);
}

RowFunction row_of(const std::string& text) { return row_function(first_instruction(text), false); }

/// Every f16 through cvt.f16x2 and, widened, cvt.f32.
TEST(Fp8, EveryHalfRoundsToTheNearestCode) {
  for (const bool e4m3 : {true, false}) {
    const Type type = e4m3 ? Type::e4m3 : Type::e5m2;
    const std::string name = e4m3 ? "e4m3x2" : "e5m2x2";
    for (const bool relu : {false, true}) {
      const std::string head = "cvt.rn.satfinite" + std::string(relu ? ".relu." : ".") + name;
      const RowFunction from_half = row_of(head + ".f16x2 %h0, %r0;");
      const RowFunction from_single = row_of(head + ".f32 %h0, %f0, %f1;");
      ASSERT_NE(from_half, nullptr);
      ASSERT_NE(from_single, nullptr);
      for (uint32_t base = 0; base < 65536; base += kLanes) {
        alignas(32) uint32_t pairs[kLanes];
        alignas(32) float high[kLanes], low[kLanes];
        alignas(32) uint16_t d[kLanes], e[kLanes];
        for (uint32_t i = 0; i < kLanes; ++i) {
          const uint16_t bits = static_cast<uint16_t>(base + i);
          pairs[i] = static_cast<uint32_t>(bits) << 16 | (bits ^ 0x8000u);
          high[i] = std::bit_cast<float>(f16_to_f32_bits(bits));
          low[i] = std::bit_cast<float>(f16_to_f32_bits(bits ^ 0x8000));
        }
        Rows rows;
        rows.a = pairs;
        rows.d = d;
        from_half(rows);
        rows.a = high;
        rows.b = low;
        rows.d = e;
        from_single(rows);
        for (int i = 0; i < kLanes; ++i) {
          const auto want = [&](float x) {
            return relu && std::signbit(x) && !std::isnan(x) ? 0 : nearest(type, x);
          };
          ASSERT_EQ(d[i], want(high[i]) << 8 | want(low[i])) << base + i;
          ASSERT_EQ(e[i], d[i]) << base + i;
        }
      }
    }
  }
}

TEST(Fp8, SinglesRoundOnce) {
  std::mt19937 random(1);
  for (int i = 0; i < 200000; ++i) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(random()));
    for (const Type type : {Type::e4m3, Type::e5m2}) {
      ASSERT_EQ(fp8_bits_rn_satfinite(type, x, false), nearest(type, x)) << x;
    }
  }
}

TEST(Fp8, PairsWidenExactly) {
  for (const bool e4m3 : {true, false}) {
    for (const bool relu : {false, true}) {
      const RowFunction row = row_of(std::string("cvt.rn") + (relu ? ".relu" : "") + ".f16x2." +
                                     (e4m3 ? "e4m3x2" : "e5m2x2") + " %r0, %h0;");
      ASSERT_NE(row, nullptr);
      for (int base = 0; base < 256; base += kLanes) {
        alignas(32) uint16_t a[kLanes];
        alignas(32) uint32_t d[kLanes];
        for (int i = 0; i < kLanes; ++i) {
          a[i] = static_cast<uint16_t>((base + i) << 8 | (255 - base - i));
        }
        Rows rows;
        rows.a = a;
        rows.d = d;
        row(rows);
        for (int i = 0; i < kLanes; ++i) {
          for (int half = 0; half < 2; ++half) {
            const int code = half == 1 ? base + i : 255 - base - i;
            const double want = value_of(e4m3 ? Type::e4m3 : Type::e5m2, code);
            const uint16_t got = static_cast<uint16_t>(d[i] >> (16 * half));
            if (std::isnan(want)) {
              EXPECT_EQ(got, 0x7fff);
            } else if (relu && std::signbit(want)) {
              EXPECT_EQ(got, 0);
            } else {
              EXPECT_EQ(std::bit_cast<float>(f16_to_f32_bits(got)), want);
            }
          }
        }
      }
    }
  }
}

TEST(Fp8, UndefinedElementsStayApart) {
  // The upper element of the pair comes from a register that nobody wrote.
  const std::string body =
      "ld.param.u64 %rd1, [a];\nmov.f32 %f1, 0f3f800000;\n"
      "cvt.rn.satfinite.e4m3x2.f32 %h1, %f2, %f1;\ncvt.rn.f16x2.e4m3x2 %r1, %h1;\n"
      "cvt.rn.satfinite.e5m2x2.f16x2 %h2, %r1;\ncvt.u32.u16 %r2, %h2;\n"
      "and.b32 %r2, %r2, 255;\nst.global.b32 [%rd1], %r2;\nst.global.u16 [%rd1+4], %h2;";
  Runner runner(Runner::kernel(body));
  const uint64_t y = runner.array<uint32_t>("y", {0, 0}, true, true, true);
  ASSERT_EQ(runner.run({y}, threads(1)), RunStatus::completed);
  EXPECT_EQ(runner.read<uint32_t>("y")[0], 0x3cu);
  EXPECT_EQ(runner.count(DiagnosticKind::uninitialised), 1) << runner.all_messages();
}

}  // namespace
}  // namespace assay::ptx
