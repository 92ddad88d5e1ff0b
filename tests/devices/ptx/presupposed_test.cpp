// What the CUDA headers presuppose of ex2.approx and lg2.approx: their corrections of f16 and bf16
// functions end at the correctly rounded result, in every mode and both builds.
#include "devices/ptx/presupposed.hpp"

#include <algorithm>
#include <cmath>

#include "exact_float.hpp"

namespace assay::ptx {
namespace {

/// One __SPEC_CASE: the function's argument, and what is added to its rounded result there.
struct Correction {
  uint32_t argument, added;
};
/// A function of cuda_fp16.hpp or cuda_bf16.hpp: f(x) = `after` g(`before` x), g the instruction.
struct Function {
  const char* name;
  const char* instruction;
  FloatLayout layout;
  uint32_t before, after;  ///< factors as f32 bits; 0: none
  long double (*exact)(long double);
  std::vector<Correction> corrections;
};

long double power_of_ten(long double x) { return std::pow(10.0L, x); }

const Function kFunctions[] = {
    {"hexp",
     "ex2.approx.ftz.f32",
     kF16,
     0x3fb8aa3b,
     0,
     std::exp,
     {{0x1f79, 0x9400}, {0x25cf, 0x9400}, {0xc13b, 0x0400}, {0xc1ef, 0x0200}}},
    {"hexp10",
     "ex2.approx.ftz.f32",
     kF16,
     0x40549a78,
     0,
     power_of_ten,
     {{0x34de, 0x9800}, {0x9766, 0x9000}, {0x9972, 0x1000}, {0xa5c4, 0x1000}, {0xbf0a, 0x8100}}},
    {"hlog",
     "lg2.approx.ftz.f32",
     kF16,
     0,
     0x3f317218,
     std::log,
     {{0x160d, 0x9c00}, {0x3bfe, 0x8010}, {0x3c0b, 0x8080}, {0x6051, 0x1c00}}},
    {"hlog10",
     "lg2.approx.ftz.f32",
     kF16,
     0,
     0x3e9a209b,
     std::log10,
     {{0x338f, 0x1000}, {0x33f8, 0x9000}, {0x57e1, 0x9800}, {0x719d, 0x9c00}}},
    {"h2exp10 of bf16", "ex2.approx.f32", kBf16, 0x40549a78, 0, power_of_ten, {{0xbc95, 0xbb80}}},
};

long double value(FloatLayout f, uint64_t bits) {
  exact::Number n = exact::decode(f, bits);
  long double m = std::ldexp(static_cast<long double>(static_cast<uint64_t>(n.m)), n.e);
  return n.negative ? -m : m;
}
uint32_t f32_bits(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}
float factor(uint32_t bits) { return static_cast<float>(value(kF32, bits)); }

/// The result of one row of 32 equal lanes.
uint64_t run_one(const std::string& spelling, uint64_t a, ApproxMode mode, bool fast) {
  Instruction i = instruction_of(spelling);
  Lane lane{a};
  return run_row(row_function(i, fast, mode), row_shape(i), &lane, 1)[0].d;
}

/// A neighbour of x, or x, that lies nearest to `exact`.
bool is_nearest(FloatLayout f, uint64_t x, long double exact) {
  const long double own = std::fabs(value(f, x) - exact);
  return own < std::fabs(value(f, x - 1) - exact) && own < std::fabs(value(f, x + 1) - exact);
}

TEST(Presupposed, HeadersCorrectToTheRightResult) {
  for (const Function& f : kFunctions) {
    const std::string narrow = f.layout.fraction == 10 ? "cvt.rn.f16.f32" : "cvt.rn.bf16.f32";
    for (const Correction& c : f.corrections) {
      const auto x = static_cast<float>(value(f.layout, c.argument));
      const float in = f.before != 0 ? x * factor(f.before) : x;
      for (ApproxMode mode : {ApproxMode::fixed, ApproxMode::adversarial}) {
        for (bool fast : {false, cpu_has_avx2()}) {
          uint64_t got = run_one(f.instruction, f32_bits(in), mode, fast);
          if (f.after != 0) got = f32_bits(factor(got) * factor(f.after));
          const uint64_t rounded = run_one(narrow, got, mode, fast);
          const long double corrected = value(f.layout, rounded) + value(f.layout, c.added);
          const uint64_t result =
              exact::encode(f.layout,
                            exact::add(exact::decode(f.layout, rounded),
                                       exact::decode(f.layout, c.added), exact::Mode::nearest),
                            exact::Mode::nearest);
          EXPECT_EQ(value(f.layout, result), corrected) << "one last place";
          EXPECT_TRUE(is_nearest(f.layout, result, f.exact(x)))
              << f.name << " of " << std::hex << c.argument << " gives " << rounded
              << ", corrected " << result << ", mode " << int(mode);
        }
      }
    }
  }
}

/// Either spelling gives the same; each entry lies within 2 ulp, or lg2's absolute bound of the
/// guide (2^-24 log2(10), for __log10f) on [0.5, 2].
TEST(Presupposed, ResultsLieWithinTheDocumentedBounds) {
  const auto check = [](const std::string& name, const Presupposed& one, long double exact,
                        long double bound) {
    for (const char* ftz : {"", ".ftz"})
      for (ApproxMode mode : {ApproxMode::fixed, ApproxMode::adversarial})
        for (bool fast : {false, cpu_has_avx2()})
          EXPECT_EQ(run_one(name + ftz + ".f32", one.argument, mode, fast), one.result) << name;
    EXPECT_LE(std::fabs(value(kF32, one.result) - exact), bound)
        << name << " " << std::hex << one.argument;
  };
  const auto ulp = [](long double y) { return std::ldexp(1.0L, std::ilogb(y) - 23); };
  for (const Presupposed& one : kPresupposedEx2) {
    const long double exact = std::exp2(value(kF32, one.argument));
    check("ex2.approx", one, exact, 2 * ulp(exact));
  }
  for (const Presupposed& one : kPresupposedLg2) {
    const long double x = value(kF32, one.argument), exact = std::log2(x);
    const bool near = x >= 0.5L && x <= 2;
    check("lg2.approx", one, exact, near ? 0x1p-24L * std::log2(10.0L) : 2 * ulp(exact));
  }
}

/// The tables hold what the corrections need and nothing else.
TEST(Presupposed, EveryEntryIsACorrectionsArgument) {
  size_t corrections = 0;
  for (const Function& f : kFunctions) {
    const bool power = std::string(f.instruction).starts_with("ex2");
    for (const Correction& c : f.corrections) {
      const auto x = static_cast<float>(value(f.layout, c.argument));
      const uint32_t in = f32_bits(f.before != 0 ? x * factor(f.before) : x);
      const auto found = [&](const auto& table) {
        return std::any_of(table.begin(), table.end(),
                           [&](const Presupposed& one) { return one.argument == in; });
      };
      EXPECT_TRUE(power ? found(kPresupposedEx2) : found(kPresupposedLg2)) << f.name;
      ++corrections;
    }
  }
  EXPECT_EQ(corrections, kPresupposedEx2.size() + kPresupposedLg2.size());
}

}  // namespace
}  // namespace assay::ptx
