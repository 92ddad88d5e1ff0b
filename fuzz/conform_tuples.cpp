// Operands of `assay conform`: what instructions treat specially, in every combination that fits,
// then random bits shaped so that rounding, cancellation and narrow ranges are met.
#include <algorithm>
#include <map>

#include "fuzz/conform_formats.hpp"
#include "fuzz/conform_kernels.hpp"
#include "generators/hash.hpp"

namespace assay {

namespace {

using ptx::Type;

/// Of an element, packed or not; of the types that tuples hold as numbers.
ConformFormat format_of(Type type) {
  switch (type) {
    case Type::f16x2:
      return conform_format(Type::f16);
    case Type::bf16x2:
      return conform_format(Type::bf16);
    case Type::f16:
    case Type::bf16:
    case Type::f32:
    case Type::f64:
      return conform_format(type);
    default:
      return {};
  }
}

bool is_packed(Type type) { return type == Type::f16x2 || type == Type::bf16x2; }

std::vector<uint64_t> float_specials(ConformFormat f) {
  const uint64_t top = f.fraction_mask(), step = uint64_t{1} << f.fraction;
  std::vector<uint64_t> values{0,
                               1,        // the smallest subnormal
                               top,      // the largest
                               top + 1,  // the smallest normal number
                               top + 2,
                               f.one(),
                               f.one() - 1,
                               f.one() + 1,
                               f.one() + step,      // 2
                               f.one() + step / 2,  // 1.5
                               f.one() - step,      // 0.5
                               f.infinity() - 1,    // the largest finite number
                               f.infinity(),
                               f.infinity() + 1,                // a signalling NaN
                               f.infinity() | (step / 2 + 1)};  // a quiet one
  // Ends of the integer types.
  for (const int power : {7, 8, 15, 16, 31, 32, 63, 64}) {
    const uint64_t value = f.one() + (static_cast<uint64_t>(power) << f.fraction);
    if (value >= f.infinity()) continue;
    values.push_back(value);
    values.push_back(value - 1);
  }
  const size_t positive = values.size();
  for (size_t i = 0; i < positive; ++i) values.push_back(values[i] | f.sign());
  return values;
}

std::vector<uint64_t> integer_specials(int bits) {
  const uint64_t top = uint64_t{1} << (bits - 1);
  std::vector<uint64_t> values{0,
                               1,
                               2,
                               3,
                               7,
                               8,
                               31,
                               32,
                               33,
                               63,
                               64,
                               65,
                               127,
                               128,
                               255,
                               256,
                               32767,
                               32768,
                               65535,
                               ~uint64_t{0},
                               top,
                               top - 1,
                               top + 1,
                               ~uint64_t{1},
                               0x5555555555555555,
                               0xaaaaaaaaaaaaaaaa};
  const uint64_t mask = top | (top - 1);
  for (uint64_t& value : values) value &= mask;
  return values;
}

uint64_t random_float(ConformFormat f, Random& random, uint64_t near) {
  const uint64_t bits = random.next() & f.mask(), shape = random.next();
  uint64_t exponent = 0;
  switch (shape % 4) {
    case 0:
      return bits;
    case 1:  // within 32 powers of another operand
      exponent = ((near & f.infinity()) >> f.fraction) + (shape >> 8) % 65;
      exponent = exponent < 32 ? 0 : exponent - 32;
      break;
    case 2:  // near 1
      exponent = (f.one() >> f.fraction) + (shape >> 8) % 33;
      exponent = exponent < 16 ? 0 : exponent - 16;
      break;
    default:  // few bits in the fraction: ties
      return bits & ~(f.fraction_mask() >> ((shape >> 8) % (f.fraction + 1)));
  }
  exponent = std::min(exponent, (f.infinity() >> f.fraction) - 1);
  return (bits & (f.sign() | f.fraction_mask())) | (exponent << f.fraction);
}

int bits_of(Type type) { return std::max(2, ptx::bytes_of(type)) * 8; }

uint64_t random_value(Type type, Random& random, uint64_t near) {
  const ConformFormat f = format_of(type);
  if (type == Type::pred) return random.next() & 1;
  if (is_packed(type)) {
    const uint64_t low = random_float(f, random, near & 0xffff);
    return low | random_float(f, random, near >> 16) << 16;
  }
  if (f.fraction != 0) return random_float(f, random, near);
  const int bits = bits_of(type);
  const uint64_t kept = random.next() & (~uint64_t{0} >> (64 - bits));
  const uint64_t shape = random.next();
  // Every size of number is equally likely, every other one negative.
  const uint64_t small = kept >> (shape % static_cast<unsigned>(bits));
  return (shape >> 32) % 2 == 0 ? small : (~small & (~uint64_t{0} >> (64 - bits)));
}

std::vector<uint64_t> specials(Type type) {
  if (type == Type::pred) return {0, 1};
  const ConformFormat f = format_of(type);
  if (f.fraction == 0) return integer_specials(bits_of(type));
  std::vector<uint64_t> values = float_specials(f);
  if (!is_packed(type)) return values;
  // The other half holds another special, so that halves that are mixed up show.
  std::vector<uint64_t> pairs;
  for (size_t i = 0; i < values.size(); ++i) {
    pairs.push_back(values[i] | values[(i * 7 + 3) % values.size()] << 16);
  }
  return pairs;
}

}  // namespace

std::vector<ConformTuple> conform_tuples(const ConformKernel& kernel, int64_t count,
                                         uint64_t seed) {
  std::vector<std::vector<uint64_t>> values;
  int64_t combinations = 1;
  for (const Type type : kernel.sources) {
    values.push_back(specials(type));
    combinations *= static_cast<int64_t>(values.back().size());
  }
  Random random(seed);
  std::vector<ConformTuple> tuples(static_cast<size_t>(count));
  const bool all = combinations <= count / 2;
  const int64_t special = all ? combinations : count / 2;
  for (int64_t n = 0; n < count; ++n) {
    ConformTuple& tuple = tuples[static_cast<size_t>(n)];
    tuple.carry = random.next() & 1;
    int64_t choice = n;
    for (size_t k = 0; k < values.size(); ++k) {
      const int64_t size = static_cast<int64_t>(values[k].size());
      const uint64_t near = tuple.source[k == 0 ? 0 : k - 1];
      if (n >= special) {
        tuple.source[k] = random_value(kernel.sources[k], random, near);
      } else {
        const uint64_t at =
            all ? static_cast<uint64_t>(choice % size) : random.next() % values[k].size();
        tuple.source[k] = values[k][at];
      }
      choice /= size;
    }
  }
  return tuples;
}

}  // namespace assay
