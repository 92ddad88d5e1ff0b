// Undefined values: which bits of a result are undefined, and how a value that nothing wrote came
// to where it is told of. Masks have a one for each undefined bit.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "devices/ptx/module.hpp"
#include "devices/ptx/semantics.hpp"

namespace assay::ptx {

/// A source element's bits and which of them are undefined.
struct MaskedBits {
  uint64_t bits = 0;
  uint64_t undefined = 0;
};

uint64_t undefined_and(MaskedBits a, MaskedBits b);
uint64_t undefined_or(MaskedBits a, MaskedBits b);
/// `table` as lop3 has it: bit (a b c), a most significant.
uint64_t undefined_lop3(MaskedBits a, MaskedBits b, MaskedBits c, uint32_t table);
/// Exact: the bits in which the least and the greatest sum differ, and those that carries reach.
uint64_t undefined_sum(MaskedBits a, MaskedBits b);
uint64_t undefined_difference(MaskedBits a, MaskedBits b);
/// All from the lowest bit up that an undefined one can reach; a defined zero factor decides.
uint64_t undefined_product(MaskedBits a, MaskedBits b);
/// a * b + c.
uint64_t undefined_sum_of_product(MaskedBits a, MaskedBits b, MaskedBits c);

/// Of the value that an atomic leaves in memory; `a` and `b` are its operands.
uint64_t undefined_atomic(Atom operation, Type type, MaskedBits old, MaskedBits a, MaskedBits b);

/// Of Trail::place: the lane has exited, or the block has none such.
inline constexpr uint64_t kExitedLane = 32;

/// Where an undefined value was first read, and the sites that handed it on.
struct Trail {
  enum class Source : uint8_t {
    unknown,
    unset_register,  ///< `place` is its flag index
    memory,          ///< `place` is the address in `space`
    pending_copy,    ///< the same, of bytes that a cp.async writes at its wait
    absent_lane,     ///< a shuffle from lane `place` & 31, which takes no part; | kExitedLane
    ended_object,    ///< the bytes of an mbarrier after .inval
  };
  Source source = Source::unknown;
  Space space = Space::generic;
  uint8_t passed = 0;      ///< sites in `sites`
  bool shortened = false;  ///< older ones fell out
  int32_t site = -1;
  int32_t thread = -1;  ///< linear, in its block
  int64_t block = -1;   ///< linear
  uint64_t place = 0;
  std::array<int32_t, 4> sites{};  ///< the last ones that handed the value on, oldest first

  /// The value goes through an instruction that has not handed it on yet.
  void pass(int32_t through);
  /// Whether another value, of another lane it may be, took the same way.
  bool came_as(const Trail& other) const {
    return site == other.site && passed == other.passed && sites == other.sites;
  }
  /// Takes over the way of another value that began at the same site.
  void go_as(const Trail& other) {
    passed = other.passed;
    shortened = other.shortened;
    sites = other.sites;
  }
};

/// By lane.
using TrailRow = std::array<Trail, kLanes>;

/// What lanes give to an instruction of several: undefined bits, and for those that have any where
/// they come from.
struct UndefinedLanes {
  uint32_t mask = 0;
  std::array<uint64_t, kLanes> bits{};
  std::vector<Trail> trails;  ///< by lane; empty while `mask` is 0
};

/// The registers that make a result undefined, by flag index, and the lanes in which they are.
class UndefinedSources {
 public:
  struct One {
    uint32_t flag = 0;
    uint32_t lanes = 0;
  };
  void add(uint32_t flag, uint32_t lanes) {
    if (lanes != 0 && count_ < of_.size()) of_[count_++] = {flag, lanes};
  }
  uint32_t lanes() const {
    uint32_t all = 0;
    for (const One& one : *this) all |= one.lanes;
    return all;
  }
  const One* begin() const { return of_.data(); }
  const One* end() const { return of_.data() + count_; }

 private:
  std::array<One, 8> of_{};
  size_t count_ = 0;
};

}  // namespace assay::ptx
