// The first tier: evaluates a formula's nodes as dense arrays over a chunk of its dimensions.
//
// A chunk fixes a range for every dimension. A node is evaluated once a range of its own
// dimensions, so what does not vary from chunk to chunk is kept.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generators/instance.hpp"
#include "oracles/accuracy_table.hpp"
#include "oracles/graph.hpp"
#include "oracles/rows.hpp"

namespace assay {

/// [low, low + extent) of every dimension of a graph.
struct Chunk {
  std::vector<int64_t> low;
  std::vector<int64_t> extent;
};

/// Dense row-major layout of a node's array within a chunk.
struct Grid {
  std::vector<int> dims;
  std::vector<int64_t> low;
  std::vector<int64_t> extent;
  int64_t size = 1;
  bool operator==(const Grid&) const = default;
};
Grid grid_of(const std::vector<int>& dims, const Chunk& chunk);

/// Grows and never shrinks; contents are not kept.
template <typename T>
class Scratch {
 public:
  T* get(int64_t count) {
    if (count > capacity_) {
      data_.reset(new T[static_cast<size_t>(count)]);
      capacity_ = count;
    }
    return data_.get();
  }

 private:
  std::unique_ptr<T[]> data_;
  int64_t capacity_ = 0;
};

/// Why an integer or a condition may not be known.
enum Status : uint8_t {
  kKnown = 0,
  kEither = 1,     ///< a comparison that a correct kernel may decide both ways
  kUndefined = 2,  ///< division by 0, index out of range: nothing is documented
};

/// An element of one of a Value's arrays; 0 of one that is null.
inline double element(const double* array, int64_t k) { return array == nullptr ? 0 : array[k]; }

/// An element of a sum as other terms in the same accumulator see it.
struct JoiningSum {
  double magnitude = 0;  ///< sum|terms|, errors included; of an infinite sum: the finite terms'
  double lo = 0;         ///< sums of the terms' own allowances
  double hi = 0;
  double quantum = 0;   ///< all terms are multiples of it, a power of two; 0: none is known
  int64_t missing = 0;  ///< terms of SumShape's that it lacks: a prefix of a cumulative sum
  double scaled = 0;    ///< the magnitude times kScale where no double holds it
  static constexpr double kScale = 0x1p-64;
};

/// What every element of a sum, or of a cumulative sum of the whole line, has in common.
struct SumShape {
  int64_t terms = 0;
  double depth = 0;        ///< additions, or steps of tensor cores, on the longest path
  double step_error = 0;   ///< of each, relative to the magnitudes that it adds
  double underflow = 0;    ///< of all, absolute
  double exact_limit = 0;  ///< 2^p: multiples of q below 2^p q add exactly
};

/// A node's array. Null e, lo, hi: all zero. Null status: all known.
struct Value {
  Grid grid;
  bool valid = false;
  int64_t generation = 0;
  int64_t source_generation = 0;  ///< settle: of the argument whose v and e it shares
  /// No exact value and no value of a correct kernel is below it (a sum of squares: 0).
  double least = -HUGE_VAL;
  const double* v = nullptr;
  const double* e = nullptr;
  const double* lo = nullptr;
  const double* hi = nullptr;
  const __int128* i = nullptr;
  const uint8_t* status = nullptr;
  /// Where an integer is not known for what its real operands leave open: it lies in [i, i_high],
  /// or is any (i_high < i). Null: nothing is said of those that are not known.
  const __int128* i_high = nullptr;
  /// Of functions: where it is not 0, v stands for the exact value in every tier, since what the
  /// argument's error leaves open no tier need tell apart (docs/judging.md, "Other functions").
  const uint8_t* settled = nullptr;
  bool of_settled = false;          ///< made of elements that are
  std::vector<JoiningSum> joining;  ///< a sum that joins others: its elements
  SumShape shape;
  Scratch<double> own_v, own_e, own_lo, own_hi;
  Scratch<__int128> own_i, own_i_high;
  Scratch<uint8_t> own_status;
  Scratch<uint8_t> own_settled;
};

inline uint8_t status_of(const Value& x, int64_t k) {
  return x.status == nullptr ? uint8_t{kKnown} : x.status[k];
}

/// Between which integers one lies; none: any.
struct WideRange {
  __int128 low = 0;
  __int128 high = -1;
  bool any() const { return high < low; }
};

inline WideRange range_at(const Value& x, int64_t k) {
  const uint8_t status = status_of(x, k);
  if (status == kKnown) return {x.i[k], x.i[k]};
  if (status == kEither) return {0, 1};
  return x.i_high == nullptr ? WideRange{} : WideRange{x.i[k], x.i_high[k]};
}

/// It is not known for what real operands leave open, not because it is undefined.
inline bool leaves_open(const Value& x, int64_t k) {
  const uint8_t status = status_of(x, k);
  return status == kEither || (x.i_high != nullptr && status != kKnown);
}

inline double known_error(const Value& x, int64_t k) {
  return rows::known_error(x.v[k], element(x.e, k), element(x.lo, k), element(x.hi, k));
}

/// An element that is not negative is 0, exactly and in a correct kernel.
inline bool certainly_zero(const Value& x, int64_t k) {
  return x.v[k] == 0 && element(x.hi, k) == 0 && element(x.e, k) == 0;
}

/// The facts of a contract and a case that evaluation needs.
struct EvaluationSettings {
  DType accumulate = DType::f32;  ///< partial sums are rounded to it,
  DType arithmetic = DType::f32;  ///< and the results of every other operation to this
  MathFigures math;
  bool flush = false;  ///< subnormals may be flushed at every operation
  bool widen = false;  ///< intermediates may overflow (range = "naive")
  rows::NanMode nan = rows::NanMode::propagate;
  std::optional<CastOverflowPolicy> cast_overflow;
  VarianceForm variance = VarianceForm::two_pass;
  int64_t depth = -1;                          ///< additions on the longest path; -1: n - 1
  std::map<std::string, int64_t> depth_along;  ///< the same, of reductions over one dimension
  int64_t online = 0;                          ///< block length of an online softmax; 0: not online
  const rows::Kernels* kernels = nullptr;      ///< null: the machine's best
  /// Nodes at places below it err: all, or, for explanations, the first of them.
  int64_t erring = std::numeric_limits<int64_t>::max();
};

/// Additions on the longest path of a reduction of n terms: what the contract states, at most n
/// - 1; Welford's steps as stated (docs/judging/welford.md). Of a sum in tensor cores: their steps,
/// and additions of the partial sums; unless stated ceil(n / k) instructions, which also covers
/// every split into whole instructions.
int64_t reduction_depth(const EvaluationSettings& settings, const Graph& graph, const Node& node,
                        int64_t n);

class RowEvaluator {
 public:
  explicit RowEvaluator(const Graph& graph);
  ~RowEvaluator();

  /// Begins a case: forgets all arrays. The references must live until the next start.
  void start(const Instance& instance, const OutputReader* outputs,
             const EvaluationSettings& settings);
  /// The same case with other settings.
  void restart(const EvaluationSettings& settings);

  const Value& at(int node, const Chunk& chunk);
  /// A node alone, from what the caller has put in place of its arguments' arrays.
  void apply(int node, const Chunk& chunk, const EvaluationSettings& settings, Value& out);
  Value& argument(int node) { return values_[static_cast<size_t>(node)]; }

  /// Extent of every dimension in this case.
  const std::vector<int64_t>& extents() const { return extents_; }
  const EvaluationSettings& settings() const { return settings_; }

  /// Changes with every start.
  int64_t case_number() const { return case_number_; }
  /// Changes with every start and restart.
  int64_t reading_number() const { return reading_number_; }
  /// Another evaluator of the same case with the same settings, so that elements may be looked up
  /// without the loss of the arrays that are here.
  RowEvaluator& beside();

  /// A NaN met a maximum or minimum and the contract states no policy.
  bool saw_undecided_nan() const { return saw_undecided_nan_; }

 private:
  friend class NodeWork;
  void find_extents();
  void evaluate(const Node& node, const Chunk& chunk, Value& out);
  const Graph& graph_;
  const Instance* instance_ = nullptr;
  const OutputReader* outputs_ = nullptr;
  EvaluationSettings settings_;
  const rows::Kernels* kernels_ = nullptr;
  std::vector<Value> values_;
  struct WholeOperand {
    bool loaded = false;
    int64_t asked = 0;  ///< elements that chunks have asked for
    Scratch<double> values;
  };
  std::vector<WholeOperand> whole_;  ///< one an operand
  std::vector<int64_t> extents_;
  bool saw_undecided_nan_ = false;
  int64_t case_number_ = 0;
  int64_t reading_number_ = 0;
  std::unique_ptr<RowEvaluator> beside_;
  int64_t reading_beside_ = -1;
  struct Buffers;
  std::unique_ptr<Buffers> buffers_;
};

/// What elements of an output hold after the run, as OutputReader::read gives them; but an inout
/// operand's element that the kernel left alone holds what it did before, and counts as written
/// (rule R1).
void read_held(const OutputReader& outputs, const Tensor& tensor, int64_t first, int64_t count,
               uint8_t* bits, uint8_t* written);

/// Reads elements of a box of an operand, in row-major order of the box, as packed bits.
void read_box(const Instance& instance, const OutputReader* outputs, const Tensor& tensor,
              const std::vector<int64_t>& low, const std::vector<int64_t>& extent, uint8_t* bits,
              uint8_t* written);

/// The bits of one packed element.
uint64_t packed_bits(const uint8_t* bits, int64_t index, int byte_size);

/// Values of packed floating-point elements.
void to_doubles(const rows::Kernels& kernels, DType type, int64_t count, const uint8_t* bits,
                double* out);

/// Constants of rounding into a format.
rows::Rounding rounding_of(DType type, bool flush);

}  // namespace assay
