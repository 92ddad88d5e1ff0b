// Judges the outputs of a case: match cheaply in the first tier, decide what is left element by
// element, go up a tier only for doubts (oracles/RULES.md).
#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/codes.hpp"
#include "oracles/judge_impl.hpp"
#include "oracles/walk.hpp"

namespace assay {

std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::pass:
      return "pass";
    case Outcome::mismatch:
      return "mismatch";
    case Outcome::fault:
      return "fault";
    case Outcome::undecided:
      return "undecided";
    case Outcome::skipped:
      return "skipped";
  }
  return "unknown";
}

namespace {

constexpr size_t kWrongListed = 4096;
/// Elements of a chunk's largest array: its rows stay within the second-level cache.
constexpr int64_t kChunkElements = 4096;

constexpr const char* kAskNan = "nan = \"propagate\"  # or \"ignore\", \"exclude\"";
constexpr const char* kAskRange = "range = \"naive\"  # or \"safe\"";
constexpr const char* kAskEmpty = "empty = \"nan\"  # or \"zero\"";
constexpr const char* kAskTie = "tie = \"free\"  # or \"first\", \"last\"";
constexpr const char* kAskCast = "cast_overflow = \"wrap\"  # or \"saturate\"";

/// An element that the fast match left.
struct Open {
  int64_t place = 0;  ///< in the chunk's output box, row-major
  int64_t at = 0;     ///< in the root's array
  double v = 0, e = 0, lo = 0, hi = 0;
};

class CaseJudge {
 public:
  CaseJudge(const Contract& contract, CompiledFormula& formula, const Instance& instance,
            const OutputReader& outputs, const JudgeOptions& options)
      : contract_(contract),
        formula_(formula),
        rows_(formula.rows),
        instance_(instance),
        outputs_(outputs),
        options_(options),
        settings_(settings_for(contract, instance)) {}

  Verdict run() {
    rows_.start(instance_, &outputs_, settings_);
    for (const Tensor& tensor : instance_.tensors)
      if (tensor.present && tensor.is_judged()) judge_output(tensor);
    conclude();
    return std::move(verdict_);
  }

 private:
  // --- boxes and chunks --------------------------------------------------------------------------

  void judge_output(const Tensor& tensor) {
    root_ = nullptr;
    for (const FormulaRoot& root : formula_.graph.roots)
      if (root.operand == tensor.position) root_ = &root;
    output_ = &tensor;
    for (const Box& box : owned_elements(instance_, tensor)) {
      std::vector<int64_t> low;
      std::vector<int64_t> extent;
      for (const auto& [first, last] : box.ranges) {
        low.push_back(first);
        extent.push_back(last - first);
      }
      if (box.elements() > 0) split(low, extent);
    }
  }

  /// Halves the outermost dimension until the largest array of a chunk fits.
  void split(std::vector<int64_t> low, std::vector<int64_t> extent) {
    if (largest_array(low, extent) > kChunkElements) {
      for (size_t k = 0; k < extent.size(); ++k) {
        if (extent[k] <= 1 || fixed_whole(k)) continue;
        const int64_t half = extent[k] / 2;
        auto low_right = low;
        auto right = extent;
        low_right[k] += half;
        right[k] -= half;
        extent[k] = half;
        split(low, extent);
        split(std::move(low_right), std::move(right));
        return;
      }
    }
    judge_chunk(low, extent);
  }

  /// A reduction runs over it, so every chunk evaluates it whole: splitting would repeat the work.
  bool fixed_whole(size_t axis) const {
    if (root_ == nullptr) return false;
    const auto& dims = formula_.graph.dims;
    const auto found = std::find(dims.begin(), dims.end(), output_->dims[axis]);
    return found != dims.end() &&
           formula_.graph.reduced_dim(static_cast<int>(found - dims.begin()));
  }

  int64_t largest_array(const std::vector<int64_t>& low, const std::vector<int64_t>& extent) const {
    int64_t most = 1;
    for (const int64_t e : extent) most *= e;
    if (root_ == nullptr || root_->raw_node >= 0) return most / 16;
    const Chunk chunk = chunk_for(formula_.graph, rows_, *output_, low, extent);
    for (const Node& node : formula_.graph.nodes) {
      int64_t size = 1;
      for (const int dim : node.dims) size *= chunk.extent[static_cast<size_t>(dim)];
      if (node.op != Op::load) most = std::max(most, size);
    }
    return most;
  }

  void judge_chunk(const std::vector<int64_t>& low, const std::vector<int64_t>& extent) {
    low_ = &low;
    extent_ = &extent;
    count_ = 1;
    for (const int64_t e : extent) count_ *= e;
    bits_.resize(static_cast<size_t>(count_ * byte_size(output_->dtype)));
    written_.assign(static_cast<size_t>(count_), 0);
    read_box(instance_, &outputs_, *output_, low, extent, bits_.data(), written_.data());
    const int64_t missing = std::count(written_.begin(), written_.end(), uint8_t{0});
    verdict_.unwritten += missing;
    if (missing > 0) list_unwritten();
    if (root_ == nullptr) return;
    chunk_ = chunk_for(formula_.graph, rows_, *output_, low, extent);
    verdict_.judged += count_ - missing;
    if (root_->raw_node >= 0)
      judge_bits();
    else if (is_floating(output_->dtype))
      judge_reals();
    else
      judge_integers();
    if (rows_.saw_undecided_nan()) ask(kAskNan);
  }

  // --- places ------------------------------------------------------------------------------------

  std::vector<int64_t> coordinates(int64_t place) const {
    std::vector<int64_t> at(extent_->size());
    for (size_t k = at.size(); k-- > 0;) {
      at[k] = (*low_)[k] + place % (*extent_)[k];
      place /= (*extent_)[k];
    }
    return at;
  }

  /// The chunk's output box as a grid over the graph's dimensions; unnamed axes have extent 1.
  Grid output_grid() const {
    Grid grid;
    const auto& dims = formula_.graph.dims;
    for (size_t k = 0; k < extent_->size(); ++k) {
      const auto found = std::find(dims.begin(), dims.end(), output_->dims[k]);
      grid.dims.push_back(found == dims.end() ? -1 - static_cast<int>(k)
                                              : static_cast<int>(found - dims.begin()));
      grid.low.push_back((*low_)[k]);
      grid.extent.push_back((*extent_)[k]);
      grid.size *= (*extent_)[k];
    }
    return grid;
  }

  uint64_t got_bits(int64_t place) const {
    return packed_bits(bits_.data(), place, byte_size(output_->dtype));
  }

  void ask(const char* line) {
    auto& lines = verdict_.missing_policies;
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.emplace_back(line);
  }

  void list_unwritten() {
    if (!verdict_.first_output.empty() && verdict_.first_output != output_->spec->name) return;
    if (verdict_.rule.empty()) {
      verdict_.rule = "R1";
      verdict_.first_output = output_->spec->name;
    }
    for (int64_t k = 0; k < count_ && verdict_.wrong_elements.size() < kWrongListed; ++k)
      if (written_[static_cast<size_t>(k)] == 0) list(k);
  }

  void list(int64_t place) {
    if (verdict_.first_output == output_->spec->name &&
        verdict_.wrong_elements.size() < kWrongListed)
      verdict_.wrong_elements.push_back(output_->linear(coordinates(place)));
  }

  /// `times`: its distance from the exact value as a multiple of what is allowed.
  void wrong(int64_t place, const char* rule, double times) {
    ++verdict_.wrong;
    if (verdict_.rule.empty() || verdict_.rule == "R1") {
      // A wrong value goes before elements of another output that nothing was stored to.
      if (verdict_.first_output != output_->spec->name) verdict_.wrong_elements.clear();
      verdict_.first_output = output_->spec->name;
      verdict_.rule = rule;
    }
    list(place);
    if (verdict_.worst_element >= 0 && !(times > verdict_.worst_times)) return;
    verdict_.worst_times = times;
    verdict_.worst_output = output_->spec->name;
    verdict_.worst_element = output_->linear(coordinates(place));
  }

  // --- bits and integers -------------------------------------------------------------------------

  template <typename Check>
  void each_integer(const Value& value, Check check) {
    const Grid out = output_grid();
    std::vector<int64_t> first(*low_);
    const int64_t base = position_in(formula_.graph, value.grid, *output_, first);
    for_runs<1>(out, {&value.grid},
                [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                  for (int64_t k = 0; k < n; ++k)
                    if (written_[static_cast<size_t>(done + k)] != 0)
                      check(done + k, base + offset[0] + k * stride[0]);
                });
  }

  void judge_bits() {
    const Value& value = rows_.at(root_->raw_node, chunk_);
    const int bytes = byte_size(output_->dtype);
    each_integer(value, [&](int64_t place, int64_t at) {
      const bool known = value.status == nullptr || value.status[at] == kKnown;
      if (!known)
        ++verdict_.no_bound;
      else if (packed_bits(bits_.data(), place, bytes) != static_cast<uint64_t>(value.i[at]))
        wrong(place, "R2", HUGE_VAL);
    });
  }

  void judge_integers() {
    const Node& node = formula_.graph.nodes[static_cast<size_t>(root_->node)];
    if (node.op == Op::argmax || node.op == Op::argmin) return judge_indices(node);
    const bool from_real =
        node.op == Op::cast && !formula_.graph.nodes[static_cast<size_t>(node.args[0])].integral;
    if (from_real) return judge_codes(node);
    const Value& value = rows_.at(root_->node, chunk_);
    each_integer(value, [&](int64_t place, int64_t at) {
      const uint8_t status = value.status == nullptr ? uint8_t{kKnown} : value.status[at];
      const IntegerExpectation expected = expected_integer(contract_, formula_.graph, root_->node,
                                                           output_->dtype, value.i[at], status);
      if (expected.missing_policy) ask(kAskCast);
      if (!expected.bounded)
        ++verdict_.no_bound;
      else if (expected.bits != got_bits(place))
        wrong(place, "R3", HUGE_VAL);
    });
  }

  /// An index is right if its score's upper limit reaches the greatest lower limit (rule R14).
  void judge_indices(const Node& node) {
    const Value& index = rows_.at(root_->node, chunk_);
    const Value& a = rows_.at(node.args[0], chunk_);
    const int along = node.reduced[0];
    const Grid lines = index.grid;
    std::vector<int64_t> base(static_cast<size_t>(std::max<int64_t>(lines.size, 1)));
    for_runs<1>(lines, {&a.grid},
                [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                  for (int64_t k = 0; k < n; ++k)
                    base[static_cast<size_t>(done + k)] = offset[0] + k * stride[0];
                });
    each_integer(index, [&](int64_t place, int64_t at) {
      const Scores scores{a.v,
                          a.e,
                          a.lo,
                          a.hi,
                          base[static_cast<size_t>(at)],
                          stride_along(a.grid, along),
                          chunk_.extent[static_cast<size_t>(along)],
                          node.op == Op::argmin ? -1.0 : 1.0};
      const IndexExpectation expected = expected_index(scores, settings_.nan);
      if (expected.asks_nan && !contract_.policy.nan) ask(kAskNan);
      if (expected.candidates > 1 && !contract_.policy.tie) ask(kAskTie);
      if (!expected.bounded)
        ++verdict_.no_bound;
      else if (!accepts_index(scores, expected, contract_.policy.tie,
                              to_integer(output_->dtype, got_bits(place))))
        wrong(place, "R14", HUGE_VAL);
    });
  }

  /// A code is right if some point of the enclosure converts to it (rule R15).
  void judge_codes(const Node& node) {
    const Value& value = rows_.at(root_->node, chunk_);
    const Value& a = rows_.at(node.args[0], chunk_);
    const auto of = [](const double* array, int64_t k) { return array == nullptr ? 0 : array[k]; };
    each_integer(value, [&](int64_t place, int64_t at) {
      const CodeRange range = accepted_codes(node, settings_.cast_overflow, a.v[at], of(a.e, at),
                                             of(a.lo, at), of(a.hi, at));
      if (range.missing_policy) ask(kAskCast);
      const __int128 got = to_integer(output_->dtype, got_bits(place));
      if (!range.bounded)
        ++verdict_.no_bound;
      else if (got < range.low || got > range.high)
        wrong(place, "R15", HUGE_VAL);
    });
  }

  // --- reals -------------------------------------------------------------------------------------

  void judge_reals() {
    const Value& value = rows_.at(root_->node, chunk_);
    open_.clear();
    match(value);
    if (open_.empty()) return;
    std::vector<Open> doubts;
    std::vector<Open> rejected;
    for (const Open& open : open_) {
      const Decision decision = first_decision(open);
      if (decision == Decision::accepted)
        count_accepted(open);
      else
        (decision == Decision::doubt ? doubts : rejected).push_back(open);
    }
    for (const Open& open : doubts) {
      const Decision decision = higher_decision(open);
      if (decision == Decision::accepted) count_accepted(open);
      if (decision == Decision::rejected) rejected.push_back(open);
      if (decision == Decision::doubt) ++verdict_.undecided;
    }
    if (!rejected.empty()) judge_rejected(rejected);
  }

  void match(const Value& value) {
    got_.resize(static_cast<size_t>(count_));
    ok_.resize(static_cast<size_t>(count_));
    const rows::Kernels& kernels =
        settings_.kernels != nullptr ? *settings_.kernels : rows::kernels();
    to_doubles(kernels, output_->dtype, count_, bits_.data(), got_.data());
    const FloatFormat format = format_of(output_->dtype);
    const FloatFormat inside = format_of(settings_.accumulate);
    const rows::MatchFormat constants{format.unit_roundoff(), std::ldexp(1.0, format.min_exponent),
                                      format.largest, std::ldexp(1.0, inside.min_exponent)};
    const Grid out = output_grid();
    const int64_t base = position_in(formula_.graph, value.grid, *output_, *low_);
    ArgumentView view(value);
    for_runs<1>(out, {&value.grid},
                [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                  for (int64_t k = 0; k < n; k += rows::kBlock) {
                    const int m = static_cast<int>(std::min<int64_t>(rows::kBlock, n - k));
                    const int64_t at = base + offset[0] + k * stride[0];
                    match_block(kernels, constants, view, done + k, at, stride[0], m);
                  }
                });
  }

  /// Contiguous views of a run of the root's array.
  class ArgumentView {
   public:
    explicit ArgumentView(const Value& value) : value_(value) {}
    rows::In block(int64_t at, int64_t stride, int n) {
      return {one(value_.v, 0, at, stride, n), one(value_.e, 1, at, stride, n),
              one(value_.lo, 2, at, stride, n), one(value_.hi, 3, at, stride, n)};
    }

   private:
    const double* one(const double* array, int which, int64_t at, int64_t stride, int n) {
      static constexpr double zeros[rows::kBlock] = {};
      if (array == nullptr) return zeros;
      if (stride == 1) return array + at;
      for (int k = 0; k < n; ++k) lane_[which][k] = array[at + k * stride];
      return lane_[which];
    }
    const Value& value_;
    double lane_[4][rows::kBlock];
  };

  void match_block(const rows::Kernels& kernels, const rows::MatchFormat& constants,
                   ArgumentView& view, int64_t place, int64_t at, int64_t stride, int n) {
    const rows::In a = view.block(at, stride, n);
    uint8_t* ok = ok_.data() + place;
    const rows::MatchTotals totals = kernels.match(n, a, got_.data() + place, constants, ok);
    verdict_.share = std::max(verdict_.share, totals.share);
    verdict_.weak += totals.weak;
    const bool start_higher = options_.first_tier != Tier::running_double;
    if (totals.all && !start_higher && !zero_rows_matter()) return;
    for (int k = 0; k < n; ++k) {
      if (written_[static_cast<size_t>(place + k)] == 0) continue;
      const bool nan_matters = zero_rows_matter() && std::isnan(a.v[k]);
      if (ok[k] == 0 || start_higher || nan_matters)
        open_.push_back({place + k, at + k * stride, a.v[k], a.e[k], a.lo[k], a.hi[k]});
    }
  }

  bool zero_rows_matter() const { return contract_.policy.empty == EmptyPolicy::zero; }

  Cell cell(const Open& open) const {
    const Cell plain = cell_of(output_->dtype, got_bits(open.place));
    return root_->saturates ? saturated_cell(output_->dtype, plain) : plain;
  }

  Decision decided(const Cell& c, const Margins& m, const Open& open) const {
    return root_->saturates ? decide_saturated(output_->dtype, c, m, open.lo, open.hi)
                            : decide(output_->dtype, c, m, open.lo, open.hi);
  }

  double times_allowed(const Open& open) const {
    const Cell c = cell(open);
    return excess_of(output_->dtype, c, margins_of(c, open.v, open.e, open.lo, open.hi), open.lo,
                     open.hi)
        .times;
  }

  Decision first_decision(const Open& open) const {
    if (options_.first_tier != Tier::running_double) return Decision::doubt;
    const Cell c = cell(open);
    return decided(c, margins_of(c, open.v, open.e, open.lo, open.hi), open);
  }

  Decision higher_decision(const Open& open) {
    if (accepts_anything(open.lo, open.hi)) return Decision::accepted;
    const Chunk single = element_chunk(formula_.graph, rows_, *output_, coordinates(open.place));
    const Cell c = cell(open);
    Decision decision = Decision::doubt;
    for (const Tier tier : {Tier::double_double, Tier::multiprecision}) {
      if (tier < options_.first_tier || tier > options_.last_tier) continue;
      ExactTier& exact =
          tier == Tier::double_double ? *formula_.double_double : *formula_.multiprecision;
      const Margins m = exact.margins(rows_, root_->node, single, c, open.lo, open.hi);
      decision = decided(c, m, open);
      if (decision != Decision::doubt) return decision;
    }
    return decision;
  }

  void count_accepted(const Open& open) {
    if (accepts_anything(open.lo, open.hi)) ++verdict_.no_bound;
  }

  /// Rejected by the plain reading: a policy may widen what is accepted.
  void judge_rejected(const std::vector<Open>& rejected) {
    std::vector<Open> left;
    for (const Open& open : rejected)
      if (!empty_row_accepts(open)) left.push_back(open);
    if (left.empty()) return;
    if (contract_.policy.range != RangePolicy::safe) left = judge_widened(left);
    for (const Open& open : left)
      wrong(open.place, std::isnan(open.v) ? "R5" : "R4", times_allowed(open));
  }

  /// The formula gives NaN although no input is NaN: an all-masked row, 0/0 (rule R8).
  bool empty_row_accepts(const Open& open) {
    if (!std::isnan(open.v) || cell(open).value != 0) return false;
    if (contract_.policy.empty == EmptyPolicy::nan || row_has_nan_or_infinity(open)) return false;
    ++verdict_.widened;
    if (!contract_.policy.empty) ask(kAskEmpty);
    return true;
  }

  bool row_has_nan_or_infinity(const Open& open) {
    const std::vector<int64_t> at = coordinates(open.place);
    const Chunk single =
        chunk_for(formula_.graph, rows_, *output_, at, std::vector<int64_t>(at.size(), 1));
    for (size_t id = 0; id < formula_.graph.nodes.size(); ++id) {
      const Node& node = formula_.graph.nodes[id];
      if (node.integral || (node.op != Op::load && node.op != Op::gather)) continue;
      const Value& value = rows_.at(static_cast<int>(id), single);
      for (int64_t k = 0; k < value.grid.size; ++k)
        if (std::isnan(value.v[k]) || value.v[k] > std::numeric_limits<double>::max()) return true;
    }
    return false;
  }

  /// range = "naive": intermediates of the declared form may overflow (rule R7).
  std::vector<Open> judge_widened(const std::vector<Open>& rejected) {
    EvaluationSettings widened = settings_;
    widened.widen = true;
    rows_.restart(widened);
    const Value& value = rows_.at(root_->node, chunk_);
    std::vector<Open> left;
    for (const Open& open : rejected) {
      Open wide = open;
      wide.lo = value.lo == nullptr ? 0 : value.lo[open.at];
      wide.hi = value.hi == nullptr ? 0 : value.hi[open.at];
      const bool grown = !(wide.lo <= open.lo) || !(wide.hi <= open.hi);
      Decision decision = Decision::rejected;
      if (grown) {
        const Cell c = cell(wide);
        decision = decided(c, margins_of(c, wide.v, wide.e, wide.lo, wide.hi), wide);
      }
      if (grown && decision == Decision::doubt) decision = higher_decision(wide);
      if (decision == Decision::rejected) left.push_back(open);
      if (decision == Decision::doubt) ++verdict_.undecided;
      if (decision == Decision::accepted) {
        ++verdict_.widened;
        if (!contract_.policy.range) ask(kAskRange);
      }
    }
    rows_.restart(settings_);
    return left;
  }

  void conclude() {
    Verdict& v = verdict_;
    if (v.wrong > 0) {
      v.outcome = Outcome::mismatch;
      v.message = v.first_output + ": " + std::to_string(v.wrong) + " of " +
                  std::to_string(v.judged) + " elements wrong";
      if (v.unwritten > 0) v.message += ", " + std::to_string(v.unwritten) + " unwritten";
    } else if (v.unwritten > 0) {
      v.outcome = Outcome::mismatch;
      v.rule = "R1";
      v.message = v.first_output + ": " + (v.judged == 0 ? "all " : "") +
                  std::to_string(v.unwritten) + " elements unwritten";
    } else if (v.undecided > 0) {
      v.outcome = Outcome::undecided;
      v.rule = "R6";
      v.message = std::to_string(v.undecided) + " elements undecided in the last tier";
    } else if (v.judged > 0 && v.no_bound == v.judged) {
      v.outcome = Outcome::skipped;
      v.rule = "R10";
      v.message = "no documented bound for any element (R10)";
    } else if (v.judged == 0 && owned_without_formula()) {
      v.outcome = Outcome::skipped;
      v.message = "no formula for any output";
    }
  }

  bool owned_without_formula() const {
    for (const Tensor& tensor : instance_.tensors)
      if (tensor.present && tensor.is_judged())
        for (const Box& box : owned_elements(instance_, tensor))
          if (box.elements() > 0) return true;
    return false;
  }

  const Contract& contract_;
  CompiledFormula& formula_;
  RowEvaluator& rows_;
  const Instance& instance_;
  const OutputReader& outputs_;
  const JudgeOptions& options_;
  const EvaluationSettings settings_;
  Verdict verdict_;
  const FormulaRoot* root_ = nullptr;
  const Tensor* output_ = nullptr;
  const std::vector<int64_t>* low_ = nullptr;
  const std::vector<int64_t>* extent_ = nullptr;
  int64_t count_ = 0;
  Chunk chunk_;
  std::vector<uint8_t> bits_;
  std::vector<uint8_t> written_;
  std::vector<double> got_;
  std::vector<uint8_t> ok_;
  std::vector<Open> open_;
};

}  // namespace

namespace {

/// What a contract may say and the judge cannot apply yet is refused here: reading past it would
/// accuse a correct kernel, or pass a wrong one.
void refuse_unjudged(const Contract& contract) {
  const auto refuse = [&contract](const SourceLocation& where, const std::string& what) {
    throw InputError(where.file.empty() ? SourceLocation{contract.path, 0, 0} : where,
                     what + " not judged yet");
  };
  // Saturation is judged for integers and 8-bit floats; a policy of integer outputs does not speak
  // of the floating ones beside them.
  bool floating_output = false;
  bool integer_output = false;
  for (const OperandSpec& operand : contract.args) {
    if (!operand.valid.empty())
      refuse(operand.where, "'" + operand.name + "': outputs of an extent known on the device are");
    if (operand.kind != OperandKind::output && operand.kind != OperandKind::inout) continue;
    const auto type = std::find_if(contract.types.begin(), contract.types.end(),
                                   [&](const TypeParameter& t) { return t.name == operand.dtype; });
    const std::vector<DType> kinds = type != contract.types.end()
                                         ? type->kinds
                                         : std::vector<DType>{*parse_dtype(operand.dtype)};
    const bool saturates = contract.policy.cast_overflow == CastOverflowPolicy::saturate;
    for (const DType kind : kinds) {
      integer_output |= !is_floating(kind);
      floating_output |= is_floating(kind) && !(saturates && bit_width(kind) == 8);
    }
  }
  for (const FormulaLine& line : contract.formula)
    if (!line.scatter.empty())
      refuse(line.where, "'" + line.name + "': outputs written by index are");
  const Policy& policy = contract.policy;
  if (policy.zero_order == ZeroOrderPolicy::signed_zero)
    refuse({}, "policy zero_order = \"signed\" is");
  if (floating_output && !integer_output && policy.cast_overflow &&
      policy.cast_overflow != CastOverflowPolicy::inf)
    refuse({}, "policy cast_overflow other than \"inf\" of floating-point outputs is");
}

}  // namespace

Judge::Judge(const Contract& contract) : impl_(new Impl{contract, {}}) {
  // Compile one variant of each type, so that a bad formula is told before any case runs.
  try {
    refuse_unjudged(contract);
    Variant variant;
    for (const TypeParameter& type : contract.types) variant.types[type.name] = type.kinds.front();
    for (const Knob& knob : contract.knobs) variant.knobs[knob.name] = knob.values.front();
    for (const std::string& flag : contract.flags) variant.flags[flag] = 1;
    compile_formula(impl_->contract, variant);
    for (const TypeParameter& type : contract.types)
      for (const DType kind : type.kinds) {
        Variant other = variant;
        other.types[type.name] = kind;
        compile_formula(impl_->contract, other);
      }
  } catch (...) {
    delete impl_;
    throw;
  }
}

Judge::~Judge() { delete impl_; }

CompiledFormula& Judge::Impl::formula(const Variant& variant) {
  auto& slot = compiled[variant];
  if (!slot) slot = std::make_unique<CompiledFormula>(compile_formula(contract, variant));
  return *slot;
}

Verdict Judge::judge(const Instance& instance, const OutputReader& outputs,
                     const JudgeOptions& options) const {
  CompiledFormula& formula = impl_->formula(instance.the_case.variant());
  return CaseJudge(impl_->contract, formula, instance, outputs, options).run();
}

}  // namespace assay
