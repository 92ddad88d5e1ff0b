#include "fuzz/findings.hpp"

#include "tests/fuzz/run_assay.hpp"

namespace assay {
namespace {

Finding finding(const char* kind, int line, const char* message = "") {
  return {"k", kind, kind, "/a/b/k.cu", line, message, {}};
}

TEST(FindingSet, KeepsTheFirstCaseOfEachIdentity) {
  FindingSet set;
  EXPECT_TRUE(set.add(finding("wrap", 3, "late"), 9));
  EXPECT_FALSE(set.add(finding("wrap", 3, "early"), 2));
  EXPECT_TRUE(set.add(finding("wrap", 4), 5));
  const auto all = set.sorted();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].finding.message, "early");
  EXPECT_EQ(all[0].seen, 2);
}

TEST(FindingSet, MergesAlikeInAnyOrder) {
  FindingSet a, b;
  a.add(finding("wrap", 3, "a"), 7);
  b.add(finding("wrap", 3, "b"), 1);
  b.add(finding("race", 3, "c"), 8);
  FindingSet ab = a, ba = b;
  ab.merge(b);
  ba.merge(a);
  ASSERT_EQ(ab.size(), 2u);
  ASSERT_EQ(ba.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(ab.sorted()[i].finding.message, ba.sorted()[i].finding.message);
    EXPECT_EQ(ab.sorted()[i].seen, ba.sorted()[i].seen);
  }
}

TEST(FindingComments, CarryTheStepsAndTheStoredPlaceToWhoReadsTheFile) {
  Finding written = finding("race", 3, "a race");
  Step step{"store", "/a/b/k.cu", 3, 40, "st.shared.f32", {1, 0, 0}, {16, 0, 0}, "48"};
  written.steps = {step, step};
  written.stored_file = "/a/b/k.cu";
  written.stored_line = 9;
  const std::vector<std::string> comments = finding_comments("found by a test", written);
  EXPECT_EQ(comments.back(), "a race");
  Finding read = finding("race", 3);
  read_places(comments, read);
  ASSERT_EQ(read.steps.size(), 2u);
  EXPECT_EQ(read.steps[1].text(),
            "store at k.cu:3 (st.shared.f32) by thread (16,0,0) of block (1,0,0): 48");
  EXPECT_EQ(read.stored_line, 9);
}

TEST(Identity, TellsKernelKindRuleAndPlaceApartButNotFolders) {
  Finding elsewhere = finding("wrap", 3);
  elsewhere.file = "/c/k.cu";
  EXPECT_EQ(elsewhere.identity(), finding("wrap", 3).identity());
  EXPECT_NE(finding("wrap", 3).identity(), finding("wrap", 4).identity());
  EXPECT_EQ(slug(finding("wrap", 3)), "wrap-k.cu-3");
}

TEST(WriteFile, IsWholeOrNotAtAll) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "x.case";
  write_file(path, "first");
  write_file(path, "second");
  EXPECT_EQ(read_text(path), "second");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  EXPECT_THROW(write_file("/dev/full", "x"), InputError);
  EXPECT_THROW(write_file(folder / "none/x.case", "x"), InputError);
}

}  // namespace
}  // namespace assay
