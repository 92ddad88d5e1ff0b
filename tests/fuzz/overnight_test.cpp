#include "fuzz/overnight.hpp"

#include <gtest/gtest.h>

#include "fuzz/findings.hpp"
#include "tests/fuzz/run_assay.hpp"

namespace assay {
namespace {

using testing::TemporaryFolder;

TEST(FuzzState, ReadsWhatItWrote) {
  const TemporaryFolder folder;
  const FuzzFolders folders{folder.path()};
  EXPECT_TRUE(read_state(folders).empty());
  write_state(folders, {{"a", {10, 1, 2, 3.5, 0.25}}, {"b", {}}});
  const FuzzState state = read_state(folders);
  ASSERT_EQ(state.size(), 2u);
  EXPECT_EQ(state.at("a").executions, 10);
  EXPECT_EQ(state.at("a").skipped, 1);
  EXPECT_EQ(state.at("a").faults, 2);
  EXPECT_DOUBLE_EQ(state.at("a").seconds, 3.5);
  EXPECT_DOUBLE_EQ(state.at("a").recent_rate, 0.25);
}

TEST(FuzzState, SaysWhereItIsDamaged) {
  const TemporaryFolder folder;
  folder.write("state.txt", "assay fuzz state 1\na 1 2\n");
  try {
    read_state({folder.path()});
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("state.txt:2:1"), std::string::npos) << error.what();
  }
}

TEST(NextKernel, VisitsEachOnceFirst) {
  FuzzState state{{"a", {}}, {"b", {}}, {"c", {}}};
  std::map<std::string, int> running;
  std::set<std::string> chosen;
  for (int i = 0; i < 3; ++i) {
    const std::string kernel = next_kernel(state, running);
    chosen.insert(kernel);
    ++running[kernel];
  }
  EXPECT_EQ(chosen.size(), 3u);
}

/// Slices that each kernel gets of `count`, when `rates` inputs a second are kept in it.
std::map<std::string, int> share_slices(std::map<std::string, double> rates, int count) {
  FuzzState state;
  for (const auto& [kernel, rate] : rates) state[kernel] = {};
  std::map<std::string, int> slices;
  for (int i = 0; i < count; ++i) {
    const std::string kernel = next_kernel(state, {});
    ++slices[kernel];
    state[kernel].executions += 100;
    book_slice(state[kernel], 10, static_cast<int64_t>(10 * rates[kernel]));
  }
  return slices;
}

TEST(NextKernel, GivesMoreTimeToWhatYieldsMoreButStarvesNone) {
  const auto slices = share_slices({{"busy", 9}, {"quiet", 1}, {"dry", 0}}, 300);
  EXPECT_GT(slices.at("busy"), slices.at("quiet"));
  EXPECT_GT(slices.at("quiet"), slices.at("dry"));
  EXPECT_GE(slices.at("dry"), 300 / 3 / 5 - 2);  // a fifth of an even share
}

TEST(NextKernel, SharesAlikeWhenNothingIsNew) {
  const auto slices = share_slices({{"a", 0}, {"b", 0}, {"c", 0}}, 300);
  for (const auto& [kernel, count] : slices) EXPECT_NEAR(count, 100, 1) << kernel;
}

TEST(DiskCap, DeletesTheOldestInputsAndNoFinding) {
  const TemporaryFolder folder;
  const FuzzFolders folders{folder.path()};
  const std::string kilobyte(1024, 'x');
  for (int i = 0; i < 20; ++i) {
    const std::string path = folder.write("corpus/k/" + std::to_string(i) + ".case", kilobyte);
    std::filesystem::last_write_time(
        path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(100 - i));
  }
  folder.write("findings/k/a.case", kilobyte);
  EXPECT_EQ(enforce_disk_cap(folders, 1 << 20), 0);
  EXPECT_GT(enforce_disk_cap(folders, 10 * 1024), 9);
  EXPECT_LE(bytes_below(folder.path()), 10 * 1024);
  EXPECT_FALSE(std::filesystem::exists(folders.corpus("k") + "/0.case"));
  EXPECT_TRUE(std::filesystem::exists(folders.corpus("k") + "/19.case"));
  EXPECT_TRUE(std::filesystem::exists(folders.findings("k") + "/a.case"));
}

}  // namespace
}  // namespace assay
