#include "generators/case.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace {

const char* const kFull = R"(assay-case 1
# why this entry exists
#
# a second paragraph
kernel softmax
types Q=e4m3 T=f16
sizes cols=1000 rows=8
knobs BLOCK=256
flags causal=1
scalars eps=1
layout x strides=1024,1 offset=1 misalign=2
layout y
values w uniform
values x normal mean=-0.25 scale=3
seeds values=0x1f blocks=0x0 warps=0x7
blocks 0,5,7-9
set x[3,17] = nan
set x[3,18] = 0x7e01
set s[] = -1.5e-3
property rows_independent(rows) count=1 first=17
recorded kind=mismatch rule=R3 at=softmax.cu:41
compiler nvrtc 13.0 sm_80
program 0123456789abcdef
end
)";

TEST(CaseText, ReadsEveryPart) {
  const Case c = parse_case(kFull, "f.case");
  EXPECT_EQ(c.kernel, "softmax");
  EXPECT_EQ(c.types.at("T"), DType::f16);
  EXPECT_EQ(c.sizes.at("cols"), 1000);
  EXPECT_EQ(c.layouts.at("x"), (Layout{{1024, 1}, 1, 2}));
  EXPECT_EQ(c.layouts.at("y"), Layout{});
  EXPECT_EQ(c.values.at("x").parameters.at(1).second, 3.0);
  EXPECT_EQ(c.value_seed, 0x1fu);
  EXPECT_EQ(c.warp_seed, 7u);
  EXPECT_EQ(c.blocks, (std::vector<int64_t>{0, 5, 7, 8, 9}));
  ASSERT_EQ(c.overrides.size(), 3u);
  EXPECT_EQ(c.overrides[0].text, "nan");
  EXPECT_EQ(c.overrides[1].bits, 0x7e01u);
  EXPECT_TRUE(c.overrides[2].at.empty());
  EXPECT_EQ(c.property.name, "rows_independent");
  EXPECT_EQ(c.property.of, "rows");
  EXPECT_EQ(c.property.numbers.at("first"), 17);
  EXPECT_EQ(c.recorded.line, 41);
  EXPECT_EQ(c.recorded.compiler, "nvrtc 13.0 sm_80");
  EXPECT_EQ(c.comments.size(), 3u);
}

TEST(CaseText, PrintsWhatItRead) {
  EXPECT_EQ(print_case(parse_case(kFull, "f.case")), kFull);
  const Case c = parse_case(kFull, "f.case");
  EXPECT_EQ(parse_case(print_case(c), "again"), c);
}

TEST(CaseText, ReadsAPropertysPoison) {
  const std::string text = "assay-case 1\nkernel k\nproperty padding_free poison=one\nend\n";
  const Case c = parse_case(text, "f");
  EXPECT_EQ(c.property.poison, "one");
  EXPECT_TRUE(c.property.of.empty());
  EXPECT_EQ(print_case(c), text);
}

TEST(CaseText, AcceptsLooseLayout) {
  const Case loose = parse_case(
      "assay-case 1\r\n  \n  kernel   k # trailing\r\n\tsizes n=0x10   m=-3\nblocks "
      "9,1-3,2\nend\n\n",
      "f");
  EXPECT_EQ(loose.sizes.at("n"), 16);
  EXPECT_EQ(loose.sizes.at("m"), -3);
  EXPECT_EQ(loose.blocks, (std::vector<int64_t>{1, 2, 3, 9}));
}

struct Bad {
  const char* text;
  const char* message;
};

class BadCaseText : public testing::TestWithParam<Bad> {};

TEST_P(BadCaseText, IsOneClearErrorAtItsPlace) {
  try {
    parse_case(GetParam().text, "f");
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), GetParam().message);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, BadCaseText,
    testing::Values(
        Bad{"", "f:1:1: not a case: the file is empty"},
        Bad{"\x7f"
            "ELF\x01",
            "f:1:1: not a case: the first line must be 'assay-case 1'"},
        Bad{"assay-case 2\n", "f:1:1: case format '2' is not known; this build reads 1"},
        Bad{"assay-case 1\nkernel k\n", "f:2:1: the case has no 'end' line: it is cut short"},
        Bad{"assay-case 1\nkernel k\nsizes rows=8 co", "f:3:16: expected '=' after the name"},
        Bad{"assay-case 1\nend\n", "f:2:1: a case needs a line 'kernel NAME'"},
        Bad{"assay-case 1\nkernel k\nend\nmore\n", "f:4:1: text after 'end'"},
        Bad{"assay-case 1\nkernel k\nsize n=1\nend\n",
            "f:3:1: unknown keyword 'size' (did you mean 'sizes'?)"},
        Bad{"assay-case 1\nkernel k\nkernel j\nend\n", "f:3:1: 'kernel' is given twice"},
        Bad{"assay-case 1\nkernel k\nsizes n=1 n=2\nend\n",
            "f:3:11: 'sizes.n' is given twice (first in line 3)"},
        Bad{"assay-case 1\nkernel k\nsizes n=1x\nend\n", "f:3:9: expected a whole number"},
        Bad{"assay-case 1\nkernel k\nscalars eps=0.5\nend\n",
            "f:3:13: expected a whole number: the place, from 0 on, in the list of the contract's "
            "`value` of 'eps'"},
        Bad{"assay-case 1\nkernel k\nsizes n=99999999999999999999\nend\n",
            "f:3:9: an integer does not fit 64 bits"},
        Bad{"assay-case 1\nkernel k\ntypes T=f15\nend\n", "f:3:9: unknown type 'f15'"},
        Bad{"assay-case 1\nkernel k\nlayout x stride=1\nend\n",
            "f:3:10: unknown layout key 'stride'; expected strides=, offset= or misalign="},
        Bad{"assay-case 1\nkernel k\nvalues x normal scale=nan\nend\n",
            "f:3:23: a number cannot be nan"},
        Bad{"assay-case 1\nkernel k\nproperty rows_independent(rows count=1\nend\n",
            "f:3:31: expected ')' after the property's argument"},
        Bad{"assay-case 1\nkernel k\nproperty repeatable blocks=\nend\n",
            "f:3:28: expected an integer"},
        Bad{"assay-case 1\nkernel k\nproperty repeatable blocks=1 blocks=2\nend\n",
            "f:3:30: 'property.blocks' is given twice (first in line 3)"},
        Bad{"assay-case 1\nkernel k\nblocks 5-2\nend\n",
            "f:3:8: a range of blocks runs from low to high"},
        Bad{"assay-case 1\nkernel k\nblocks 0-9223372036854775807\nend\n",
            "f:3:8: more than 1048576 blocks named"},
        Bad{"assay-case 1\nkernel k\nset x[1,2 = 3\nend\n",
            "f:3:11: expected ']' after the coordinates"},
        Bad{"assay-case 1\nkernel k\nset x[1] = abc\nend\n",
            "f:3:12: expected a number, inf, nan or hex bits, got 'abc'"},
        Bad{"assay-case 1\nkernel k\nset x[1] = 0x11112222333344445\nend\n",
            "f:3:12: expected at most 16 hex digits, got '0x11112222333344445'"},
        Bad{"assay-case 1\nkernel k\nrecorded kind=mismatch at=x.cu\nend\n",
            "f:3:24: expected at=FILE:LINE"},
        Bad{"assay-case 1\nkernel k\nseeds value=1\nend\n",
            "f:3:7: unknown seed 'value'; expected values=, blocks= or warps="}));

TEST(CaseText, EveryTruncationIsAnError) {
  const std::string text = kFull;
  // Without the last line break the text is still whole.
  for (size_t length = 0; length + 1 < text.size(); ++length) {
    EXPECT_THROW(parse_case(text.substr(0, length), "f"), InputError) << length;
  }
}

}  // namespace
}  // namespace assay
