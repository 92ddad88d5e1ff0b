// Private to generators: the chunk that value_fill.cpp and index_fill.cpp work on.
#pragma once

#include <cstdint>

namespace assay {

struct Instance;
struct Tensor;

inline constexpr int kChunk = 256;

/// Elements first, first + step, ... with their hashes.
struct Chunk {
  int64_t first = 0;
  int64_t step = 1;
  int count = 0;
  uint64_t hash[kChunk];
};

/// Elements of an index operand, or of one whose prefix sums another operand holds.
void fill_index(const Instance& instance, const Tensor& tensor, const Chunk& chunk, uint8_t* out);

/// Poison, or -1, over the entries that the contract's `live` rules out, as `dead` asks for it.
void poison_dead(const Instance& instance, const Tensor& tensor, const Chunk& chunk, uint8_t* out);

}  // namespace assay
