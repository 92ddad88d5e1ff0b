#include "fuzz/conform_judge.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <numeric>

namespace assay {

namespace {

using ptx::Op;
using ptx::Type;

constexpr size_t kMostExamples = 4;

uint64_t infinity_of(Type type) {
  switch (type) {
    case Type::f16:
      return 0x7c00;
    case Type::bf16:
      return 0x7f80;
    case Type::f32:
    case Type::tf32:
      return 0x7f800000;
    case Type::f64:
      return 0x7ff0000000000000;
    default:
      return 0;
  }
}
uint64_t sign_of(Type type) {
  return type == Type::f64                         ? uint64_t{1} << 63
         : type == Type::f32 || type == Type::tf32 ? uint64_t{1} << 31
                                                   : uint64_t{1} << 15;
}
bool is_nan(Type type, uint64_t bits) {
  const uint64_t infinity = infinity_of(type);
  return infinity != 0 && (bits & (sign_of(type) - 1)) > infinity;
}
bool is_subnormal(Type type, uint64_t bits) {
  const uint64_t infinity = infinity_of(type), magnitude = bits & (sign_of(type) - 1);
  return infinity != 0 && magnitude != 0 && (magnitude & infinity) == 0;
}

bool nan_payload(const ConformElement& e) {
  const Op op = e.instruction->op;
  const Type source = e.instruction->source_type;
  const bool promised = e.type != Type::f64 && e.type != Type::tf32 && source != Type::f64 &&
                        op != Op::abs && op != Op::neg;
  return !promised && is_nan(e.type, e.emulator) && is_nan(e.type, e.hardware);
}

bool flushed_before_rounding(const ConformElement& e) {
  if (!e.instruction->ftz || (e.type != Type::f32 && e.type != Type::f16)) return false;
  const uint64_t normal = e.type == Type::f32 ? 0x00800000 : 0x0400, sign = sign_of(e.type);
  return (e.emulator & (sign - 1)) == normal && e.hardware == (e.emulator & sign);
}

bool narrowed_subnormal(const ConformElement& e) {
  return e.instruction->op == Op::cvt && e.instruction->ftz && e.type == Type::f16 &&
         is_subnormal(Type::f32, e.sources[0]);
}

bool field_beyond_255(const ConformElement& e) {
  const Op op = e.instruction->op;
  if ((op != Op::bfe && op != Op::bfi) || ptx::bytes_of(e.type) != 8) return false;
  const size_t n = e.sources.size();
  return e.sources[n - 1] > 255 || e.sources[n - 2] > 255;
}

bool signalling_to_tf32(const ConformElement& e) {
  return e.instruction->op == Op::cvt && e.type == Type::tf32 && is_nan(Type::f32, e.sources[0]) &&
         is_nan(Type::tf32, e.emulator) && (e.sources[0] & 0x7fe000) == 0;
}

bool fns_of_lowest(const ConformElement& e) {
  return e.instruction->op == Op::fns && e.sources[2] == 0x80000000;
}

// The next three were looked for among all operands (2^16 and 2^32) on an H200: these rows admit
// those that the card answers beyond the documented bound, and by no more than it did.

bool tanh_of_bf16(const ConformElement& e) {
  const uint64_t sign = e.sources[0] & 0x8000;
  return e.instruction->op == Op::tanh && e.type == Type::bf16 && e.sources[0] == (sign | 0x3f3f) &&
         e.hardware == (sign | 0x3f21);
}

bool cosine_of_f32(const ConformElement& e) {
  const uint64_t magnitude = e.sources[0] & 0x7fffffff;
  return e.instruction->op == Op::cos && e.type == Type::f32 && magnitude >= 0x409794f5 &&
         magnitude <= 0x40a1a54f && share_of_bound(e, e.emulator) <= 1 &&
         share_of_bound(e, e.hardware) <= 1.0521;
}

bool power_of_two(const ConformElement& e) {
  if (e.instruction->op != Op::ex2 || e.type != Type::f32) return false;
  const double most = is_subnormal(Type::f32, e.hardware) ? 1.1918 : 1.0275;
  return share_of_bound(e, e.emulator) <= 1 && share_of_bound(e, e.hardware) <= most;
}

Type half_of(Type type) {
  return type == Type::f16x2 ? Type::f16 : type == Type::bf16x2 ? Type::bf16 : type;
}

/// The result as one element, or half `part` of a packed pair.
ConformElement element_of(const ConformKernel& kernel, const ConformTuple& tuple, uint64_t emulator,
                          uint64_t hardware, int part, bool packed) {
  ConformElement e;
  e.instruction = &kernel.instruction;
  e.type = half_of(kernel.instruction.type);
  const auto half = [&](uint64_t bits) { return (bits >> (16 * part)) & 0xffff; };
  e.emulator = packed ? half(emulator) : emulator;
  e.hardware = packed ? half(hardware) : hardware;
  const bool packs = kernel.instruction.op == Op::cvt && packed;
  for (size_t k = 0; k < kernel.sources.size(); ++k) {
    // cvt to a pair: the upper half comes from the first source.
    if (packs && k != (part == 1 ? 0u : 1u)) continue;
    const Type type = kernel.sources[k];
    const int bytes = std::max(2, ptx::bytes_of(type));
    uint64_t bits = tuple.source[k];
    if (bytes < 8) bits &= (uint64_t{1} << (8 * bytes)) - 1;
    e.source_types.push_back(half_of(type));
    e.sources.push_back(half_of(type) != type ? half(bits) : bits);
  }
  return e;
}

std::string describe(const ConformKernel& kernel, const ConformTuple& tuple,
                     const ConformAnswer& emulator, const ConformAnswer& hardware) {
  char text[64];
  std::string line = kernel.title + "(";
  for (size_t k = 0; k < kernel.sources.size(); ++k) {
    std::snprintf(text, sizeof text, "%s%#" PRIx64, k ? ", " : "", tuple.source[k]);
    line += text;
  }
  const auto answer = [&](const ConformAnswer& a) {
    std::snprintf(text, sizeof text, "%#" PRIx64 "/%u/%u", a.d, a.p, a.q);
    return std::string(text);
  };
  return line + "; carry " + std::to_string(tuple.carry & 1) + "): emulator " + answer(emulator) +
         ", GPU " + answer(hardware);
}

enum class Agreement { within, documented, different };
struct Judgement {
  Agreement agreement = Agreement::different;
  size_t deviation = 0;
};

/// Of one element that differs.
Judgement judge_element(const ConformElement& e) {
  const double emulator = share_of_bound(e, e.emulator), hardware = share_of_bound(e, e.hardware);
  if (emulator >= 0 && emulator <= 1 && hardware <= 1) return {Agreement::within, 0};
  const auto& rows = conform_deviations();
  for (size_t row = 0; row < rows.size(); ++row) {
    if (rows[row].admits(e)) return {Agreement::documented, row};
  }
  return {};
}

/// The worse of both halves.
Judgement judge_tuple(const ConformKernel& kernel, const ConformTuple& tuple,
                      const ConformAnswer& emulator, const ConformAnswer& hardware) {
  if (emulator.p != hardware.p || emulator.q != hardware.q) return {};
  const bool packed = half_of(kernel.instruction.type) != kernel.instruction.type;
  Judgement worst{Agreement::within, 0};
  for (int part = 0; part < (packed ? 2 : 1); ++part) {
    const ConformElement e = element_of(kernel, tuple, emulator.d, hardware.d, part, packed);
    if (e.emulator == e.hardware) continue;
    const Judgement one = judge_element(e);
    if (one.agreement > worst.agreement) worst = one;
  }
  return worst;
}

/// How much of the bound both use, for approximate instructions.
void measure(const ConformKernel& kernel, const ConformTuple& tuple, const ConformAnswer& emulator,
             const ConformAnswer& hardware, ConformTally& tally) {
  const bool packed = half_of(kernel.instruction.type) != kernel.instruction.type;
  for (int part = 0; part < (packed ? 2 : 1); ++part) {
    const ConformElement e = element_of(kernel, tuple, emulator.d, hardware.d, part, packed);
    const double ours = share_of_bound(e, e.emulator);
    if (ours < 0) return;
    tally.emulator_share = std::max(tally.emulator_share, ours);
    tally.hardware_share = std::max(tally.hardware_share, share_of_bound(e, e.hardware));
  }
}

}  // namespace

const std::vector<ConformDeviation>& conform_deviations() {
  static const std::vector<ConformDeviation> rows{
      {"NaN payload",
       "which NaN an f64 or tf32 operation, a conversion from f64, abs or neg gives is not in the "
       "PTX ISA; the card keeps an operand's payload or sign, the emulator has one NaN a type",
       nan_payload},
      {"flush before rounding",
       "a result that only rounding lifts to the smallest normal number (2^-126, in f16 2^-14) is "
       "flushed by .ftz on the card, kept here; the PTX ISA does not say which comes first",
       flushed_before_rounding},
      {"narrowing a subnormal",
       "cvt to f16 ignores .ftz on the card when its f32 source is subnormal and the rounding is "
       "directed; PTX ISA 9.7.9.21 says that the source is flushed",
       narrowed_subnormal},
      {"field beyond 255",
       "PTX ISA 9.7.1 limits positions and lengths of bfe and bfi to 255; the card takes other "
       "bits "
       "of the 64-bit forms than the emulator",
       field_beyond_255},
      {"signalling NaN to tf32",
       "cvt.rna.tf32 cuts the payload of a NaN like a fraction: one whose payload lies in the "
       "lower 13 bits becomes an infinity on the card (with .satfinite the largest finite number)",
       signalling_to_tf32},
      {"fns with offset -2^31",
       "the absolute value of the offset in PTX ISA's pseudocode does not fit; the emulator finds "
       "nothing (-1), the card answers 0 (seen with base 0)",
       fns_of_lowest},
      {"tanh.approx.bf16 near 0.746",
       "of all operands +-0x3f3f err by 1.00007 times the documented 2^-8 on the card",
       tanh_of_bf16},
      {"cos.approx near 4.9",
       "of all operands 4,698 with 4.737 < |x| < 5.052 err by up to 1.0521 times the documented "
       "2^-20.5 on the card",
       cosine_of_f32},
      {"ex2.approx beyond 2 ulp",
       "of all operands 464 err by more than the documented 2 ulp on the card: 320 with a normal "
       "result by up to 2.055 ulp, 144 with a subnormal one by up to 2.39 of its last places",
       power_of_two},
  };
  return rows;
}

ConformTally::ConformTally()
    : documented(conform_deviations().size()), documented_examples(conform_deviations().size()) {}

int64_t ConformTally::documented_total() const {
  return std::accumulate(documented.begin(), documented.end(), int64_t{0});
}

void ConformTally::fail(const std::string& why) {
  ++tuples;
  ++different;
  examples.push_back(why);
}

ConformTally judge_conform(const ConformKernel& kernel, const std::vector<ConformTuple>& tuples,
                           const std::vector<ConformAnswer>& emulator,
                           const std::vector<ConformAnswer>& hardware) {
  ConformTally tally;
  tally.tuples = static_cast<int64_t>(tuples.size());
  for (size_t i = 0; i < tuples.size(); ++i) {
    measure(kernel, tuples[i], emulator[i], hardware[i], tally);
    if (emulator[i] == hardware[i]) {
      ++tally.equal;
      continue;
    }
    const Judgement j = judge_tuple(kernel, tuples[i], emulator[i], hardware[i]);
    if (j.agreement == Agreement::within) {
      ++tally.within;
    } else if (j.agreement == Agreement::documented) {
      std::string& example = tally.documented_examples[j.deviation];
      if (tally.documented[j.deviation]++ == 0) {
        example = describe(kernel, tuples[i], emulator[i], hardware[i]);
      }
    } else if (++tally.different <= static_cast<int64_t>(kMostExamples)) {
      tally.examples.push_back(describe(kernel, tuples[i], emulator[i], hardware[i]));
    }
  }
  return tally;
}

}  // namespace assay
