// What `assay cover` gathers: which parts of a kernel's source its cases reach.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "devices/coverage.hpp"
#include "devices/ptx/coverage_map.hpp"
#include "fuzz/check_case.hpp"
#include "fuzz/options.hpp"

namespace assay {

struct Reached {
  int64_t reached = 0;
  int64_t of = 0;
  void add(bool is_reached) {
    reached += is_reached ? 1 : 0;
    ++of;
  }
  void add(const Reached& other) {
    reached += other.reached;
    of += other.of;
  }
};

/// The kinds of things at a line that may be reached, each by its letter in the text and its name
/// elsewhere.
struct CoverKind {
  char letter;
  const char* name;
  uint8_t bit;  ///< of AccessSeen or ResultSeen
};
inline constexpr std::array<CoverKind, 3> kLaneKinds{
    {{'N', "no_lane", kNoLane}, {'S', "some_lanes", kSomeLanes}, {'A', "all_lanes", kAllLanes}}};
inline constexpr std::array<CoverKind, 2> kEndKinds{
    {{'F', "first_element", kFirstElement}, {'L', "last_element", kLastElement}}};
inline constexpr std::array<CoverKind, 6> kResultKinds{{{'Z', "zero", kZeroResult},
                                                        {'S', "subnormal", kSubnormalResult},
                                                        {'N', "normal", kNormalResult},
                                                        {'B', "largest_binade", kLargestResult},
                                                        {'I', "infinity", kInfiniteResult},
                                                        {'Q', "nan", kNanResult}}};

/// Counts over variants: an instruction counts once in each program that ran.
struct CoverCounts {
  Reached blocks;
  Reached edges;
  std::array<Reached, kLaneKinds.size()> lanes;
  std::array<Reached, kEndKinds.size()> ends;
  std::array<Reached, kResultKinds.size()> results;
};

struct CoveredLine {
  int64_t hits = 0;  ///< entries of groups of lanes into the line's blocks
  CoverCounts counts;
};

struct CoveredFile {
  std::string path;
  std::vector<std::string> text;     ///< lines; empty when the file cannot be read
  std::map<int, CoveredLine> lines;  ///< those that have code, from 1
};

/// A run of lines that have code and were never reached; lines without code may lie between.
struct MissedLines {
  int first = 0, last = 0;
};
std::vector<MissedLines> missed_lines(const CoveredFile& file);

struct CoverReport {
  std::string kernel;
  std::string contract;  ///< path
  uint64_t seed = 0;
  double seconds = 0;
  bool interrupted = false;  ///< by a signal, before its cases were done
  int64_t cases = 0;
  int64_t variants = 0;  ///< that ran
  int64_t variants_total = 0;
  std::map<std::string, int64_t> skipped;  ///< cases that the emulator does not support, by reason
  std::vector<Finding> findings;           ///< distinct ones that showed on the way
  CoverCounts totals;
  std::vector<CoveredFile> files;  ///< the contract's source first

  int64_t skipped_cases() const;
  Exit exit() const;
};

/// Sums what cases show, program by program.
class CoverTally {
 public:
  void add(const CheckResult& result);
  void add(CoverTally&& other);
  /// Fills `totals` and `files`. `source`: path of the contract's source.
  void report(const std::string& source, CoverReport& report) const;

 private:
  struct Program {
    std::shared_ptr<const ptx::Module> module;
    std::set<std::string> entries;
    std::string source;  ///< where the PTX stands, when it is the source itself
    std::vector<uint64_t> blocks, edges;
    std::vector<uint8_t> accesses, results;
  };
  std::map<std::string, Program> programs_;   ///< by digest
  std::map<std::string, std::string> known_;  ///< digest by Program::key, of those decoded
};

std::string cover_text(const CoverReport& report);
std::string cover_json(const CoverReport& report);
std::string cover_html(const CoverReport& report);  ///< one page that needs nothing else

/// "99999", "123k", "4.5M".
std::string short_count(int64_t count);
/// "NsA-.": upper case all reached, lower case some, a dot none, '-' nothing that could be.
template <size_t kKinds>
std::string letters(const std::array<CoverKind, kKinds>& kinds,
                    const std::array<Reached, kKinds>& reached) {
  std::string text;
  for (size_t i = 0; i < kKinds; ++i) {
    const Reached& r = reached[i];
    const char lower = static_cast<char>(kinds[i].letter - 'A' + 'a');
    text += r.of == 0 ? '-' : r.reached == r.of ? kinds[i].letter : r.reached > 0 ? lower : '.';
  }
  return text;
}
/// Whether nothing of these kinds stands at the line.
template <size_t kKinds>
bool has_none(const std::array<Reached, kKinds>& reached) {
  for (const Reached& r : reached) {
    if (r.of > 0) return false;
  }
  return true;
}
/// What the columns mean, a line each.
std::vector<std::string> cover_legend();

}  // namespace assay
