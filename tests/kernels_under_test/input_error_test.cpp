#include "kernels_under_test/input_error.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace assay {
namespace {

TEST(SourceLocation, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ((SourceLocation{"k.toml", 3, 7}.text()), "k.toml:3:7");
  EXPECT_EQ((SourceLocation{"k.toml", 3, 0}.text()), "k.toml:3");
  EXPECT_EQ((SourceLocation{"k.toml", 0, 7}.text()), "k.toml");
  EXPECT_EQ(SourceLocation{}.text(), "");
}

TEST(InputError, StartsWithItsPlace) {
  EXPECT_STREQ(InputError({"k.toml", 3, 7}, "wrong").what(), "k.toml:3:7: wrong");
  EXPECT_STREQ(InputError({}, "wrong").what(), "wrong");
  EXPECT_EQ(InputError({"k.toml", 3, 7}, "wrong").where().line, 3);
}

TEST(EditDistance, CountsInsertionsDeletionsAndSubstitutions) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("cols", "cosl"), 2);
}

TEST(NearestName, GivesNothingWhenNothingIsNear) {
  const std::vector<std::string> names{"rows", "cols", "strides"};
  EXPECT_EQ(nearest_name(std::string("col"), names), "cols");
  EXPECT_EQ(nearest_name(std::string("stride"), names), "strides");
  EXPECT_EQ(nearest_name(std::string("accumulate"), names), "");
  EXPECT_EQ(nearest_name(std::string("rows"), std::vector<std::string>{}), "");
}

}  // namespace
}  // namespace assay
