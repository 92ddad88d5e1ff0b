// The judge: from a case and a run's outputs to a verdict (oracles/RULES.md).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "generators/instance.hpp"

namespace assay {

enum class Outcome { pass, mismatch, fault, undecided, skipped };
std::string_view name(Outcome outcome);

/// One term of an allowance, with the source of its constant.
struct AllowanceTerm {
  std::string name;    ///< "sum over cols: 1023 u sum|terms|"
  double value = 0;    ///< absolute
  std::string source;  ///< "Jeannerod & Rump 2013", "CUDA C++ Programming Guide 13.0, expf: 2 ulp"
};

/// An input element that feeds an output element.
struct FeedingInput {
  std::string text;  ///< "x[3,17] = -0.4375 (0xbee00000)"
};

/// One judged element, explained (only on failure: match cheaply, explain afterwards).
struct ElementReport {
  std::string output;
  std::vector<int64_t> at;
  bool written = true;
  uint64_t got_bits = 0;
  std::string got;        ///< shortest text that reads back
  std::string exact;      ///< 17 digits of the last tier
  std::string accepted;   ///< the accepted set: "[0.12499, 0.12501]", "NaN", "{-0, +0}"
  double error_ulps = 0;  ///< |got - exact| in ulps of the output type
  double allowance = 0;   ///< absolute, output rounding included, on the side where got lies
  /// Distance from the exact value over what is allowed; above 1 is wrong, infinite when the two
  /// cannot be compared. `times_internal`: both without the output's rounding.
  double times_allowed = 0;
  double times_internal = 0;
  std::string error_text;      ///< error in ulps, absolute and as a multiple; or why there is none
  std::string allowance_text;  ///< allowance in ulps and absolute; "" when nothing but one is right
  std::string rule;            ///< "R3"
  std::string no_bound;        ///< the first term of the formula without a bound, and why; or ""
  std::vector<std::string> candidates;  ///< of an index: scores of those accepted, at most eight
  std::vector<AllowanceTerm> terms;
  std::vector<FeedingInput> inputs;  ///< at most eight, the ones that matter most first
};

/// What was found in one output.
struct OutputCounts {
  std::string output;
  int64_t judged = 0;     ///< written elements that a formula, an index or a relation speaks of
  int64_t wrong = 0;      ///< of those
  int64_t unwritten = 0;  ///< elements that had to be written, and were not
  int64_t disturbed = 0;  ///< stored to, where the bits before the run had to stay (rule R18)
  double share = 0;       ///< as Verdict::share, of this output
};

struct Verdict {
  Outcome outcome = Outcome::pass;
  std::string rule;     ///< rule that the first wrong element breaks
  std::string message;  ///< one line
  int64_t judged = 0;  ///< over all outputs, as the counts that follow
  int64_t wrong = 0;   ///< `disturbed` elements are among them, and not among the judged
  int64_t unwritten = 0;
  int64_t undecided = 0;
  int64_t widened = 0;   ///< accepted set widened by a policy (range = "naive")
  int64_t weak = 0;      ///< allowance above a quarter of the value
  int64_t no_bound = 0;  ///< outside a function's documented range
  /// Guidance: the largest max(0, |got - exact| - ulp/2) / internal allowance over strongly judged
  /// elements; 0 when all are exact. Above 1 is a mismatch.
  double share = 0;
  std::vector<OutputCounts> outputs;    ///< in the order in which they were judged
  std::string first_output;             ///< output of the first wrong element
  std::vector<int64_t> wrong_elements;  ///< logical indices in first_output, at most 4096
  /// Over all wrong elements, the first of those whose distance from the exact value is the largest
  /// multiple of what is allowed (infinite: NaN or infinity against a number, wrong bits).
  std::string worst_output;    ///< "" when no written element is wrong
  int64_t worst_element = -1;  ///< logical index
  double worst_times = 0;
  /// The first element that the last tier cannot decide, and the first without a documented bound.
  std::string undecided_output;  ///< "" when none is
  int64_t undecided_element = -1;
  std::string no_bound_output;
  int64_t no_bound_element = -1;
  std::vector<std::string> missing_policies;  ///< lines to paste into the contract
};

/// Precision tiers of the reference (oracles/RULES.md).
enum class Tier { running_double, double_double, multiprecision };

/// One judged element beside its exact value. Of an integer output made from a real number, the
/// exact value is that number within the type's range.
struct Observation {
  const Tensor& output;
  int64_t logical = 0;
  uint64_t got_bits = 0;
  double exact = 0;      ///< a double near it; NaN and infinities as they are
  bool bounded = false;  ///< false: nothing is documented here (rule R10)
};
/// Sees every judged element. The exact value lies within kObservedUlps ulps of the output's type
/// of the double, whichever tier that takes.
using Observer = std::function<void(const Observation&)>;
inline constexpr double kObservedUlps = 1.0 / 4096;

struct JudgeOptions {
  Tier first_tier = Tier::running_double;  ///< tests and benchmarks start higher
  Tier last_tier = Tier::multiprecision;
  bool allows(Tier tier) const { return tier >= first_tier && tier <= last_tier; }
  Observer observer;
};

/// A contract's formula, checked and compiled. Throws InputError for unknown names or dimensions.
class Judge {
 public:
  explicit Judge(const Contract& contract);
  ~Judge();
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;

  /// Judges the elements that the case's blocks own.
  Verdict judge(const Instance& instance, const OutputReader& outputs,
                const JudgeOptions& options = {}) const;

  /// Explains one element of an output at full precision; deterministic to the bit on any machine.
  ElementReport explain(const Instance& instance, const OutputReader& outputs,
                        const std::string& output, int64_t logical) const;

 private:
  struct Impl;
  Impl* impl_;
};

}  // namespace assay
