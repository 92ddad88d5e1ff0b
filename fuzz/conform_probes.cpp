// Probes of tensor cores, and the model of their adder. Each probe is the product of row 0 of a
// with column 0 of b; all other elements are zero.
#include <algorithm>
#include <bit>
#include <cmath>

#include "devices/ptx/tensor.hpp"
#include "fuzz/conform_formats.hpp"
#include "fuzz/conform_matrix.hpp"

namespace assay {

namespace {

using ptx::Type;

constexpr int kLowestBits = -14, kHighestBits = 6;

constexpr int kMostSteps = 32;
/// A model that misses this often is dropped.
constexpr int64_t kMostMisses = 400;
/// Results that are tried on all models.
constexpr int64_t kMostFitted = 12'000;

/// Products at positions, each of two powers of two, and c.
struct Probe {
  struct Term {
    int position;
    double a, b;
  };
  std::vector<Term> terms;
  double c = 0;
};

/// The pair of powers with this product, as equal as can be.
Probe::Term term(int position, int exponent, int sign = 1) {
  const int half = exponent >= 0 ? exponent / 2 : -((1 - exponent) / 2);
  return {position, std::ldexp(sign, half), std::ldexp(1.0, exponent - half)};
}

double smallest_subnormal(Type type) {
  switch (type) {
    case Type::f16:
      return 0x1p-24;
    case Type::bf16:
      return 0x1p-133;
    case Type::e4m3:
      return 0x1p-9;
    case Type::e5m2:
      return 0x1p-16;
    case Type::tf32:
      return 0x1p-136;
    default:
      return 0x1p-149;
  }
}
int lowest_exponent(Type type) {
  switch (type) {
    case Type::f16:
    case Type::e5m2:
      return -14;
    case Type::e4m3:
      return -6;
    default:
      return -126;
  }
}

constexpr int kLarge = 14;  ///< exponent of the products that cancel; e4m3 holds its halves

/// The probes in the order of warps.
std::vector<Probe> probes_of(const ConformProduct& product) {
  const ptx::Instruction& p = product.product;
  std::vector<Probe> probes;
  // X - X + X 2^(-23 - e): what is left of the last, which lies in one of two places, since one
  // may belong to another step.
  for (const int place : {2, std::min(4, p.shape.k - 1)}) {
    for (int e = kLowestBits; e <= kHighestBits; ++e) {
      probes.push_back({{term(0, kLarge), term(1, kLarge, -1), term(place, kLarge - 23 - e)}, 0});
    }
  }
  for (int e = kLowestBits; e <= kHighestBits; ++e) {
    probes.push_back({{term(0, kLarge, -1), term(1, kLarge - 23 - e)}, std::ldexp(1.0, kLarge)});
  }
  // X - X in the first two places and a tiny product at place l, which survives in a later step.
  for (int l = 2; l < kMostSteps; ++l) {
    if (l >= p.shape.k) {
      probes.push_back({});
      continue;
    }
    probes.push_back({{term(0, 16), term(1, 16, -1), term(l, -18)}, 0});
  }
  // 2^10 (1 + 1.5 * 2^-23): where rounding goes.
  for (const int sign : {1, -1}) {
    probes.push_back(
        {{term(0, 10, sign), term(1, -14, sign), term(2, -14, sign), term(3, -14, sign)}, 0});
  }
  probes.push_back({{{0, smallest_subnormal(p.source_type), 1.0}}, 0});
  probes.push_back({{}, smallest_subnormal(p.type == Type::f16 ? Type::f16 : p.c_type)});
  probes.push_back({{{0, 0x1p-70, 0x1p-70}}, 0});
  return probes;
}

/// The bits of a value that the type has.
uint32_t exact_bits(Type type, double value) {
  if (type == Type::e4m3 || type == Type::e5m2) {
    for (uint32_t bits = 0; bits < 256; ++bits) {
      if (ptx::element_value(type, bits) == value) return bits;
    }
    return 0;
  }
  const uint32_t single = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (type == Type::bf16) return single >> 16;
  return type == Type::tf32 ? single : ptx::element_bits(type, value);
}

/// Bits with a sign and a fraction from `bits` and an exponent of 2, within the type's range.
uint32_t with_exponent(Type type, uint64_t bits, int exponent) {
  const ConformFormat f = conform_format(type);
  const int bias = (1 << (f.exponent - 1)) - 1, top = (1 << f.exponent) - 2;
  const uint32_t biased = static_cast<uint32_t>(std::clamp(exponent + bias, 0, top));
  const uint32_t fraction = static_cast<uint32_t>(bits) & ((1u << f.fraction) - 1);
  const uint32_t sign = static_cast<uint32_t>(bits >> 63) << (f.fraction + f.exponent);
  const uint32_t made = sign | biased << f.fraction | fraction;
  return type == Type::tf32 ? made << 13 : made;
}

uint32_t random_bits(Type type, uint64_t bits) {
  const int bytes = ptx::bytes_of(type);
  return static_cast<uint32_t>(bits) & (bytes == 4 ? ~0u : (1u << 8 * bytes) - 1);
}

uint32_t integer_bits(Type type, Random& random) {
  const uint64_t bits = random.next();
  if (type == Type::s32) {
    static constexpr uint32_t kEnds[] = {0, 0x7fffffff, 0x80000000, 0xffffffff};
    if (bits % 3 == 0) return kEnds[bits >> 62];
  } else if (bits % 5 == 0) {
    return bits >> 63 ? 0xff : 0x80;
  }
  return random_bits(type, bits >> 8);
}

/// The shapes of random data, by warp.
uint32_t random_element(Type type, Random& random, int64_t style, bool is_c) {
  const uint64_t bits = random.next(), other = random.next();
  const auto within = [&](int low, int high) {
    return with_exponent(type, bits,
                         low + static_cast<int>(other % static_cast<uint64_t>(high - low + 1)));
  };
  const int lowest = lowest_exponent(type);
  switch (style) {
    case 0:  // small integers: exact in every order
      return exact_bits(type, static_cast<double>(static_cast<int>(bits % 17) - 8));
    case 1:
      return within(-2, 1);
    case 2:
      return within(-8, 8);
    case 3:
      return random_bits(type, bits);
    case 4:  // few products, far apart
      return !is_c && other % 4 != 0 ? 0 : within(-6, 6);
    case 5:  // around the end of the normal range
      return within(lowest - 1, lowest + 2);
    case 6:  // a large accumulator, or none
      return is_c ? (other % 2 ? 0 : within(8, 14)) : within(-3, 0);
    default:  // subnormals with normal numbers
      return other % 2 == 0 ? within(lowest - 1, lowest) : within(-1, 3);
  }
}

int exponent_of(double x, int lowest) { return std::max(std::ilogb(x), lowest); }

double cut_to_f32(double x, bool nearest) {
  const float rounded = static_cast<float>(x);
  if (nearest || !std::isfinite(rounded) || std::fabs(rounded) <= std::fabs(x)) return rounded;
  return std::nextafter(rounded, 0.0f);
}

/// To nearest even, once.
double round_f16(double x) {
  if (x == 0) return x;
  const double unit = std::ldexp(1.0, std::max(std::ilogb(x), -14) - 10);
  const double rounded = std::nearbyint(x / unit) * unit;
  return std::fabs(rounded) > 65504.0 ? std::copysign(HUGE_VAL, x) : rounded;
}

}  // namespace

MatrixOperands make_matrices(const ConformProduct& product, Random& random, int64_t warp) {
  const ptx::Instruction& p = product.product;
  MatrixOperands operands;
  operands.a.resize(static_cast<size_t>(p.shape.m * p.shape.k));
  operands.b.resize(static_cast<size_t>(p.shape.k * p.shape.n));
  operands.c.resize(static_cast<size_t>(p.shape.m * p.shape.n));
  if (p.type == Type::s32) {
    for (uint32_t& x : operands.a) x = integer_bits(p.source_type, random);
    for (uint32_t& x : operands.b) x = integer_bits(p.b_type, random);
    for (uint32_t& x : operands.c) x = integer_bits(Type::s32, random);
    return operands;
  }
  if (warp < kProbeWarps) {
    const std::vector<Probe> probes = probes_of(product);
    if (warp >= static_cast<int64_t>(probes.size())) return operands;
    const Probe& probe = probes[static_cast<size_t>(warp)];
    operands.c[0] = exact_bits(p.c_type, probe.c);
    for (const Probe::Term& t : probe.terms) {
      operands.a[static_cast<size_t>(t.position)] = exact_bits(p.source_type, t.a);
      operands.b[static_cast<size_t>(t.position * p.shape.n)] = exact_bits(p.b_type, t.b);
    }
    return operands;
  }
  const int64_t style = warp % 8;
  for (uint32_t& x : operands.a) x = random_element(p.source_type, random, style, false);
  for (uint32_t& x : operands.b) x = random_element(p.b_type, random, style, false);
  for (uint32_t& x : operands.c) x = random_element(p.c_type, random, style, true);
  return operands;
}

ProbeAnswers read_probes(const ConformProduct& product, const std::vector<uint32_t>& results) {
  const Type type = product.product.type;
  ProbeAnswers answers;
  size_t next = 0;
  const auto value = [&] { return ptx::element_value(type, results.at(next++)); };
  const auto lowest_kept = [&] {
    std::optional<int> kept;
    for (int e = kLowestBits; e <= kHighestBits; ++e) {
      if (value() != 0) kept = e;
    }
    return kept;
  };
  answers.extra_bits = lowest_kept();
  answers.extra_bits = std::min(answers.extra_bits, lowest_kept());
  answers.extra_bits_c = lowest_kept();
  answers.step = product.product.shape.k;
  for (int l = 2; l < kMostSteps; ++l) answers.step -= value() != 0;
  const double up = value(), down = value();
  const double ulp = 0x1p-13;
  if (type == Type::f16) {
    answers.rounding = "";
  } else if (up == 1024 + ulp && down == -1024 - ulp) {
    answers.rounding = "towards zero";
  } else if (up == 1024 + 2 * ulp && down == -1024 - 2 * ulp) {
    answers.rounding = "to nearest";
  } else if (up == 1024 + ulp && down == -1024 - 2 * ulp) {
    answers.rounding = "down";
  } else {
    answers.rounding = "?";
  }
  answers.subnormal_inputs = value() != 0;
  answers.subnormal_accumulator = value() != 0;
  const bool result = value() != 0;
  const Type input = product.product.source_type;
  if (input == Type::bf16 || input == Type::tf32) answers.subnormal_results = result;
  return answers;
}

double model_sum(const AdderModel& model, const ptx::Instruction& product, const double* a,
                 const double* b, double c) {
  const Type type = product.type;
  const int k = product.shape.k;
  const int lowest_a = model.pairs ? -14 : lowest_exponent(product.source_type);
  const int lowest_b = model.pairs ? -14 : lowest_exponent(product.b_type);
  // The place of the n-th product that is added.
  const auto place = [&](int n) {
    if (!model.pairs) return n;
    const int half = k / 2, m = n % half;
    return m / 2 * 4 + m % 2 + (n < half ? 0 : 2);
  };
  double sum = c;
  for (int first = 0; first < k; first += model.step) {
    const int last = std::min(k, first + model.step);
    int top = -5000;
    if (sum != 0) top = exponent_of(sum, -126);
    for (int n = first; n < last; ++n) {
      const int l = place(n);
      if (a[l] == 0 || b[l] == 0) continue;
      const int own = model.raw_exponents
                          ? exponent_of(a[l], lowest_a) + exponent_of(b[l], lowest_b)
                          : std::ilogb(a[l] * b[l]);
      top = std::max(top, own);
    }
    if (top == -5000) continue;
    const int unit = top - 23 - model.extra_bits;
    double units = std::trunc(std::ldexp(sum, -unit));
    for (int n = first; n < last; ++n) {
      const int l = place(n);
      units += std::trunc(std::ldexp(a[l] * b[l], -unit));
    }
    sum = std::ldexp(units, unit);
    const bool done = last == k;
    if (!done || type != Type::f16) sum = cut_to_f32(sum, done && model.rounds_to_nearest);
  }
  if (type != Type::f16) return sum;
  return round_f16(model.rounds_to_nearest ? cut_to_f32(sum, false) : sum);
}

ModelFit::ModelFit(const ConformProduct& product) : product_(product) {
  const int k = product.product.shape.k;
  for (int step = 2; step <= k; step *= 2) {
    for (int e = -12; e <= 4; ++e) {
      for (const bool raw : {true, false}) {
        for (const bool nearest : {false, true}) {
          candidates_.push_back({{step, e, raw, nearest, false}, 0});
          const bool bytes = ptx::bytes_of(product.product.source_type) == 1;
          if (bytes && step < k) candidates_.push_back({{step, e, raw, nearest, true}, 0});
        }
      }
    }
  }
}

void ModelFit::add(const std::vector<double>& a, const std::vector<double>& b, double c,
                   uint32_t hardware) {
  if (fitted_ >= kMostFitted || !std::isfinite(c)) return;
  const ptx::Instruction& p = product_.product;
  const double got = ptx::element_value(p.type, hardware);
  if (!std::isfinite(got)) return;
  for (size_t l = 0; l < a.size(); ++l) {
    if (!std::isfinite(a[l]) || !std::isfinite(b[l])) return;
  }
  ++fitted_;
  for (Candidate& candidate : candidates_) {
    if (candidate.misses > kMostMisses) continue;
    candidate.misses += model_sum(candidate.model, p, a.data(), b.data(), c) != got;
  }
}

void ModelFit::finish(MatrixTally& tally) const {
  tally.fitted = fitted_;
  const auto best =
      std::min_element(candidates_.begin(), candidates_.end(),
                       [](const Candidate& x, const Candidate& y) { return x.misses < y.misses; });
  if (best == candidates_.end()) return;
  tally.best = best->model;
  tally.best_misses = best->misses;
  for (const Candidate& candidate : candidates_) {
    if (candidate.misses == 0) tally.models.push_back(candidate.model);
  }
}

}  // namespace assay
