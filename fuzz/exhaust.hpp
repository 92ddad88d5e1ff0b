// The parts of `assay exhaust`: every input of an elementwise kernel, or of wide types a sample by
// exponent, in units of work that are kept in a journal.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/check_case.hpp"
#include "fuzz/report.hpp"

namespace assay {

// --- what is run (exhaust_space.cpp)
// -----------------------------------------------------------------

/// All inputs of one operand in the order in which they come: every bit pattern, or of a wide type
/// `mantissas` numbers of each sign and exponent (value class `exponents`).
struct OperandSpace {
  int operand = -1;  ///< position in Contract::args
  std::string name;
  DType type = DType::f32;
  bool sampled = false;
  int64_t mantissas = 0;  ///< sampled only
  int64_t size = 0;
};

/// The inputs of one variant: one operand's, or all pairs of two, the second one's fastest.
struct InputSpace {
  Variant variant;
  std::vector<OperandSpace> operands;
  int64_t size = 0;
  bool sampled() const;
  std::string text() const;  ///< "65536", "131072 sampled: 256 of each exponent and sign"
};

/// What is taken of types wider than 16 bits.
struct WideInputs {
  int64_t mantissas = 0;  ///< 0: 256 of one operand, 4 of each of two
  bool whole = false;     ///< of one 32-bit operand every bit pattern, 2^32
};

/// Throws InputError for a variant that is not elementwise or whose operands have no such space, at
/// its line of the contract; without a place for a number of mantissas that is too large.
InputSpace input_space(const Contract& contract, const Variant& variant, const WideInputs& wide);

/// Knobs that shape the launch alone: its grid, block or shared memory depends on them, and with
/// these which sizes there are and which block owns what, but neither the program nor its arguments
/// nor the formula. An input has one value by one code under all of them. (exhaust_variants.cpp)
std::vector<std::string> launch_knobs(const Contract& contract);
/// Of variants that differ in `knobs` only, the one that admits the largest case; all others as
/// they are.
std::vector<Variant> without_knobs(const Contract& contract, const std::vector<std::string>& knobs,
                                   const WideInputs& wide, const std::vector<Variant>& variants);

/// The largest case whose elements are inputs first, first + 1, ... of the space, at most `count`
/// of them. Throws InputError when the contract admits none, with the reason.
Case space_case(const Contract& contract, const InputSpace& space, int64_t first, int64_t count);
/// Elements of such a case: its inputs.
int64_t case_inputs(const Instance& instance, const InputSpace& space);

// --- what is measured (exhaust_stats.cpp)
// ----------------------------------------------------------

/// Upper ends of the histogram's classes of error, in ulps of the output's type; after them comes
/// one class without end.
inline constexpr std::array<double, 13> kErrorEdges = {0, 0.125, 0.25, 0.375, 0.5,  0.75, 1,
                                                       2, 4,     16,   256,   4096, 65536};
inline constexpr size_t kErrorClasses = kErrorEdges.size() + 1;
/// "0", "1/8", ..., "65536", "more".
std::string error_class_name(size_t position);

/// Where something was seen: the operands' bits, and the output's.
struct InputPoint {
  std::vector<uint64_t> inputs;
  uint64_t got_bits = 0;
  double exact = 0;
};

/// The same of one operand alone, without memory of its own: there are many.
struct OrderedPoint {
  uint64_t input = 0;
  uint64_t got_bits = 0;
  double exact = 0;
};

/// Neighbouring inputs whose exact values rise while the outputs fall, or the reverse.
struct MonotonicityBreak {
  InputPoint lower, upper;
};

/// What the inputs of a unit, or of several, showed of one output. Each input is in exactly one of
/// `inputs`, `outside_domain`, `faulted`, `not_alone` and `unwritten`; each of `inputs` in exactly
/// one of `no_bound`, `special`, `incomparable` and the classes.
struct ErrorStats {
  std::string output;
  DType type = DType::f32;
  int64_t inputs = 0;             ///< whose output was compared with the exact value
  int64_t outside_domain = 0;     ///< that the contract does not admit
  int64_t faulted = 0;            ///< alone in a case that faulted, hung or was refused
  int64_t not_alone = 0;          ///< in such a case with others, not split any further
  int64_t unwritten = 0;          ///< whose output the kernel did not write
  int64_t no_bound = 0;           ///< nothing is documented there (R10): not judged
  int64_t special = 0;            ///< NaN and infinities that are what they must be
  int64_t incomparable = 0;       ///< NaN or infinity on one side only
  int64_t correctly_rounded = 0;  ///< of those in the classes
  std::array<int64_t, kErrorClasses> classes{};
  double max_ulps = -1;  ///< below 0: no element has an error
  InputPoint max_at;
  double max_unbounded_ulps = -1;  ///< the same where nothing is documented
  InputPoint max_unbounded_at;
  bool ordered = false;  ///< monotonicity was looked at: one operand
  int64_t breaks = 0;
  std::vector<MonotonicityBreak> first_breaks;  ///< at most kBreaksShown, by ascending input
  /// Of a unit that is a part of one operand's inputs: what is at its two lowest and its two
  /// highest numbers, ascending. The neighbours of other units are compared with these.
  std::vector<OrderedPoint> lowest, highest;
  int64_t measured() const;  ///< elements in the classes
  int64_t judged() const { return inputs - no_bound; }
  int64_t seen() const { return inputs + outside_domain + faulted + not_alone + unwritten; }
  /// Whether each of `inputs` is counted once.
  bool adds_up() const { return inputs == measured() + special + incomparable + no_bound; }
  void add(const ErrorStats& later);
};
inline constexpr size_t kBreaksShown = 4;

/// The plain counts, as the JSON names them.
struct ErrorCount {
  const char* name;
  int64_t ErrorStats::*count;
};
inline constexpr ErrorCount kErrorCounts[] = {
    {"inputs", &ErrorStats::inputs},
    {"outside_domain", &ErrorStats::outside_domain},
    {"faulted", &ErrorStats::faulted},
    {"not_alone", &ErrorStats::not_alone},
    {"unwritten", &ErrorStats::unwritten},
    {"no_bound", &ErrorStats::no_bound},
    {"special", &ErrorStats::special},
    {"incomparable", &ErrorStats::incomparable},
    {"correctly_rounded", &ErrorStats::correctly_rounded},
};

/// The number that bits of a type stand for.
double value_of(DType type, uint64_t bits);

/// Counts compared elements of one output.
class ErrorCounter {
 public:
  explicit ErrorCounter(ErrorStats& stats)
      : stats_(stats), type_(stats.type), floating_(is_floating(stats.type)) {}
  /// Counts one; `bounded`: something is documented there. Returns where the caller has to say what
  /// the inputs were, when it is the worst so far: max_at or max_unbounded_at; otherwise nullptr.
  InputPoint* count(uint64_t got_bits, double exact, bool bounded);

 private:
  ErrorStats& stats_;
  const DType type_;
  const bool floating_;
};
void count_error(ErrorStats& stats, const InputPoint& point, bool bounded);

/// Looks for breaks between neighbours by the one operand's value, of type `operand`. Equal ones
/// (the two zeros) are one place: each is compared with both neighbours. `points` are sorted.
void find_breaks(DType operand, std::vector<OrderedPoint>& points, ErrorStats& stats);
/// Keeps what is at the ends of sorted points, for a unit that is a part.
void keep_ends(DType operand, const std::vector<OrderedPoint>& points, ErrorStats& stats);
/// What units showed together, in the order in which they are given; breaks between neighbours of
/// different units included. `operand`: of the one operand; nullopt: there are two.
ErrorStats joined(std::optional<DType> operand, const std::vector<const ErrorStats*>& units);

// --- how it is run (exhaust_measure.cpp)
// ----------------------------------------------------------

/// A unit of work: inputs [first, first + count) of a variant.
struct ExhaustUnit {
  size_t variant = 0;
  int64_t first = 0;
  int64_t count = 0;
};
/// Inputs of a unit, the last of a space may have fewer: less than a second of work, which is what
/// an interruption may cost.
inline constexpr int64_t kUnitInputs = int64_t{1} << 20;
int64_t count_units(const InputSpace& space);

/// The order in which the units of a space run, so that those done at any moment lie all over it:
/// the i-th is number i * step mod `units`. The step has no common divisor with `units`, so that
/// each comes once, and their quotient's continued fraction has small terms, like the golden
/// ratio's: the units done then lie nearly evenly (D. E. Knuth, The Art of Computer Programming 3,
/// 6.4, Theorem S and Fibonacci hashing). The order is the same in every run. (exhaust_space.cpp)
int64_t scatter_step(int64_t units);

struct UnitResult {
  ExhaustUnit unit;
  std::string variant;  ///< its text
  std::string space;    ///< InputSpace::text()
  std::string program;  ///< Program::key of what ran
  int64_t cases = 0;    ///< that were run to measure, those of which one faulted included
  std::vector<ErrorStats> outputs;
  std::vector<Finding> findings;        ///< each with a small case that shows it
  std::vector<std::string> case_files;  ///< one a finding, once written
  std::string skipped;                  ///< the device does not support it
  double seconds = 0;
};

/// How a unit is run. A faulty run costs 1.
struct UnitLimits {
  int64_t case_inputs = int64_t{1} << 16;
  /// What splitting may cost in a unit: a kernel that faults everywhere costs about a second in the
  /// emulator, and 25 inputs at fault among 2^20 stand alone.
  int64_t split_cost = 4096;
  /// A run that hangs may take its whole budget of instructions (`case_budget`, 50 ms and more).
  int64_t hang_cost = 128;
};
/// Those that suit a device ("ptx", "cuda").
UnitLimits unit_limits(const std::string& device);

/// Runs one unit. A case in which the kernel faults is split until the inputs at fault stand alone
/// and the others are measured. nullopt: `stop` asked for an end before it was done.
std::optional<UnitResult> run_unit(Checker& checker, const InputSpace& space,
                                   const ExhaustUnit& unit, const std::function<bool()>& stop,
                                   const UnitLimits& limits = {});

// --- what is kept (exhaust_journal.cpp)
// --------------------------------------------------------------

/// The finished units of one kernel, one line each, appended as they end: a run that is killed
/// loses the units that it was at, and a line cut short is left out. Of two lines of one unit the
/// later holds: the source changed in between.
class ExhaustJournal {
 public:
  /// Without a path nothing is kept. `identity`: what must be alike for results to be continued.
  /// Throws InputError for a file of other identity or that is none.
  ExhaustJournal(std::string path, std::string identity);
  /// Those read at the start.
  std::vector<UnitResult>& known() { return known_; }
  void append(const UnitResult& result);

 private:
  void write(const std::string& line);
  std::string path_;
  struct File {
    int descriptor = -1;
    File() = default;
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File();
  };
  File file_;
  std::vector<UnitResult> known_;
};

// --- what is reported (exhaust_results.cpp, exhaust_report.cpp, exhaust_json.cpp)
// -------------------------------------------------------------------

struct VariantResult {
  InputSpace space;  ///< without operands when it was left out
  int64_t ran = 0;   ///< inputs of the units that ended
  int64_t cases = 0;
  std::vector<ErrorStats> outputs;
  std::vector<UnitResult> with_findings;
  std::string skipped;    ///< why: the device does not support it, or its inputs cannot be listed
  bool left_out = false;  ///< the latter
  double seconds = 0;
  /// The least over the outputs: inputs that were compared, and those of them that were judged.
  int64_t done() const;
  int64_t judged() const;
  int64_t outside() const;  ///< inputs that the contract does not admit
  int64_t lost() const;     ///< the most over the outputs: faulted or unwritten
  size_t finding_count() const;
};

struct ExhaustReport {
  std::string kernel;
  std::string contract;
  std::string device = "ptx";
  std::vector<VariantResult> variants;
  int64_t variants_total = 0;
  std::vector<std::string> notes;
  bool interrupted = false;
  double seconds = 0;
  int64_t finding_count() const;
  int64_t cases() const;
  int64_t inputs_done() const;
  int64_t inputs_judged() const;
  int64_t inputs_outside() const;
  int64_t inputs_lost() const;
  int64_t inputs_left() const;   ///< of variants that are not skipped: not run before the end
  int64_t inputs_total() const;  ///< without those of skipped variants
  int64_t variants_ran() const;
  int64_t variants_skipped() const;
  Exit exit() const;
  std::string nothing_judged() const;  ///< why, when no input of any variant was judged
  /// A unit's finding as other commands list theirs.
  FiledFinding filed(const UnitResult& unit, size_t finding) const;
};

std::string exhaust_text(const ExhaustReport& report);
std::string exhaust_json(const std::vector<ExhaustReport>& reports, double seconds);
/// For the formats of CI systems: the findings, and one suite a kernel.
Report ci_report(const std::vector<ExhaustReport>& reports);
/// Of several kernels: findings, then nothing judged, then skipped.
Exit exit_of(const std::vector<ExhaustReport>& reports);
std::string exhaust_svg(const ExhaustReport& report);
/// "x = -0.4375 (0xb700)".
std::string input_text(const InputSpace& space, const InputPoint& point);

/// One unit as one line without its end, and back; nullopt for a damaged line. (exhaust_json.cpp)
std::string unit_line(const UnitResult& result);
std::optional<UnitResult> parse_unit_line(const std::string& line);

}  // namespace assay
