// Private to the first tier: evaluates one node into its arrays.
#pragma once

#include <array>
#include <vector>

#include "oracles/evaluate.hpp"
#include "oracles/walk.hpp"

namespace assay {

struct AccuracyRow;

/// A table row with the half ulp that a published figure leaves out.
rows::Accuracy accuracy_of(const AccuracyRow& row);

// evaluate_quotient.cpp: divisors that are constant along a dimension of the result, or that divide
// another quotient too (rule R16).
bool reciprocal_serves(const Graph& graph, const Node& node);
/// By a square root, whose reciprocal is one operation.
bool divides_by_root(const Graph& graph, const Node& node);
/// What multiplying by a reciprocal may add, relative to the quotient.
double reciprocal_error(const Graph& graph, const Node& node, const EvaluationSettings& settings);

// evaluate_total.cpp
/// range = "naive": a partial sum of the terms of one sign, `up` or the negative ones' sizes
/// `down`, may pass `limit` (as far as adding them errs, relatively `growth`): the total may be
/// that infinity, or, where both may, any value (rule R7).
void partial_sums_overflow(double up, double down, double growth, double limit, double& lo,
                           double& hi);

/// Between what a correct kernel's number lies.
struct Ends {
  double low = 0;
  double high = 0;
};

/// Scratch memory shared by all nodes of an evaluator.
struct RowEvaluator::Buffers {
  Scratch<uint8_t> bits;
  Scratch<uint8_t> written;
  Scratch<double> lane[4];           ///< a strided row gathered for a reduction: v, e, lo, hi
  double splat[3][4][rows::kBlock];  ///< broadcast or strided arguments of one block
  double zeros[rows::kBlock] = {};
};

/// Presents the runs of an argument as contiguous blocks.
class ArgumentBlocks {
 public:
  ArgumentBlocks(const Value& value, double (*splat)[rows::kBlock], const double* zeros)
      : value_(value), splat_(splat), zeros_(zeros) {}

  /// Elements offset + stride [0, n) of the argument.
  rows::In block(int64_t offset, int64_t stride, int n) {
    if (stride == 0 && offset == filled_offset_ && n <= filled_) return held_;
    held_ = {one(value_.v, 0, offset, stride, n), one(value_.e, 1, offset, stride, n),
             one(value_.lo, 2, offset, stride, n), one(value_.hi, 3, offset, stride, n)};
    filled_offset_ = stride == 0 ? offset : -1;
    filled_ = n;
    return held_;
  }

 private:
  const double* one(const double* array, int which, int64_t offset, int64_t stride, int n) {
    if (array == nullptr) return zeros_;
    if (stride == 1) return array + offset;
    double* out = splat_[which];
    for (int k = 0; k < n; ++k) out[k] = array[offset + k * stride];
    return out;
  }

  const Value& value_;
  double (*splat_)[rows::kBlock];
  const double* zeros_;
  int64_t filled_offset_ = -1;
  int filled_ = 0;
  rows::In held_{};
};

class NodeWork {
 public:
  NodeWork(RowEvaluator& evaluator, const Node& node, Value& out, const Chunk& chunk)
      : evaluator_(evaluator), node_(node), out_(out), chunk_(chunk) {}
  void evaluate();

 private:
  const Value& argument(size_t k) const;
  const Node& argument_node(size_t k) const;
  rows::Out arrays();
  void flags(int seen);
  bool errs() const;  ///< what this node itself adds to an allowance counts

  // evaluate_leaves.cpp
  void constant();
  void dim_index();
  void load();
  bool load_from_whole(const Tensor& tensor);
  void load_box(const Tensor& tensor, uint8_t* bits);
  uint8_t* gather_bits(const Tensor& tensor, uint8_t* bits);
  int64_t gather_run(const Tensor& tensor, const std::vector<int>& axis_of_dim) const;
  bool gather_place(const Tensor& tensor, const std::vector<int>& axis_of_dim, int64_t k,
                    std::vector<int64_t>& at) const;
  void flush_inputs(const double* v);
  void forget_undefined();

  // evaluate_real.cpp
  void elementwise();
  void prescaled();
  template <typename Kernel>
  void unary(Kernel kernel);
  template <typename Kernel>
  void binary(Kernel kernel);
  void may_overflow();
  void publish(std::string_view operation, size_t argument);
  void settle();
  void function();
  void choice();
  void from_integers();

  // evaluate_comparison.cpp
  void comparison();
  /// is_nan, is_inf: known where every value that a correct kernel may hold agrees.
  void special_value();

  // evaluate_special.cpp
  void keep_unbounded_nan();
  int source_of(size_t which, bool below_roots) const;
  bool computes(int id) const;           ///< it is no operand's element, moved
  bool is_computed(size_t which) const;  ///< of an argument, below its roundings
  bool sign_is_open(size_t which) const;
  void free_zero_signs(size_t divisor);
  void at_most_one();

  // evaluate_quotient.cpp
  void hoisted_reciprocal();

  // evaluate_function.cpp
  class FunctionBlock;
  void table_function();

  // evaluate_weights.cpp
  template <size_t N, typename Visit>
  void lines_along(int along, const std::array<const Grid*, N>& args, Visit visit);
  void pass_through(const Value& argument);
  std::vector<std::vector<Ends>> other_operands(int along);
  void rescaled();
  void hull();
  void clip_shares(const Value& q, const Value& w, double relative, double absolute,
                   bool may_vanish, double* e, double* lo, double* hi);

  // evaluate_integer.cpp
  void integers();
  void integer_reduction();

  // evaluate_reduction.cpp
  void reduction();
  void running_overflow();
  std::vector<double> aligned_products() const;

  // evaluate_total.cpp
  void total();

  // evaluate_forms.cpp
  void forms();

  // evaluate_scan.cpp
  template <typename Visit>
  void each_line(const Value& argument, Visit visit);
  void scan();
  void integer_scan();
  void index_of_extremum();

  // evaluate_codes.cpp
  void conversion();
  void integer_conversion();

  RowEvaluator& evaluator_;
  const Node& node_;
  Value& out_;
  const Chunk& chunk_;
};

}  // namespace assay
