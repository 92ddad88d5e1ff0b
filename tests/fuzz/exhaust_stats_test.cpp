// Errors counted, merged, drawn; and breaks of monotonicity, in both directions and at zero.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <set>

#include "fuzz/exhaust.hpp"
#include "oracles/verdict.hpp"

namespace assay::testing {
namespace {

constexpr uint64_t kOne = 0x3c00;  // 1 in f16, whose ulp is 2^-10

ErrorStats stats_of_f16() {
  ErrorStats stats;
  stats.output = "y";
  stats.type = DType::f16;
  return stats;
}

/// Counts 1 against an exact value that is `ulps` above it.
ErrorStats counted_at(double ulps, bool bounded = true) {
  ErrorStats stats = stats_of_f16();
  ++stats.inputs;
  count_error(stats, {{7}, kOne, 1 + ulps * 0x1p-10}, bounded);
  EXPECT_TRUE(stats.adds_up());
  return stats;
}

TEST(ExhaustStats, AClassEndsWithTheNumberAtItsHead) {
  for (size_t i = 0; i < kErrorEdges.size(); ++i) {
    const double edge = kErrorEdges[i];
    if (edge > 256) continue;  // above, the exact value is in another binade
    EXPECT_EQ(counted_at(edge).classes[i], 1) << edge;
    EXPECT_EQ(counted_at(edge + 0x1p-20).classes[i + 1], 1) << edge;
  }
  ErrorStats far = stats_of_f16();
  ++far.inputs;
  count_error(far, {{7}, 0x7bff, 0x1p-24}, true);  // 65504 for the smallest subnormal
  EXPECT_EQ(far.classes[kErrorClasses - 1], 1);
}

TEST(ExhaustStats, HalfAnUlpIsRoundedAndABitMoreIsNot) {
  EXPECT_EQ(counted_at(0.5).correctly_rounded, 1) << "a tie, to even";
  EXPECT_EQ(counted_at(0.5 + 0x1p-20).correctly_rounded, 0);
  EXPECT_EQ(counted_at(0.75).max_ulps, 0.75);
  EXPECT_EQ(counted_at(0.75).max_at.inputs, std::vector<uint64_t>{7});
}

TEST(ExhaustStats, WhereNothingIsDocumentedNoClassCounts) {
  const ErrorStats stats = counted_at(4, false);
  EXPECT_EQ(stats.no_bound, 1);
  EXPECT_EQ(stats.judged(), 0);
  EXPECT_EQ(stats.measured(), 0);
  EXPECT_EQ(stats.max_ulps, -1);
  EXPECT_EQ(stats.max_unbounded_ulps, 4);
}

TEST(ExhaustStats, InfinityAndNanAreSpecialOrIncomparable) {
  constexpr uint64_t kInfinity = 0x7c00, kNan = 0x7e00;
  const auto kind = [](uint64_t got, double exact) {
    ErrorStats stats = stats_of_f16();
    ++stats.inputs;
    count_error(stats, {{0}, got, exact}, true);
    EXPECT_TRUE(stats.adds_up());
    return stats.special == 1 ? "special" : stats.incomparable == 1 ? "incomparable" : "measured";
  };
  EXPECT_STREQ(kind(kInfinity, HUGE_VAL), "special");
  EXPECT_STREQ(kind(kNan, std::nan("")), "special");
  EXPECT_STREQ(kind(kInfinity, 1e6), "special") << "rounds to it";
  EXPECT_STREQ(kind(kInfinity, -HUGE_VAL), "incomparable");
  EXPECT_STREQ(kind(kInfinity, 1), "incomparable");
  EXPECT_STREQ(kind(kOne, std::nan("")), "incomparable");
  EXPECT_STREQ(kind(kNan, 1), "incomparable");
}

TEST(ExhaustStats, MergingAddsCountsAndKeepsTheWorst) {
  ErrorStats a = counted_at(2);
  ErrorStats b = counted_at(4);
  b.max_at.inputs = {9};
  for (ErrorStats* stats : {&a, &b}) {
    stats->outside_domain = 1;
    stats->faulted = 2;
    stats->not_alone = 3;
    stats->unwritten = 4;
    stats->special = 5;
    stats->incomparable = 6;
    stats->no_bound = 7;
    stats->correctly_rounded = 8;
    stats->inputs += 5 + 6 + 7;
    stats->breaks = 3;
    for (int i = 0; i < 3; ++i) stats->first_breaks.push_back({{{1}, 0, 0}, {{2}, 0, 0}});
  }
  b.first_breaks[0].lower.inputs = {11};
  b.ordered = true;
  b.max_unbounded_ulps = 0.5;
  b.max_unbounded_at.inputs = {13};
  a.add(b);
  EXPECT_TRUE(a.adds_up());
  EXPECT_EQ(a.inputs, 38);
  EXPECT_EQ(a.seen(), 38 + 2 + 4 + 6 + 8);
  EXPECT_EQ(a.outside_domain, 2);
  EXPECT_EQ(a.faulted, 4);
  EXPECT_EQ(a.not_alone, 6);
  EXPECT_EQ(a.unwritten, 8);
  EXPECT_EQ(a.special, 10);
  EXPECT_EQ(a.incomparable, 12);
  EXPECT_EQ(a.no_bound, 14);
  EXPECT_EQ(a.correctly_rounded, 16);
  EXPECT_EQ(a.classes[7], 1) << "2 ulps";
  EXPECT_EQ(a.classes[8], 1) << "4 ulps";
  EXPECT_EQ(a.max_ulps, 4);
  EXPECT_EQ(a.max_at.inputs, std::vector<uint64_t>{9});
  EXPECT_EQ(a.max_unbounded_ulps, 0.5);
  EXPECT_EQ(a.max_unbounded_at.inputs, std::vector<uint64_t>{13});
  EXPECT_TRUE(a.ordered);
  EXPECT_EQ(a.breaks, 6);
  ASSERT_EQ(a.first_breaks.size(), kBreaksShown);
  EXPECT_EQ(a.first_breaks[3].lower.inputs, std::vector<uint64_t>{11});
  // The other way round the worst stays where it is.
  b.add(counted_at(2));
  EXPECT_EQ(b.max_ulps, 4);
  EXPECT_EQ(b.max_at.inputs, std::vector<uint64_t>{9});
}

/// Breaks of a function of f16: by bits of the argument, what is exact and what was got.
struct Element {
  uint64_t input;
  double exact, got;
};
ErrorStats breaks_of(const std::vector<Element>& elements) {
  ErrorStats stats = stats_of_f16();
  std::vector<OrderedPoint> points;
  for (const Element& e : elements)
    points.push_back({e.input, round_to_bits(DType::f16, e.got), e.exact});
  find_breaks(DType::f16, points, stats);
  EXPECT_TRUE(stats.ordered);
  return stats;
}

TEST(ExhaustBreaks, AStepAgainstTheExactDirectionIsOneInBothDirections) {
  EXPECT_EQ(breaks_of({{1, 1, 1}, {2, 2, 2}, {3, 3, 3}}).breaks, 0);
  EXPECT_EQ(breaks_of({{1, 3, 3}, {2, 2, 2}, {3, 1, 1}}).breaks, 0);
  const ErrorStats falls = breaks_of({{1, 1, 1}, {2, 2, 0.5}, {3, 3, 3}});
  ASSERT_EQ(falls.breaks, 1) << "rises, but got falls from 1 to 0.5";
  EXPECT_EQ(falls.first_breaks[0].lower.inputs[0], 1u);
  EXPECT_EQ(falls.first_breaks[0].upper.inputs[0], 2u);
  const ErrorStats rises = breaks_of({{1, 3, 3}, {2, 2, 4}, {3, 1, 1}});
  ASSERT_EQ(rises.breaks, 1) << "falls, but got rises from 3 to 4";
  EXPECT_EQ(rises.first_breaks[0].upper.inputs[0], 2u);
}

TEST(ExhaustBreaks, EqualOutputsAndUnknownDirectionsAreNone) {
  EXPECT_EQ(breaks_of({{1, 1, 1}, {2, 2, 1}}).breaks, 0);
  EXPECT_EQ(breaks_of({{1, 1, 2}, {2, 1, 1}}).breaks, 0);
  EXPECT_EQ(breaks_of({{1, 1, 2}, {2, 1 + kObservedUlps * 0x1p-10, 1}}).breaks, 0)
      << "within what is known of the exact values";
}

TEST(ExhaustBreaks, NegativeInputsComeInTheOrderOfTheirValues) {
  // -1, -2 by bits 0xbc00, 0xc000: the larger pattern is the smaller number.
  EXPECT_EQ(breaks_of({{0xbc00, -1, -1}, {0xc000, -2, -2}, {kOne, 1, 1}}).breaks, 0);
}

TEST(ExhaustBreaks, BothZerosAreComparedWithBothNeighbours) {
  constexpr double kTiny = 0x1p-24;
  const auto negated = [&](double of_plus, double of_minus) {
    return breaks_of({{0x0000, -0.0, of_plus},
                      {0x8000, 0, of_minus},
                      {0x0001, -kTiny, -kTiny},
                      {0x8001, kTiny, kTiny}});
  };
  EXPECT_EQ(negated(-0.0, 0).breaks, 0);
  const ErrorStats plus = negated(-0.01, 0);
  ASSERT_EQ(plus.breaks, 1);
  EXPECT_EQ(plus.first_breaks[0].lower.inputs[0], 0x0000u);
  EXPECT_EQ(plus.first_breaks[0].upper.inputs[0], 0x0001u);
  const ErrorStats minus = negated(-0.0, 0.01);
  ASSERT_EQ(minus.breaks, 1);
  EXPECT_EQ(minus.first_breaks[0].lower.inputs[0], 0x8001u);
  EXPECT_EQ(minus.first_breaks[0].upper.inputs[0], 0x8000u);
  EXPECT_EQ(negated(0.01, 0).breaks, 1) << "of +0 against the number below";
  EXPECT_EQ(negated(-0.0, -0.01).breaks, 1) << "of -0 against the number above";
}

/// All numbers of f16 by their bits, with outputs that err often: of -x, two bits either way, so
/// that one neighbour in five breaks its direction. `left_out`: bits that did not run.
std::vector<OrderedPoint> points_of_f16(const std::function<bool(uint64_t)>& left_out) {
  std::vector<OrderedPoint> points;
  std::mt19937_64 random(7);
  for (uint64_t bits = 0; bits < 0x10000; ++bits) {
    const double x = to_double(DType::f16, bits);
    const uint64_t away = random() % 8;
    if (std::isnan(x) || left_out(bits)) continue;
    const uint64_t got = away < 2 && (bits & 0x3ff) > 2 ? bits - 2 + 4 * away : bits;
    points.push_back({bits, got ^ 0x8000, -x});
  }
  return points;
}

/// Breaks as units of so many inputs find them together, in the order in which they run.
ErrorStats breaks_in_units(const std::vector<OrderedPoint>& points, uint64_t inputs) {
  std::vector<ErrorStats> units;
  for (uint64_t first = 0; first < 0x10000; first += inputs) {
    std::vector<OrderedPoint> own;
    for (const OrderedPoint& point : points) {
      if (point.input >= first && point.input < first + inputs) own.push_back(point);
    }
    units.push_back(stats_of_f16());
    find_breaks(DType::f16, own, units.back());
    keep_ends(DType::f16, own, units.back());
  }
  std::vector<const ErrorStats*> all;
  const auto count = static_cast<int64_t>(units.size());
  for (int64_t turn = 0; turn < count; ++turn)
    all.push_back(&units[static_cast<size_t>(turn * scatter_step(count) % count)]);
  return joined(DType::f16, all);
}

void expect_the_same_in_units(const std::function<bool(uint64_t)>& left_out) {
  const std::vector<OrderedPoint> points = points_of_f16(left_out);
  ErrorStats whole = stats_of_f16();
  std::vector<OrderedPoint> sorted = points;
  find_breaks(DType::f16, sorted, whole);
  EXPECT_GT(whole.breaks, std::ssize(points) / 16);
  for (const uint64_t inputs : {0x10000u, 0x8000u, 4096u, 999u, 128u}) {
    const ErrorStats units = breaks_in_units(points, inputs);
    EXPECT_EQ(units.breaks, whole.breaks) << inputs;
    ASSERT_EQ(units.first_breaks.size(), kBreaksShown);
    for (size_t i = 0; i < kBreaksShown; ++i) {
      EXPECT_EQ(units.first_breaks[i].lower.inputs, whole.first_breaks[i].lower.inputs) << inputs;
      EXPECT_EQ(units.first_breaks[i].upper.inputs, whole.first_breaks[i].upper.inputs) << inputs;
    }
  }
}

TEST(ExhaustBreaks, UnitsFindTogetherWhatAllInputsShow) {
  expect_the_same_in_units([](uint64_t) { return false; });
  // Units that are empty, and neighbours that are far apart.
  expect_the_same_in_units([](uint64_t bits) { return (bits & 0x1fff) > 0x1003; });
  // The units of 4,096 that a run which ended early has done: neighbours are those that ran.
  std::set<uint64_t> done;
  for (int64_t turn = 0; turn < 7; ++turn)
    done.insert(static_cast<uint64_t>(turn * scatter_step(16) % 16));
  expect_the_same_in_units([&](uint64_t bits) { return !done.contains(bits / 4096); });
}

TEST(ExhaustBreaks, BothZerosAreComparedAcrossUnits) {
  // 1 and -1 in units of their zeros, or away from them; the output of one zero is wrong.
  const auto breaks = [](const std::vector<std::vector<Element>>& units) {
    std::vector<ErrorStats> stats;
    for (const auto& elements : units) {
      std::vector<OrderedPoint> points;
      for (const Element& e : elements)
        points.push_back({e.input, round_to_bits(DType::f16, e.got), e.exact});
      stats.push_back(stats_of_f16());
      find_breaks(DType::f16, points, stats.back());
      keep_ends(DType::f16, points, stats.back());
    }
    std::vector<const ErrorStats*> all;
    for (const ErrorStats& one : stats) all.push_back(&one);
    return joined(DType::f16, all).breaks;
  };
  const Element up{kOne, 1, 1}, down{0x8000 | kOne, -1, -1};
  for (const double wrong : {2.0, -2.0}) {
    const Element plus{0, 0, wrong}, minus{0x8000, 0, 0};
    EXPECT_EQ(breaks({{plus, up}, {minus, down}}), 1) << wrong;
    EXPECT_EQ(breaks({{plus}, {minus}, {down}, {up}}), 1) << wrong;
    EXPECT_EQ(breaks({{plus, up}, {minus}, {down}}), 1) << wrong;
    EXPECT_EQ(breaks({{plus}, {minus, down}, {up}}), 1) << wrong;
    const Element minus_wrong{0x8000, 0, wrong}, plus_right{0, 0, 0};
    EXPECT_EQ(breaks({{plus_right, up}, {minus_wrong, down}}), 1) << wrong;
    EXPECT_EQ(breaks({{up}, {plus_right}, {minus_wrong}, {down}}), 1) << wrong;
  }
}

ExhaustReport report_of(const ErrorStats& stats) {
  ExhaustReport report;
  report.kernel = "k";
  report.variants_total = 1;
  VariantResult& variant = report.variants.emplace_back();
  variant.space.operands.push_back({0, "x", DType::f16, false, 0, 65536});
  variant.space.size = 65536;
  variant.ran = 65536;
  variant.outputs.push_back(stats);
  return report;
}

TEST(ExhaustReport, PrintsDigitsThatTellAnErrorFromHalfAnUlp) {
  const auto text = [](double ulps) {
    ErrorStats stats = counted_at(0);
    stats.max_ulps = ulps;
    return exhaust_text(report_of(stats));
  };
  EXPECT_NE(text(0.5).find("  0.5  "), std::string::npos) << text(0.5);
  EXPECT_NE(text(0.50003).find("  0.50003  "), std::string::npos) << text(0.50003);
  EXPECT_NE(text(0.499999).find("  0.499999  "), std::string::npos) << text(0.499999);
  EXPECT_NE(text(12.3456789).find("  12.35  "), std::string::npos) << text(12.3456789);
  EXPECT_NE(text(1.000001).find("  1.000001  "), std::string::npos) << text(1.000001);
}

TEST(ExhaustReport, TheHistogramsBarsAreItsCounts) {
  ErrorStats stats = stats_of_f16();
  stats.classes = {999, 9, 0, 1};
  stats.inputs = 1009;
  stats.max_ulps = 0.375;
  const std::string svg = exhaust_svg(report_of(stats));
  // Bars are logarithms: log10(1 + 999) = 3 is 90 pixels, log10(1 + 9) = 1 a third, 2 -> 0.30.
  const auto bar = [&](int height, int count) {
    const std::string y = std::to_string(110 - height);
    return svg.find("y=\"" + y + "\" width=\"21\" height=\"" + std::to_string(height) +
                    "\"><title>" + std::to_string(count) + "</title>");
  };
  const size_t largest = bar(90, 999), third = bar(30, 9), none = bar(0, 0), one = bar(9, 1);
  ASSERT_NE(largest, std::string::npos) << svg;
  EXPECT_LT(largest, third);
  EXPECT_LT(third, none);
  EXPECT_LT(none, one);
  EXPECT_NE(one, std::string::npos);
  size_t bars = 0;
  for (size_t at = svg.find("<title>"); at != std::string::npos; at = svg.find("<title>", at + 1))
    ++bars;
  EXPECT_EQ(bars, kErrorClasses);
  EXPECT_NE(svg.find(">1/8</text>"), std::string::npos);
  EXPECT_NE(svg.find("max 0.375 ulps"), std::string::npos);
  EXPECT_NE(svg.find("</svg>"), std::string::npos);
}

TEST(ExhaustReport, WhatAGpuShowedIsRepeatedOnOne) {
  ExhaustReport report = report_of(counted_at(4));
  UnitResult& unit = report.variants[0].with_findings.emplace_back();
  unit.findings.emplace_back();
  unit.case_files.emplace_back("k.case");
  EXPECT_EQ(exhaust_text(report).find("--device"), std::string::npos);
  report.device = "cuda";
  EXPECT_NE(exhaust_text(report).find(" --device cuda\n"), std::string::npos)
      << exhaust_text(report);
  EXPECT_NE(exhaust_json({report}, 1).find(" --device cuda\""), std::string::npos);
}

TEST(ExhaustReport, TheExitStatusOfSeveralKernelsIsTheWorst) {
  const ExhaustReport clean = report_of(counted_at(0));
  ExhaustReport skipped = report_of(counted_at(0));
  skipped.variants.emplace_back().skipped = "why";
  const ExhaustReport nothing = report_of(counted_at(4, false));
  ExhaustReport wrong = report_of(counted_at(4));
  wrong.variants[0].with_findings.emplace_back().findings.emplace_back();
  EXPECT_EQ(exit_of({clean}), Exit::clean);
  EXPECT_EQ(exit_of({clean, skipped}), Exit::skipped);
  EXPECT_EQ(exit_of({skipped, nothing}), Exit::bad_input);
  EXPECT_EQ(exit_of({wrong, nothing, skipped}), Exit::findings);
}

}  // namespace
}  // namespace assay::testing
