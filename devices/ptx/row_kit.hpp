// Small loops over rows that the executor needs on its fast path, in two builds.
#pragma once

#include <cstdint>

#include "devices/ptx/semantics.hpp"

namespace assay::ptx {

/// Shape of the addresses of a full warp.
enum class AddressPattern : uint8_t { scattered, consecutive, uniform };

struct RowKit {
  /// d = mask ? s : d, element by element.
  void (*blend16)(void* d, const void* s, uint32_t mask);
  void (*blend32)(void* d, const void* s, uint32_t mask);
  void (*blend64)(void* d, const void* s, uint32_t mask);
  /// d = zero-extended a + offset.
  void (*addresses32)(uint64_t* d, const uint32_t* a, int64_t offset);
  /// d[lane] = a[lane ^ distance], distance below 32; d may be a.
  void (*butterfly32)(uint32_t* d, const uint32_t* a, uint32_t distance);
  /// Whether all elements are equal.
  bool (*uniform32)(const uint32_t* a);
  /// How 64-bit addresses lie: addr[i] = addr[0] + i * bytes, or all equal.
  AddressPattern (*pattern)(const uint64_t* addresses, int64_t bytes);
  /// The same of `count` lanes. One lane: consecutive.
  AddressPattern (*pattern_of)(const uint64_t* addresses, int count, int64_t bytes);
  /// How many lanes lie side by side and are repeated, in turn, by all others of a full warp: a
  /// power of two below 32. 0: that is not how they lie.
  int (*period)(const uint64_t* addresses, int64_t bytes);
  /// Lanes in which a, b or the 32-bit sum a + b is negative as s32.
  bool (*add_leaves_nonnegative)(const uint32_t* a, const uint32_t* b);
  bool (*sub_leaves_nonnegative)(const uint32_t* a, const uint32_t* b);
  bool (*shl_leaves_nonnegative)(const uint32_t* a, const uint32_t* b);
  /// The same for a * b: also false where the product needs more than 31 bits.
  bool (*mul_leaves_nonnegative)(const uint32_t* a, const uint32_t* b);
  bool (*mad_leaves_nonnegative)(const uint32_t* a, const uint32_t* b, const uint32_t* c);
  /// Whether any element is negative as s32.
  bool (*any_negative)(const uint32_t* a);
  /// Whether any of `bytes` (a multiple of 32) has a bit of `bits` set.
  bool (*any_bit)(const uint8_t* a, int64_t bytes, uint8_t bits);
};

const RowKit& row_kit(bool avx2);

/// Row functions of moves and of the width changes that the machine inserts. Widths in bytes.
RowFunction copy_row(int width, bool avx2);
RowFunction resize_row(int from, int to, bool sign_extend, bool avx2);

}  // namespace assay::ptx
