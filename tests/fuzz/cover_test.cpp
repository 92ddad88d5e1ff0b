// `assay cover`: what it counts of a user's kernel, and how it is shown as text, JSON and a page.
#include "fuzz/cover.hpp"

#include <nlohmann/json.hpp>
#include <regex>

#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

/// A branch that no admitted size reaches, a guarded load, and text that is markup in HTML.
constexpr const char* kSource = R"(// <script>alert("x & y")</script>
template <typename T>
__global__ void scale_rows(T* y, const T* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (n > 100000) {
    y[i] = 7.5f;
  }
  if (i < n) y[i] = x[i] + x[i];
}
)";

struct CoverProject : Project {
  CoverProject() { folder.write("scale_rows.cu", kSource); }
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The printed line of a source line.
std::string line_of(const std::string& text, int number) {
  const std::string wanted = " " + std::to_string(number) + " |";
  for (const std::string& line : lines_of(text)) {
    if (line.find(wanted) != std::string::npos) return line;
  }
  ADD_FAILURE() << "no line " << number << " in\n" << text;
  return "";
}

TEST(Cover, TheSourceWithWhatWasReachedBesideIt) {
  const CoverProject p;
  const Outcome o = run_assay({"cover", p.contract, "--cases", "60"});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_NE(o.out.find("\n" + p.source + "\n"), std::string::npos) << o.out;
  EXPECT_EQ(line_of(o.out, 1).find_first_not_of(' '), line_of(o.out, 1).find("1 |"))
      << "a comment has no counts";
  const std::string missed = line_of(o.out, 6);
  EXPECT_TRUE(std::regex_search(missed, std::regex("^!  never +0/\\d+ +[-.]\\.\\. +\\.\\. +6 \\|")))
      << missed;
  const std::string hit = line_of(o.out, 8);
  EXPECT_TRUE(std::regex_search(hit, std::regex("^ +[1-9]\\d* +(\\d+)/\\1 .* FL +Z[sS]N[bB.][iI][qQ] +8 \\|")))
      << hit;
  EXPECT_NE(o.out.find("never reached: scale_rows.cu:6\n"), std::string::npos) << o.out;
  EXPECT_TRUE(std::regex_search(o.out, std::regex("\nblocks (\\d+) of (\\d+), edges (\\d+) of (\\d+)\n")));
  EXPECT_NE(o.out.find("60 cases of scale_rows, 1 of 1 variant reached"), std::string::npos) << o.out;
}

TEST(Cover, EqualSeedsPrintEqualTextWhateverTheJobs) {
  const CoverProject p;
  const auto text = [&](const char* jobs) {
    const Outcome o =
        run_assay({"cover", p.contract, "--cases", "40", "--seed", "5", "--jobs", jobs});
    return std::regex_replace(o.out, std::regex("in [0-9.]+ s"), "in - s");
  };
  EXPECT_EQ(text("1"), text("3"));
}

TEST(Cover, TheSameAsData) {
  const CoverProject p;
  const Outcome o = run_assay({"cover", p.contract, "--cases", "60", "--json"});
  ASSERT_EQ(o.status, 0) << o.err;
  const auto json = nlohmann::json::parse(o.out);
  EXPECT_EQ(json.at("command"), "cover");
  EXPECT_EQ(json.at("kernel"), "scale_rows");
  EXPECT_EQ(json.at("contract"), p.contract);
  EXPECT_EQ(json.at("cases"), 60);
  EXPECT_EQ(json.at("variants"), 1);
  EXPECT_TRUE(json.at("findings").empty());
  EXPECT_EQ(json.at("skipped"), 0);
  EXPECT_EQ(json.at("exit"), 0);
  const auto& totals = json.at("totals");
  EXPECT_LT(totals.at("blocks").at("reached"), totals.at("blocks").at("of"));
  EXPECT_LT(totals.at("edges").at("reached"), totals.at("edges").at("of"));
  ASSERT_EQ(json.at("files").size(), 1u);
  EXPECT_EQ(json.at("files")[0].at("file"), p.source);
  std::map<int, nlohmann::json> lines;
  int64_t stores = 0;
  for (const auto& line : json.at("files")[0].at("lines")) {
    lines[line.at("line")] = line;
    stores += line.at("lanes").value("all_lanes", nlohmann::json{{"of", 0}}).at("of").get<int64_t>();
  }
  EXPECT_FALSE(lines.contains(1));
  EXPECT_EQ(lines.at(6).at("hits"), 0);
  EXPECT_EQ(lines.at(6).at("blocks").at("reached"), 0);
  EXPECT_GT(lines.at(8).at("hits"), 0);
  EXPECT_EQ(lines.at(8).at("ends").at("last_element").at("reached"), 2) << "of load and store";
  EXPECT_EQ(lines.at(8).at("results").at("zero"), (nlohmann::json{{"reached", 1}, {"of", 1}}));
  EXPECT_EQ(stores, totals.at("lanes").at("all_lanes").at("of"));
}

TEST(Cover, ThePageStandsAloneAndIsEscaped) {
  CoverProject p;
  const std::string odd = p.folder.write("a&b<i>/scale_rows.toml", kScaleContract);
  p.folder.write("a&b<i>/scale_rows.cu", kSource);
  const std::string page = p.folder / "cover.html";
  const Outcome o = run_assay({"cover", odd, "--cases", "60", "--html", page});
  ASSERT_EQ(o.status, 0) << o.err;
  const std::string html = read_whole(page);
  EXPECT_TRUE(html.starts_with("<!DOCTYPE html>")) << html.substr(0, 80);
  EXPECT_TRUE(html.ends_with("</html>\n"));
  EXPECT_NE(html.find("&lt;script&gt;alert(&quot;x &amp; y&quot;)&lt;/script&gt;"),
            std::string::npos);
  EXPECT_NE(html.find("/a&amp;b&lt;i&gt;/scale_rows.cu"), std::string::npos);
  for (const char* bad : {"<script", "<i>", "http", "src=", "href=", "@import", "url("}) {
    EXPECT_EQ(html.find(bad), std::string::npos) << bad;
  }
  EXPECT_NE(html.find("prefers-color-scheme: dark"), std::string::npos);
  EXPECT_TRUE(std::regex_search(html, std::regex("<tr class=\"never\"><td>never</td>.*>6</td>")));
  EXPECT_TRUE(std::regex_search(html, std::regex("<tr class=\"hit\"><td>\\d+</td>.*>8</td>")));
  const auto count = [&](const std::string& what) {
    size_t n = 0;
    for (size_t at = html.find(what); at != std::string::npos; at = html.find(what, at + 1)) ++n;
    return n;
  };
  for (const char* tag : {"table", "tr", "td", "th", "div", "ul", "li", "p"}) {
    EXPECT_EQ(count(std::string("<") + tag + ">") + count(std::string("<") + tag + " "),
              count(std::string("</") + tag + ">"))
        << tag;
  }
  EXPECT_NE(o.out.find("60 cases"), std::string::npos) << "the text is printed as well";
}

TEST(Cover, FindingsOnTheWayAreCounted) {
  const Project p;
  p.folder.write("scale_rows.cu", buggy_source());
  const Outcome o = run_assay({"cover", p.contract, "--cases", "40"});
  EXPECT_EQ(o.status, 1) << o.err;
  EXPECT_NE(o.out.find("1 finding on the way: `assay smoke " + p.contract + "` shows what\n"),
            std::string::npos)
      << o.out;
  const Outcome data = run_assay({"cover", p.contract, "--cases", "40", "--json"});
  EXPECT_EQ(data.status, 1);
  const auto json = nlohmann::json::parse(data.out);
  EXPECT_EQ(json.at("exit"), 1);
  EXPECT_EQ(json.at("findings").at(0).at("kind"), "unwritten");
}

TEST(Cover, WhatTheEmulatorLacksIsSkippedByName) {
  const Project p;
  p.folder.write("scale_rows.cu",
                 replaced(kScaleSource, "if (i < n)", "asm volatile(\"wgmma.fence.sync.aligned;\");\n  if (i < n)"));
  p.folder.write("scale_rows.toml", replaced(kScaleContract, "cuda = \"scale_rows.cu\"",
                                             "cuda = \"scale_rows.cu\", target = \"sm_90a\""));
  const Outcome o = run_assay({"cover", p.contract, "--cases", "10"});
  EXPECT_EQ(o.status, 4) << o.out << o.err;
  EXPECT_NE(o.out.find("cases skipped: not supported: wgmma"), std::string::npos) << o.out;
}

TEST(Cover, LaunchesOfOneSourceAreOneKernel) {
  const TemporaryFolder folder;
  folder.write("two.cu", R"(__device__ float staged[8192];
__global__ void first(float* y, const float* x, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) staged[i] = x[i];
}
__global__ void second(float* y, const float* x, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = staged[i];
}
__global__ void unused(float* y) { y[0] = 1; }
)");
  const std::string contract = folder.write("two.toml", R"toml(name = "two"
source = { cuda = "two.cu", entry = "first" }
sizes = { n = { min = 1, max = 5000 } }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["n"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["n"] },
  { name = "n", kind = "scalar", dtype = "i32", value = "n" },
]
launch = [
  { grid = ["ceil_div(n, 64)"], block = [64] },
  { entry = "second", grid = ["ceil_div(n, 64)"], block = [64] },
]
[formula]
y = "x"
)toml");
  const Outcome o = run_assay({"cover", contract, "--cases", "30"});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(line_of(o.out, 4)[0], ' ');
  EXPECT_EQ(line_of(o.out, 8)[0], ' ');
  EXPECT_EQ(line_of(o.out, 10).find_first_not_of(' '), line_of(o.out, 10).find("10 |"))
      << "no launch names it";
  EXPECT_NE(o.out.find("every line that has code was reached"), std::string::npos) << o.out;
}

TEST(Cover, PtxIsItsOwnSource) {
  const TemporaryFolder folder;
  const std::string source = folder.write("copy.ptx", R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry copy(.param .u64 y, .param .u64 x)
{
  .reg .b32 %r<4>; .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [y];
  ld.param.u64 %rd2, [x];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.u64 %rd4, %rd2, %rd3;
  ld.global.u32 %r2, [%rd4];
  add.u64 %rd5, %rd1, %rd3;
  st.global.u32 [%rd5], %r2;
  ret;
}
)");
  const std::string contract = folder.write("copy.toml", R"toml(name = "copy"
source = { ptx = "copy.ptx", entry = "copy" }
sizes = { n = { in = [32] } }
args = [
  { name = "y", kind = "output", dtype = "i32", shape = ["n"] },
  { name = "x", kind = "input", dtype = "i32", shape = ["n"] },
]
launch = { grid = [1], block = ["n"] }
[formula]
y = "x"
)toml");
  const Outcome o = run_assay({"cover", contract, "--cases", "5"});
  ASSERT_EQ(o.status, 0) << o.out << o.err;
  EXPECT_TRUE(std::regex_search(line_of(o.out, 12), std::regex("-\\.A +FL +12 \\|   ld.global")))
      << line_of(o.out, 12);
}

TEST(Cover, BadUsageIsOneLine) {
  const Project p;
  const auto error = [](const std::vector<std::string>& arguments) {
    const Outcome o = run_assay(arguments);
    EXPECT_EQ(o.status, 2) << o.out;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    return o.err;
  };
  EXPECT_NE(error({"cover"}).find("kernels is required"), std::string::npos);
  EXPECT_NE(error({"cover", "softmax", "vector_add"}).find("expected one kernel, not 2"),
            std::string::npos);
  EXPECT_NE(error({"cover", "sofmax"}).find("did you mean 'softmax'?"), std::string::npos);
  EXPECT_NE(error({"cover", "softmax", "--cases", "0"}).find("--cases"), std::string::npos);
  EXPECT_NE(error({"cover", "softmax", "--format", "junit"}).find("'cover' takes no --format"),
            std::string::npos);
  const Outcome o = run_assay(
      {"cover", p.contract, "--cases", "2", "--html", p.folder / "no/such/folder/page.html"});
  EXPECT_EQ(o.status, 2);
  EXPECT_NE(o.err.find("cannot write"), std::string::npos) << o.err;
}

CoveredLine covered(int64_t hits, Reached blocks) {
  CoveredLine line;
  line.hits = hits;
  line.counts.blocks = blocks;
  return line;
}

TEST(CoverReport, MissedLinesAreRuns) {
  CoveredFile file;
  file.lines = {{3, covered(0, {0, 1})}, {5, covered(0, {0, 2})}, {6, covered(9, {1, 2})},
                {8, covered(0, {0, 1})}};
  const std::vector<MissedLines> missed = missed_lines(file);
  ASSERT_EQ(missed.size(), 2u);
  EXPECT_EQ(missed[0].first, 3);
  EXPECT_EQ(missed[0].last, 5) << "line 4 has no code";
  EXPECT_EQ(missed[1].first, 8);
  EXPECT_EQ(missed[1].last, 8);
}

TEST(CoverReport, LettersTellAllSomeAndNone) {
  EXPECT_EQ(letters(kLaneKinds, {{{2, 2}, {1, 2}, {0, 2}}}), "Ns.");
  EXPECT_EQ(letters(kEndKinds, {{{0, 0}, {1, 1}}}), "-L");
  EXPECT_EQ(letters(kResultKinds, {{{1, 1}, {1, 2}, {2, 2}, {0, 2}, {1, 2}, {2, 2}}}), "ZsN.iQ");
}

TEST(CoverReport, CountsAreShort) {
  for (const auto& [count, text] : std::map<int64_t, std::string>{
           {0, "0"}, {99999, "99999"}, {100000, "100k"}, {999499, "999k"}, {999500, "1.0M"},
           {5400000, "5.4M"}, {12345678, "12M"}, {4000000000, "4.0G"}, {123456789012345, "123T"}}) {
    EXPECT_EQ(short_count(count), text);
  }
}

TEST(CoverReport, AFileThatCannotBeReadShowsItsNumbers) {
  CoverReport report;
  report.kernel = "k";
  report.files.resize(1);
  report.files[0].path = "gone.cu";
  report.files[0].lines = {{7, covered(0, {0, 1})}, {9, covered(12, {1, 2})}};
  const std::string text = cover_text(report);
  EXPECT_NE(text.find("\ngone.cu (cannot be read)\n"), std::string::npos) << text;
  EXPECT_EQ(line_of(text, 7)[0], '!');
  EXPECT_NE(line_of(text, 9).find("12      1/2"), std::string::npos) << text;
  EXPECT_NE(text.find("never reached: gone.cu:7\n"), std::string::npos);
  const std::string html = cover_html(report);
  EXPECT_NE(html.find("<tr class=\"never\">"), std::string::npos);
  EXPECT_NE(html.find("<tr class=\"part\"><td>12</td><td>1/2</td>"), std::string::npos);
}

}  // namespace
}  // namespace assay::testing
