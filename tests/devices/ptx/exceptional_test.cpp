// Exceptional arithmetic: what counts, and how it is followed to the value that a thread stores.
#include "devices/ptx/exceptional.hpp"

#include <cmath>

#include "tests/devices/ptx/running.hpp"

namespace assay::ptx {
namespace {

Operation operation(Op op, Type type, std::vector<double> operands, double result) {
  Operation o;
  o.op = op;
  o.type = type;
  o.count = static_cast<int>(operands.size());
  std::copy(operands.begin(), operands.end(), o.operands.begin());
  o.result = result;
  return o;
}
std::optional<Exception> made(Op op, Type type, std::vector<double> operands, double result,
                              bool rounded = true) {
  return exception_of(operation(op, type, std::move(operands), result), rounded);
}

TEST(Exceptional, WhatCounts) {
  const double inf = INFINITY, nan = NAN;
  EXPECT_EQ(made(Op::mul, Type::f32, {3e38, 2}, inf), Exception::infinity);
  EXPECT_EQ(made(Op::sub, Type::f32, {inf, inf}, nan), Exception::nan);
  EXPECT_EQ(made(Op::div, Type::f32, {0, 0}, nan), Exception::nan);
  EXPECT_EQ(made(Op::cvt, Type::f16, {65520}, inf), Exception::infinity);
  EXPECT_EQ(made(Op::cvt, Type::f16, {1e-9}, 0), Exception::underflow);
  EXPECT_EQ(made(Op::mul, Type::f32, {1e-30, 1e-30}, 0), Exception::underflow);
  EXPECT_EQ(made(Op::ex2, Type::f32, {-200}, 0), Exception::underflow);
  // Passed on, or exact: nothing was made here.
  EXPECT_EQ(made(Op::add, Type::f32, {nan, 1}, nan), std::nullopt);
  EXPECT_EQ(made(Op::add, Type::f32, {inf, 1}, inf), std::nullopt);
  EXPECT_EQ(made(Op::mul, Type::f32, {0, 5}, 0), std::nullopt);
  EXPECT_EQ(made(Op::cvt, Type::f16, {0}, 0), std::nullopt);
  EXPECT_EQ(made(Op::add, Type::f32, {1, 2}, 3), std::nullopt);
}

TEST(Exceptional, CancellationsLeaveFourDigits) {
  // Of 24 digits 20 are gone, and 19; of 11, seven and six.
  EXPECT_EQ(made(Op::sub, Type::f32, {1, 1 - 0x1p-20}, 0x1p-20), Exception::cancellation);
  EXPECT_EQ(made(Op::sub, Type::f32, {1, 1 - 0x1p-19}, 0x1p-19), std::nullopt);
  EXPECT_EQ(made(Op::add, Type::f16, {1, -1 + 0x1p-7}, 0x1p-7), Exception::cancellation);
  EXPECT_EQ(made(Op::add, Type::f16, {1, -1 + 0x1p-6}, 0x1p-6), std::nullopt);
  EXPECT_EQ(made(Op::fma, Type::f32, {3, 5, -15}, 0), Exception::cancellation);
  // The difference of exact numbers is exact.
  EXPECT_EQ(made(Op::sub, Type::f32, {1, 1 - 0x1p-20}, 0x1p-20, false), std::nullopt);
}

TEST(Exceptional, WhatRounds) {
  const auto rounded = [](Op op, Type type, std::vector<double> operands, double result) {
    return rounds(operation(op, type, std::move(operands), result));
  };
  EXPECT_FALSE(rounded(Op::add, Type::f32, {1, 2}, 3));
  EXPECT_TRUE(rounded(Op::add, Type::f32, {1, 1e-10}, 1));
  EXPECT_TRUE(rounded(Op::add, Type::f32, {1, 1e-30}, 1));
  EXPECT_FALSE(rounded(Op::mul, Type::f32, {3, 5}, 15));
  EXPECT_TRUE(rounded(Op::mul, Type::f32, {0.1f, 0.1f}, 0.01f));
  EXPECT_TRUE(rounded(Op::add, Type::f64, {1, 1e-30}, 1));
  EXPECT_TRUE(rounded(Op::ex2, Type::f32, {0.5}, std::sqrt(2.0)));
  EXPECT_FALSE(rounded(Op::neg, Type::f32, {0.1}, -0.1));
}

/// The note on what lane 3 of 32 stores, when %f1 is the lane's element of `x` and the body's
/// result is %f2; "" when all was ordinary.
std::string told(const std::vector<float>& x, const std::string& body,
                 const std::string& store = "st.global.f32 [%rd2], %f2;") {
  Runner r(Runner::kernel(R"(
    .shared .align 4 .b8 held[128];
    ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4; add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, %rd3;
    mov.u64 %rd4, held; cvt.u32.u64 %r2, %rd4; shl.b32 %r3, %r1, 2; add.s32 %r2, %r2, %r3;
    ld.global.f32 %f1, [%rd1];)" +
                          body + "\n" + store));
  std::vector<float> values(32);
  for (size_t i = 0; i < 32; ++i) values[i] = x[i % x.size()];
  const uint64_t a = r.array<float>("a", values);
  const uint64_t b = r.array<float>("b", std::vector<float>(32), true, true, true);
  r.options.exceptional = true;
  r.options.watch.bytes = 4;
  LaunchConfig config = threads(32);
  config.watched_address = b + 3 * 4;
  EXPECT_EQ(r.run({a, b}, config), RunStatus::completed) << r.all_messages();
  r.machine().tell_exceptional();
  std::string text;
  for (const Diagnostic& d : r.diagnostics()) {
    EXPECT_EQ(d.kind, DiagnosticKind::exceptional);
    EXPECT_TRUE(d.note);
    EXPECT_EQ(d.steps.size(), 1u);
    text += d.steps[0].text();
  }
  return text;
}

TEST(Exceptional, TheFirstOnTheWayIsTold) {
  EXPECT_EQ(told({3e38f}, "add.f32 %f3, %f1, %f1; sub.f32 %f2, %f3, %f3;"),
            "infinity (add.f32) by thread (3,0,0) of block (0,0,0): of 3.00000001e+38, "
            "3.00000001e+38: inf");
  EXPECT_EQ(told({INFINITY}, "sub.f32 %f2, %f1, %f1;"),
            "NaN (sub.f32) by thread (3,0,0) of block (0,0,0): of inf, inf: nan");
  EXPECT_EQ(told({2.0f}, "add.f32 %f2, %f1, %f1;"), "");
  // In place: the operands are those from before.
  EXPECT_EQ(told({3e38f}, "mul.f32 %f1, %f1, 0f40000000; mov.f32 %f2, %f1;"),
            "infinity (mul.f32) by thread (3,0,0) of block (0,0,0): of 3.00000001e+38, 2: inf");
  EXPECT_EQ(told({1e6f}, "cvt.rn.f16.f32 %h1, %f1; cvt.f32.f16 %f2, %h1;"),
            "infinity (cvt.rn.f16.f32) by thread (3,0,0) of block (0,0,0): of 1000000: inf");
}

TEST(Exceptional, OnlyWhatFlowsIntoTheValue) {
  // Made by another lane, or thrown away.
  const std::vector<float> one_large{1, 1, 1, 1, 3e38f, 1, 1, 1};
  const std::string twice = "add.f32 %f3, %f1, %f1;";
  EXPECT_EQ(told(one_large, twice + "mov.f32 %f2, %f3;"), "");
  EXPECT_EQ(told({3e38f}, twice + "setp.lt.f32 %p1, %f1, 0f00000000;"
                                  "selp.f32 %f2, %f3, %f1, %p1;"),
            "");
  // From lane 4 by a shuffle, and by shared memory.
  const std::string of_lane_4 =
      "infinity (add.f32) by thread (4,0,0) of block (0,0,0): of 3.00000001e+38, 3.00000001e+38: "
      "inf";
  EXPECT_EQ(told(one_large, twice + "mov.b32 %r4, %f3; shfl.sync.down.b32 %r5, %r4, 1, 31, -1;"
                                    "mov.b32 %f2, %r5;"),
            of_lane_4);
  EXPECT_EQ(told(one_large, twice + "st.shared.f32 [%r2], %f3; bar.sync 0;"
                                    "mov.u32 %r6, held; ld.shared.f32 %f2, [%r6+16];"),
            of_lane_4);
  EXPECT_EQ(told({3e38f}, twice + "mov.f32 %f2, %f3;", "red.global.add.f32 [%rd2], %f2;"),
            "infinity (add.f32) by thread (3,0,0) of block (0,0,0): of 3.00000001e+38, "
            "3.00000001e+38: inf");
}

TEST(Exceptional, CancellationsMatterUntilTheSumIsBack) {
  // x * x rounds; subtracting what it is nearly equal to leaves the rounding.
  const std::string cancels = "mul.f32 %f3, %f1, %f1; sub.f32 %f2, %f3, 0f3F800000;";
  const std::string note = told({1.0000001f}, cancels);
  EXPECT_NE(note.find("cancellation (sub.f32)"), std::string::npos) << note;
  EXPECT_EQ(told({1.0000001f}, cancels + "add.f32 %f2, %f2, 0f40000000;"), "");
  EXPECT_EQ(told({1.0000001f}, "sub.f32 %f2, %f1, 0f3F800000;"), "");
  // expf rounds to an integer by adding 1.5 * 2^23 and taking it off again: no digit is lost. A
  // variable as large as that cancels as any other.
  EXPECT_EQ(told({1.3f}, "fma.rn.f32 %f3, %f1, %f1, 0f4B400000; add.f32 %f2, %f3, 0fCB400000;"), "");
  const std::string variable = told({1.3f}, "mov.f32 %f4, 0f4B400000; ld.global.f32 %f1, [%rd1];"
                                            "fma.rn.f32 %f3, %f1, %f1, %f4;"
                                            "sub.f32 %f2, %f3, %f4;");
  EXPECT_NE(variable.find("cancellation (sub.f32)"), std::string::npos) << variable;
}

}  // namespace
}  // namespace assay::ptx
