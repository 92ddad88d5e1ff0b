// The command line as plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay {

enum class Command {
  list, smoke, cover, fuzz, repro, shrink, score, conform, exhaust, init, check, calibrate
};
enum class Format { text, github, junit };

/// What a program's exit status says.
enum class Exit : int {
  clean = 0,
  findings = 1,
  bad_input = 2,      ///< bad usage or input; one line on stderr
  missing = 3,        ///< a device or dependency is not there
  skipped = 4,        ///< some cases skipped as unsupported, none failed
  /// Ended by SIGINT, SIGTERM or SIGHUP without a finding; 128 + SIGINT, as shells say.
  interrupted = 130,
};

inline constexpr uint64_t kDefaultSeed = 20240229;  ///< any fixed number serves

struct Options {
  Command command = Command::list;
  std::vector<std::string> kernels;  ///< names, or paths of contract files; empty: all. conform:
                                     ///< how spellings start
  std::string file;                  ///< repro, shrink: the case file; init: FILE:kernel
  std::string contract;  ///< repro, shrink: its contract, when it is not found by itself
  std::string device = "ptx";
  uint64_t seed = kDefaultSeed;
  std::optional<int64_t> cases;
  std::optional<double> seconds;
  int jobs = 0;  ///< 0: one a core
  bool json = false;
  Format format = Format::text;
  std::string html;     ///< cover: file for the page; "": none
  std::string out;      ///< folder for findings; shrink: file
  uint64_t adversarial = 0;         ///< repro: seed of RunOptions::adversarial_seed; 0: none
  std::optional<bool> contraction;  ///< repro: -fmad; not given: as the contract says
  std::string planted;  ///< score: folder of pairs
  std::vector<std::string> only;  ///< exhaust: choices of types, knobs and flags, "T=f16"
  int64_t mantissas = 0;          ///< exhaust: of each exponent and sign; 0: as the program likes
  bool whole = false;             ///< exhaust: all 2^32 inputs of a 32-bit operand, on any device
  int64_t max_disk_bytes = int64_t{1} << 30;
};

struct ParsedOptions {
  Options options;
  bool help = false;  ///< print `text` and exit 0
  std::string text;   ///< help
};

/// Parses arguments (without the program's name). Throws InputError with one line for bad usage.
ParsedOptions parse_options(std::vector<std::string> arguments);

/// "30s", "500ms", "5m", "8h" in seconds; throws InputError.
double parse_duration(const std::string& text);

}  // namespace assay
