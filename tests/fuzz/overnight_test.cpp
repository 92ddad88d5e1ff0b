#include "fuzz/overnight.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "fuzz/findings.hpp"
#include "fuzz/log.hpp"
#include "tests/fuzz/run_assay.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using testing::kScaleCase;
using testing::kScaleContract;
using testing::Project;
using testing::TemporaryFolder;

TEST(FuzzState, ReadsWhatItWrote) {
  const TemporaryFolder folder;
  const FuzzFolders folders{folder.path()};
  EXPECT_TRUE(read_state(folders).empty());
  write_state(folders, {{"a", {10, 1, 2, 3.5, 0.25, "/k/a b.toml"}}, {"b", {}}});
  const FuzzState state = read_state(folders);
  ASSERT_EQ(state.size(), 2u);
  EXPECT_EQ(state.at("a").executions, 10);
  EXPECT_EQ(state.at("a").skipped, 1);
  EXPECT_EQ(state.at("a").faults, 2);
  EXPECT_DOUBLE_EQ(state.at("a").seconds, 3.5);
  EXPECT_DOUBLE_EQ(state.at("a").recent_rate, 0.25);
  EXPECT_EQ(state.at("a").contract, "/k/a b.toml");
  EXPECT_EQ(state.at("b").contract, "");
}

TEST(FuzzState, ADamagedLineIsLeftOutAndNamed) {
  const TemporaryFolder folder;
  folder.write("state.txt", "assay fuzz state 1\na 1 2\nb 10 1 2 3.5 0.25\n");
  std::ostringstream err;
  const LogTo log_to(err);
  const FuzzState state = read_state({folder.path()});
  EXPECT_FALSE(state.contains("a"));
  EXPECT_EQ(state.at("b").executions, 10);
  EXPECT_NE(err.str().find("state.txt:2: expected kernel, executions"), std::string::npos)
      << err.str();
}

TEST(FuzzState, AFileThatIsNoStateIsRefused) {
  const TemporaryFolder folder;
  folder.write("state.txt", "something else\n");
  EXPECT_THROW(read_state({folder.path()}), InputError);
}

TEST(FuzzFolder, IsOneContractsAndOneRunsAtATime) {
  const Project p;
  const std::string other = p.folder.write("other.toml", kScaleContract);
  const FuzzFolders folders{p.out};
  make_folder(p.out);
  const auto contract = load_kernels({p.contract}).front();
  const FuzzState state{{"scale_rows", {1, 0, 0, 1, 0, other}}};
  EXPECT_THROW(check_same_contracts(state, folders, {contract}), InputError);
  EXPECT_NO_THROW(
      check_same_contracts({{"scale_rows", {1, 0, 0, 1, 0, p.contract}}}, folders, {contract}));
  fs::remove(other);
  EXPECT_NO_THROW(check_same_contracts(state, folders, {contract})) << "it has moved";

  const FolderLock lock(folders.lock());
  EXPECT_THROW(FolderLock{folders.lock()}, InputError);
}

TEST(FuzzFolder, DamagedCasesAreNamed) {
  const Project p;
  const FuzzFolders folders{p.out};
  EXPECT_EQ(damaged_files(folders, "scale_rows"), "");
  p.folder.write("out/corpus/scale_rows/good", kScaleCase);
  EXPECT_EQ(damaged_files(folders, "scale_rows"), "");
  p.folder.write("out/corpus/scale_rows/bad", "assay-case 1\nrubbish\n");
  p.folder.write("out/findings/scale_rows/worse.case", "rubbish");
  const std::string text = damaged_files(folders, "scale_rows");
  EXPECT_NE(text.find("corpus/scale_rows/bad:2"), std::string::npos) << text;
  EXPECT_NE(text.find("1 more file"), std::string::npos) << text;
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
