// Planted pairs as data: what `fault.pair` may say, and that every shipped one says it.
#include "fuzz/planted_pair.hpp"

#include <map>
#include <regex>
#include <set>

#include "compilers/program.hpp"
#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

const std::string kPlanted = std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/planted";

std::vector<PlantedPair> shipped_pairs() {
  std::vector<PlantedPair> pairs;
  for (const std::string& root : {kPlanted, kPlanted + "_open"}) {
    for (const std::string& folder : pair_folders(root)) pairs.push_back(load_pair(folder));
  }
  return pairs;
}

std::string whole(const std::string& path) {
  return read_whole(std::string(ASSAY_SOURCE_DIR) + "/" + path);
}

TEST(PlantedPairs, EachNamesRulesAndKernelsThatExist) {
  const std::string rules = whole("oracles/RULES.md");
  const std::string helpers = whole("kernels_under_test/kernels/device_helpers.cuh");
  for (const PlantedPair& pair : shipped_pairs()) {
    const PlantedFault& fault = pair.fault;
    for (const ExpectedFinding& one : fault.expected) {
      if (one.check[0] != 'R') continue;
      EXPECT_NE(rules.find("- **" + one.check + ","), std::string::npos)
          << pair.name << ": " << one.check;
    }
    const std::string& kernel = fault.mutation_of;
    if (kernel.empty()) continue;
    const std::string stem =
        std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/" + kernel;
    EXPECT_TRUE(fs::exists(stem + ".cu") || fs::exists(stem + ".toml") ||
                helpers.find(" " + kernel + "(") != std::string::npos)
        << pair.name << ": " << kernel;
  }
}

/// Lines that the line table of a program names, in any of its files.
std::set<int> lines_of(const std::string& ptx) {
  std::set<int> lines;
  const std::regex location(R"(\.loc\s+\d+\s+(\d+))");
  for (std::sregex_iterator at(ptx.begin(), ptx.end(), location), end; at != end; ++at) {
    lines.insert(std::stoi((*at)[1]));
  }
  return lines;
}

TEST(PlantedPairs, ExpectedLinesAreTheEntrysOrHoldInstructions) {
  for (const PlantedPair& pair : shipped_pairs()) {
    const Contract& bug = *pair.bug;
    std::set<int> lines{find_entry_line(bug.source.path, bug.source.entry)};
    const Variant variant = instantiate(bug, pair.witness).the_case.variant();
    for (size_t launch = 0; launch < bug.launches.size(); ++launch) {
      lines.merge(lines_of(compile(bug, variant, static_cast<int>(launch)).ptx));
    }
    for (const ExpectedFinding& one : pair.fault.expected) {
      if (one.file != fs::path(bug.source.path).filename()) continue;
      EXPECT_TRUE(lines.contains(one.line)) << pair.name << ": line " << one.line;
    }
  }
}

/// The row of a pair in planted/README.md.
std::string readme_row(const PlantedPair& pair) {
  return "| " + std::to_string(pair.fault.fault_class) + " | " + pair.name + " | " +
         pair.fault.origin() + " | " + pair.fault.text + " | " + pair.fault.checks() + " |\n";
}

TEST(PlantedPairs, TheReadmeListsThemAsTheyAre) {
  const std::string readme = whole("kernels_under_test/planted/README.md");
  std::map<int, int> of_class;
  int from_reports = 0, mutations = 0, forms = 0;
  for (const std::string& folder : pair_folders(kPlanted)) {
    const PlantedPair pair = load_pair(folder);
    EXPECT_NE(readme.find(readme_row(pair)), std::string::npos) << readme_row(pair);
    ++of_class[pair.fault.fault_class];
    from_reports += !pair.fault.reports.empty();
    mutations += !pair.fault.mutation_of.empty();
    forms += !pair.fault.form.empty();
  }
  const int all = from_reports + mutations + forms;
  for (const auto& [fault_class, count] : of_class) {
    const std::string row = "| " + std::to_string(fault_class) + ": " +
                            fault_class_name(fault_class) + " | " + std::to_string(count) + " |\n";
    EXPECT_NE(readme.find(row), std::string::npos) << row;
  }
  const std::string counts = std::to_string(all) + " small kernels";
  EXPECT_NE(readme.find(counts), std::string::npos) << counts;
  const std::regex breaks(R"(\s+)");
  const std::string root = std::regex_replace(whole("README.md"), breaks, " ");
  const std::string said = std::to_string(all) +
                           " planted bugs, each beside a correct twin, " +
                           std::to_string(from_reports) + " modelled on public field reports, " +
                           std::to_string(mutations) + " mutations of our own kernels and " +
                           std::to_string(forms) + " of known forms";
  EXPECT_NE(root.find(said), std::string::npos) << said;
}

/// A pair around one `fault.pair`; its bug's store stands in line 4.
struct PairFolder {
  TemporaryFolder folder;
  explicit PairFolder(const std::string& fault) {
    folder.write("buggy.cu", buggy_source());
    folder.write("scale_rows.cu", kScaleSource);
    folder.write("buggy.toml", replaced(kScaleContract, "scale_rows.cu", "buggy.cu"));
    folder.write("twin.toml", kScaleContract);
    folder.write("witness.case", kScaleCase);
    folder.write("fault.pair", fault);
  }
  std::string error() const {
    try {
      load_pair(folder.path());
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  }
};

constexpr const char* kFault = R"toml(class = 3
reports = ["owner/project#12", "other/one.two#3"]
fault = "the last element is left out"
seen = [
  { by = "R1", at = "__global__ void scale_rows(T* y, const T* x, int n) {" },
  { by = ["R4", "wrap"], at = "if (i < n - 1) y[i] = x[i] + x[i];" },
  { by = "launch_limit", in = "buggy.toml", at = 'types = { T = ["f32"] }' },
]
)toml";

TEST(PlantedPairs, AFaultIsReadWithItsLines) {
  const PairFolder project(kFault);
  const PlantedFault fault = load_pair(project.folder.path()).fault;
  EXPECT_EQ(fault.fault_class, 3);
  EXPECT_EQ(fault.origin(), "owner/project#12");
  EXPECT_EQ(fault.reports.size(), 2u);
  EXPECT_EQ(fault.checks(), "R1, R4, wrap, launch_limit");
  ASSERT_EQ(fault.expected.size(), 4u);
  EXPECT_EQ(fault.expected[0].line, 2);
  EXPECT_EQ(fault.expected[1].line, 4);
  EXPECT_EQ(fault.expected[3].file, "buggy.toml");
  EXPECT_EQ(fault.expected[3].line, 3);

  Finding finding;
  finding.kind = "mismatch";
  finding.rule = "R4";
  finding.file = finding.stored_file = "/somewhere/buggy.cu";
  finding.line = 2;
  EXPECT_TRUE(fault.expects_check(finding));
  EXPECT_FALSE(fault.expects(finding)) << "the line of another check";
  finding.stored_line = 4;
  EXPECT_TRUE(fault.expects(finding)) << "a mismatch is where its element was stored";
  finding.stored_file = "/somewhere/other.cu";
  EXPECT_FALSE(fault.expects(finding));
  finding.kind = finding.rule = "race";
  EXPECT_FALSE(fault.expects_check(finding));
  finding.kind = "launch_limit";
  finding.rule = "grid.y";  // of a checker the kind counts
  EXPECT_TRUE(fault.expects_check(finding));
}

TEST(PlantedPairs, ErrorsNameThePlace) {
  const struct {
    const char *from, *to, *place, *message;
  } kErrors[] = {
      {"class = 3", "class = 14", "fault.pair:1:9", "classes are 1 to 13"},
      {"class = 3", "klass = 3", "fault.pair:1:1", "unknown key 'klass'"},
      {"class = 3\n", "", "fault.pair", "needs 'class'"},
      {"owner/project#12", "owner/project", "fault.pair:2:13", "owner/repository#number"},
      {"fault =", "form = \"a lock\"\nfault =", "fault.pair", "one of 'reports'"},
      {"\"R1\"", "\"R0\"", "fault.pair:5:11", "no check 'R0'"},
      {"\"wrap\"", "\"wrp\"", "fault.pair:6:18", "did you mean 'wrap'?"},
      {"i < n - 1", "i < n", "fault.pair:6:32", "no line of buggy.cu reads so"},
      {"\"buggy.toml\"", "\"none.toml\"", "none.toml", "cannot read"},
  };
  for (const auto& [from, to, place, message] : kErrors) {
    const std::string error = PairFolder(replaced(kFault, from, to)).error();
    EXPECT_NE(error.find(place), std::string::npos) << to << ": " << error;
    EXPECT_NE(error.find(message), std::string::npos) << to << ": " << error;
  }
  const std::string none = "class = 3\nform = \"a\"\nfault = \"b\"\nseen = []\n";
  EXPECT_NE(PairFolder(none).error().find("fault.pair:4:8"), std::string::npos);
}

}  // namespace
}  // namespace assay::testing
