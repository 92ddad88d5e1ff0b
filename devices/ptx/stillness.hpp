// Proof that a launch hangs: from some moment on nothing changes but the registers of spinning
// lanes, and those come back to values that they had.
//
// While memory is constant, what a warp does depends on its own registers alone. A warp whose
// registers, masks and places recur while no byte of memory changed, no lane exited and no clock
// was read goes round for ever; when every resident warp does, no schedule gets any of them
// further. A loop that counts its turns does not recur: such a hang costs the instruction budget.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace assay::ptx {

struct BlockState;
struct WarpState;
struct BarrierState;

class Stillness {
 public:
  Stillness();
  ~Stillness();

  /// A block began or ended.
  void restart();
  /// Memory changed, a lane exited, or a lane learnt what is not in its registers.
  void disturb() { watching_ = false; }
  /// A barrier let its warps go: from here on warps must recur at one moment.
  void barrier_released() { ++releases_; }
  /// Whether stores and atomics have to tell if they change a byte (then: disturb()).
  bool watching() const { return watching_; }

  /// After each of `blocks` had its turn. True: none can progress, whatever the order.
  /// `frame_bytes`: of a warp's registers.
  bool after_round(const std::deque<std::unique_ptr<BlockState>>& blocks, int64_t frame_bytes);

 private:
  struct WarpPicture {
    std::vector<int32_t> places;  ///< of its groups, and other small state
    std::vector<uint8_t> frame;
    std::vector<std::pair<uint32_t, uint32_t>> epochs;  ///< mask and epoch of groups that can run
    bool recurred = false;
  };
  struct BlockPicture {
    std::vector<BarrierState> barriers;
    std::vector<std::array<uint32_t, 16>> barrier_masks;
    std::vector<WarpPicture> warps;
  };

  void take(const std::deque<std::unique_ptr<BlockState>>& blocks, int64_t frame_bytes);
  bool recurs(const WarpState& warp, const WarpPicture& then) const;

  bool watching_ = false;
  int64_t releases_ = 0;
  int64_t releases_then_ = 0;
  int64_t rounds_ = 0;  ///< since a block began or ended
  int64_t next_ = 1;    ///< the round whose picture is taken: powers of two, as in Brent's search
  std::vector<BlockPicture> pictures_;
};

}  // namespace assay::ptx
