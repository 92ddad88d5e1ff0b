// Private to generators: what value_fill.cpp makes the elements of a chunk with.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "generators/value_fill.hpp"
#include "generators/values.hpp"

namespace assay {

/// Sum of four 16-bit uniforms, centred and scaled to unit variance (4 * 65536^2 / 12 before).
inline double unit_normal(uint64_t hash) {
  const int64_t sum = static_cast<int64_t>((hash & 0xffff) + ((hash >> 16) & 0xffff) +
                                           ((hash >> 32) & 0xffff) + (hash >> 48));
  return static_cast<double>(static_cast<int32_t>(sum) - 131070) * (1.0 / 37837.22727);
}

/// 2^exponent, exponent in [-1074, 1023].
inline double power_of_two(int exponent) {
  return exponent >= -1022 ? std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52)
                           : std::bit_cast<double>(uint64_t{1} << (exponent + 1074));
}

/// The lowest `size` bytes of an element.
inline void store(uint8_t* out, uint64_t bits, int size) { std::memcpy(out, &bits, size); }

/// Elements of the classes that are bit patterns, in the lower bits of each word. False: the class
/// is not one of them (value_bits.cpp).
bool fill_bits(const ValuePlan& plan, DType type, const Chunk& chunk, uint64_t* out);

/// Real values as elements of the type, rounded to nearest even; integers truncated and clamped,
/// NaN as 0 (value_encode.cpp).
void encode(DType type, const double* values, int count, uint8_t* out);

/// The lower `size` bytes of each word.
void pack(const uint64_t* bits, int count, int size, uint8_t* out);

/// Elements of an operand's class that the contract admits, and their hashes (value_fill.cpp).
void fill_chunk(const ValuePlan& plan, DType type, Chunk& chunk, uint8_t* out);

/// Elements of an operand that is `sorted`: those of its class, ascending along the last dimension
/// (sorted_fill.cpp).
void fill_sorted(const Tensor& tensor, const Chunk& chunk, uint8_t* out);

/// Replaces what the contract does not admit (value_domain.cpp).
void restrict_values(const ValuePlan& plan, DType type, const Chunk& chunk, uint8_t* out);

}  // namespace assay
