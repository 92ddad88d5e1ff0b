// Which bytes of its outputs a kernel wrote, told without seeing its stores: a byte that equals its
// poison in every run, each over another poison, was not written.
//
// Two runs do for a kernel that gives the same bytes each time. One that appends through an atomic
// counter does not: of 10^6 bytes in another order each time, sixteen equal their poison twice by
// chance. So runs go on while bytes are left that may be such.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace assay::cuda {

/// A run's poison is the case's, each byte exclusive-or its mask. The second is the complement, so
/// that two runs settle every byte of an output that does not change; no two masks are equal, so
/// that a byte which takes two values at most is settled by three.
inline constexpr std::array<uint8_t, 8> kPoisonMasks{0x00, 0xff, 0x55, 0xaa,
                                                     0x0f, 0xf0, 0x33, 0xcc};

/// Sets `written` of those bytes that a run over `poison` ^ `mask` left different from it.
inline void mark_written(std::span<const uint8_t> poison, uint8_t mask, const uint8_t* held,
                         uint8_t* written) {
  for (size_t i = 0; i < poison.size(); ++i) {
    written[i] |= static_cast<uint8_t>(held[i] != static_cast<uint8_t>(poison[i] ^ mask));
  }
}

/// Whether another run is worth its time.
class PoisonRuns {
 public:
  /// Of the run that is next.
  uint8_t mask() const { return kPoisonMasks[done_]; }
  bool first() const { return done_ == 0; }

  /// After a run that left `unwritten` bytes of elements unwritten in all runs so far. True: run
  /// again. Bytes that no run writes stay the same in number; when three runs in a row settle none,
  /// one that equals its poison by chance among them has a likelihood of 256^-3.
  bool again(int64_t unwritten) {
    ++done_;
    idle_ = done_ > 2 && unwritten == unwritten_ ? idle_ + 1 : 0;
    unwritten_ = unwritten;
    if (done_ == 1) return true;
    return unwritten > 0 && idle_ < 3 && done_ < kPoisonMasks.size();
  }

 private:
  size_t done_ = 0;
  int idle_ = 0;  ///< runs in a row that settled nothing
  int64_t unwritten_ = -1;
};

}  // namespace assay::cuda
