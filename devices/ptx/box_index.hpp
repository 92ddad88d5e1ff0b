// Whether an element lies in one of many boxes: a block of a grid-stride loop owns thousands.
#pragma once

#include <cstdint>
#include <vector>

#include "generators/instance.hpp"

namespace assay::ptx {

class BoxIndex {
 public:
  explicit BoxIndex(std::vector<Box> boxes);

  /// `at`: one coordinate a dimension of the boxes. Elements that follow each other mostly lie in
  /// one box, which is looked at first.
  bool contains(const std::vector<int64_t>& at);

 private:
  std::vector<Box> boxes_;     ///< ascending by where they begin along `axis_`
  std::vector<int64_t> ends_;  ///< along `axis_`, the farthest end of the boxes up to each
  size_t axis_ = 0;            ///< the dimension along which most boxes begin at different places
  size_t last_ = 0;            ///< the box that held the element before
};

}  // namespace assay::ptx
