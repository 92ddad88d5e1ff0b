#include "fuzz/options.hpp"

#include <gtest/gtest.h>

#include "kernels_under_test/input_error.hpp"

namespace assay {
namespace {

Options options(std::vector<std::string> arguments) { return parse_options(arguments).options; }

TEST(Options, EveryCommandTakesKernelsOrAFile) {
  EXPECT_EQ(options({"smoke", "softmax", "a/b.toml"}).kernels,
            (std::vector<std::string>{"softmax", "a/b.toml"}));
  EXPECT_EQ(options({"repro", "x.case"}).file, "x.case");
  EXPECT_EQ(options({"repro", "x.case"}).command, Command::repro);
  EXPECT_EQ(options({"shrink", "x.case", "--contract", "k.toml"}).contract, "k.toml");
  EXPECT_EQ(options({"score"}).command, Command::score);
}

TEST(Options, NumbersAndDurations) {
  const Options o = options({"fuzz", "--for", "8h", "--jobs", "3", "--seed", "12", "--cases",
                             "20000", "--max-disk", "2G", "--format", "junit"});
  EXPECT_EQ(o.seconds, 8 * 3600.0);
  EXPECT_EQ(o.jobs, 3);
  EXPECT_EQ(o.seed, 12u);
  EXPECT_EQ(o.cases, 20000);
  EXPECT_EQ(o.max_disk_bytes, int64_t{2} << 30);
  EXPECT_EQ(o.format, Format::junit);
  EXPECT_FALSE(o.json);
}

TEST(Options, NumbersKeepTheirRange) {
  EXPECT_EQ(options({"smoke", "--seed", "18446744073709551615"}).seed, UINT64_MAX);
  for (const char* bad : {"0", "1025", "4294967297", "-1", " 5", "5x"}) {
    EXPECT_THROW(options({"smoke", std::string("--jobs=") + bad}), InputError) << bad;
  }
}

TEST(Options, ADurationHasAUnit) {
  EXPECT_DOUBLE_EQ(parse_duration("250ms"), 0.25);
  EXPECT_DOUBLE_EQ(parse_duration("30s"), 30);
  EXPECT_DOUBLE_EQ(parse_duration("1.5m"), 90);
  for (const char* bad : {"", "30", "s", "-3s", "3 s", "inf", "nans", "1e9h"}) {
    EXPECT_THROW(parse_duration(bad), InputError) << bad;
  }
}

TEST(Options, HelpIsNoError) {
  const ParsedOptions parsed = parse_options({"smoke", "--help"});
  EXPECT_TRUE(parsed.help);
  EXPECT_NE(parsed.text.find("--seed"), std::string::npos);
}

std::string error_of(std::vector<std::string> arguments) {
  try {
    parse_options(std::move(arguments));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Options, WhatMeansNothingToACommandIsRefused) {
  EXPECT_EQ(error_of({"list", "--for", "3s"}), "'list' takes no --for; it takes --device, --json");
  for (const auto& wrong :
       std::vector<std::vector<std::string>>{{"list", "--jobs", "2"},
                                             {"list", "--cases", "3"},
                                             {"repro", "x.case", "--for", "3s"},
                                             {"repro", "x.case", "--jobs", "2"},
                                             {"repro", "x.case", "--out", "o"},
                                             {"shrink", "x.case", "--jobs", "2"},
                                             {"shrink", "x.case", "--json"},
                                             {"conform", "--format", "junit"},
                                             {"conform", "--json"},
                                             {"smoke", "--max-disk", "1G"}}) {
    EXPECT_NE(error_of(wrong).find("takes no --"), std::string::npos) << error_of(wrong);
  }
}

TEST(Options, AnUnknownOptionNamesTheNearestAndTheList) {
  const std::string text = error_of({"smoke", "k.toml", "--case", "3"});
  EXPECT_NE(text.find("'smoke' takes no --case (did you mean '--cases'?); it takes --device"),
            std::string::npos)
      << text;
}

TEST(Options, VersionHelpAndUsage) {
  EXPECT_EQ(parse_options({"--version"}).text.substr(0, 6), "assay ");
  EXPECT_TRUE(parse_options({"help"}).help);
  const ParsedOptions smoke = parse_options({"help", "smoke"});
  EXPECT_TRUE(smoke.help);
  EXPECT_NE(smoke.text.find("assay smoke"), std::string::npos) << smoke.text;
}

/// Of two ways to print one would have to be dropped in silence.
TEST(Options, JsonAndAFormatAreNotGivenTogether) {
  for (const char* command : {"smoke", "fuzz", "repro", "score", "exhaust", "check"}) {
    for (const char* format : {"text", "github", "junit"}) {
      EXPECT_EQ(error_of({command, "k", "--json", "--format", format}),
                std::string("--json and --format ") + format + " are two ways to print: give one");
    }
    EXPECT_EQ(error_of({command, "k", "--format", "xml", "--json"}),
              "unknown format 'xml'; there are text, github, junit");
    EXPECT_EQ(error_of({command, "k", "--json"}), "no error");
    EXPECT_EQ(error_of({command, "k", "--format", "github"}), "no error");
  }
}

}  // namespace
}  // namespace assay
