// Explains one element: exact value in the last tier, the accepted set, each term of the allowance
// with its source, and the inputs that feed it. Deterministic to the bit: basic IEEE operations and
// integer arithmetic only, and numbers printed from their bits.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "oracles/accuracy_table.hpp"
#include "oracles/case_judge.hpp"
#include "oracles/codes.hpp"
#include "oracles/formula_text.hpp"
#include "oracles/functions.hpp"
#include "oracles/node_work.hpp"
#include "oracles/number_text.hpp"
#include "oracles/untouched.hpp"
#include "oracles/walk.hpp"

namespace assay {
namespace {

constexpr size_t kInputsListed = 8;

class Explainer {
 public:
  Explainer(const Contract& contract, CompiledFormula& formula, const Instance& instance,
            const OutputReader& outputs, const Tensor& output, int64_t logical)
      : contract_(contract),
        formula_(formula),
        rows_(formula.rows),
        instance_(instance),
        outputs_(outputs),
        output_(output),
        at_(output.coordinates(logical)),
        settings_(settings_for(contract, instance)) {
    report_.output = output.spec->name;
    report_.at = at_;
    uint8_t bits[8] = {};
    uint8_t written = 0;
    read_held(outputs, output, logical, 1, bits, &written);
    report_.written = written != 0;
    report_.got_bits = packed_bits(bits, 0, byte_size(output.dtype));
    report_.got = full_text(output.dtype, report_.got_bits);
    for (const FormulaRoot& root : formula.graph.roots)
      if (root.operand == output.position) root_ = &root;
    rows_.start(instance, &outputs, settings_);
    single_ = element_chunk(formula.graph, rows_, output, at_);
    whole_ = chunk_for(formula.graph, rows_, output, at_, std::vector<int64_t>(at_.size(), 1));
  }

  ElementReport run() {
    if (!report_.written) {
      report_.rule = "R1";
      report_.accepted = "a value: the kernel left this element unwritten";
    }
    const bool outside = !valid_box(instance_, outputs_, output_).holds(at_);
    if (root_ == nullptr || root_->scatters || outside) return explain_noted();
    list_inputs();
    if (root_->raw_node >= 0)
      explain_bits();
    else if (is_integer(output_.dtype))
      explain_integer();
    else
      explain_real();
    return std::move(report_);
  }

 private:
  /// What no formula over the output's own dimensions says: judges again and takes a note.
  ElementReport explain_noted() {
    const JudgeOptions options;
    CaseState state{contract_, formula_, instance_, outputs_, options, settings_};
    state.tally.watch(output_, output_.linear(at_));
    judge_case(state);
    const ElementNote& note = state.tally.note;
    if (!note.rule.empty()) set_rule(note.rule.c_str());
    if (report_.accepted.empty())
      report_.accepted = note.accepted.empty() ? "what the kernel wrote" : note.accepted;
    report_.exact = report_.accepted;
    report_.error_text = note.error;
    return std::move(report_);
  }

  std::string dim_name(int dim) const { return formula_.graph.dims[static_cast<size_t>(dim)]; }
  const Node& node(int id) const { return formula_.graph.nodes[static_cast<size_t>(id)]; }

  int64_t position(const Value& value) const {
    return position_in(formula_.graph, value.grid, output_, at_);
  }

  void set_rule(const char* rule) {
    if (report_.rule.empty()) report_.rule = rule;
  }

  void explain_bits() {
    const Value& value = rows_.at(root_->raw_node, whole_);
    const int64_t k = position(value);
    const auto bits = static_cast<uint64_t>(value.i[k]);
    report_.exact = full_text(output_.dtype, bits);
    if (report_.accepted.empty()) report_.accepted = "the bits " + hex(output_.dtype, bits);
    if (is_floating(output_.dtype) && report_.written) set_error(to_double(output_.dtype, bits));
    if (report_.written)
      report_.error_text = "the bits differ; nothing but the copied bits is right";
    if (report_.got_bits == bits) report_.error_text.clear();
    set_rule("R2");
  }

  void explain_integer() {
    const Node& n = node(root_->node);
    if (n.op == Op::argmax || n.op == Op::argmin) return explain_index(n);
    if (n.op == Op::cast && !node(n.args[0]).integral) return explain_code(n);
    const Value& value = rows_.at(root_->node, whole_);
    const int64_t k = position(value);
    const uint8_t status = value.status == nullptr ? uint8_t{kKnown} : value.status[k];
    const IntegerExpectation expected =
        expected_integer(contract_, formula_.graph, root_->node, output_.dtype, value.i[k], status);
    report_.exact = status == kKnown ? wide_text(value.i[k]) : "undefined";
    if (report_.written && status == kUndefined) return explain_no_bound();
    if (report_.accepted.empty())
      report_.accepted = expected.bounded ? "{" + element_text(output_.dtype, expected.bits) + "}"
                                          : "anything: nothing is documented here";
    if (report_.written && status == kKnown) {
      const __int128 off = to_integer(output_.dtype, report_.got_bits) - value.i[k];
      if (off != 0) report_.error_text = "off by " + wide_text(off);
    }
    set_rule("R3");
  }

  /// The candidates, and their scores (rule R14).
  void explain_index(const Node& n) {
    rows_.at(root_->node, whole_);
    const Value& a = rows_.at(n.args[0], whole_);
    const int along = n.reduced[0];
    const Scores scores{a.v,
                        a.e,
                        a.lo,
                        a.hi,
                        position(a),
                        stride_along(a.grid, along),
                        whole_.extent[static_cast<size_t>(along)],
                        n.op == Op::argmin ? -1.0 : 1.0};
    const IndexExpectation expected = expected_index(scores, settings_.nan);
    set_rule("R14");
    if (!expected.bounded) return explain_no_bound();
    const auto score_text = [&](int64_t j) {
      return score_of(n) + "[" + dim_name(along) + "=" + std::to_string(j) +
             "] = " + shortest(a.v[scores.base + j * scores.step]);
    };
    constexpr int64_t listed = 8;
    const auto tie = contract_.policy.tie;
    int64_t shown = 0;
    std::string indices;
    for (int64_t j = 0; j < scores.n && shown <= listed; ++j) {
      if (!accepts_index(scores, expected, tie, j)) continue;
      if (++shown > listed) {
        indices += ", ...";
        break;
      }
      indices += (indices.empty() ? "" : ", ") + std::to_string(j);
      report_.candidates.push_back(score_text(j));
    }
    report_.exact = "the " + std::string(n.op == Op::argmin ? "smallest" : "largest") + " " +
                    score_text(expected.first);
    if (report_.accepted.empty()) report_.accepted = "{" + indices + "}" + tie_text(expected, tie);
    if (!report_.written) return;
    const __int128 got = to_integer(output_.dtype, report_.got_bits);
    if (got < 0 || got >= scores.n)
      report_.error_text = "no index: " + dim_name(along) + " has " + std::to_string(scores.n);
    else if (accepts_index(scores, expected, tie, got))
      report_.error_text.clear();
    else
      report_.error_text = "its score is " + score_text(static_cast<int64_t>(got));
  }

  std::string score_of(const Node& n) const {
    const std::string text = node_text(node(n.args[0]));
    return text.find(' ') == std::string::npos || text.front() == '(' ? text : "(" + text + ")";
  }

  static std::string tie_text(const IndexExpectation& expected, std::optional<TiePolicy> tie) {
    if (expected.nan) return ": a NaN is the extremum (policy nan)";
    if (expected.candidates <= 1) return "";
    if (!expected.exact) return ": their enclosures reach the greatest lower limit";
    if (!tie) return ": tied, and policy tie is missing";
    if (*tie == TiePolicy::free) return ": tied, policy tie = \"free\"";
    return std::string(": of ") + std::to_string(expected.candidates) +
           " that tie, policy tie = " + (*tie == TiePolicy::first ? "\"first\"" : "\"last\"");
  }

  /// The codes that some point of the enclosure converts to (rule R15).
  void explain_code(const Node& n) {
    const Value& a = rows_.at(n.args[0], whole_);
    const int64_t k = position(a);
    const double lo = element(a.lo, k);
    const double hi = element(a.hi, k);
    const CodeRange range =
        accepted_codes(n, settings_.cast_overflow, a.v[k], element(a.e, k), lo, hi);
    set_rule("R15");
    const int converted = n.args[0];
    report_.exact = formula_.multiprecision->text(rows_, converted, single_, 17) +
                    " before it is converted to " + std::string(name(n.type));
    if (!range.bounded) return explain_no_bound();
    if (report_.accepted.empty()) report_.accepted = codes_text(range);
    if (!report_.written) return;
    list_terms(converted);
    report_.allowance = std::max(lo, hi);
    report_.allowance_text = "absolute " + brief(report_.allowance) + ", before the conversion";
    const __int128 got = to_integer(output_.dtype, report_.got_bits);
    if (range.holds(got)) return;
    const __int128 off = got - (got > range.high ? range.high : range.low);
    report_.error_text = range.others.empty() ? "off by " + wide_text(off) : "none of these";
  }

  static std::string codes_text(const CodeRange& range) {
    if (range.low != range.high)
      return "[" + wide_text(range.low) + ", " + wide_text(range.high) + "]";
    std::string text = wide_text(range.low);
    for (const __int128 other : range.others) text += ", " + wide_text(other);
    return "{" + text + "}" + (range.others.empty() ? "" : ": wrapped, by way of what a conversion saturates to");
  }

  /// Nothing is documented: which term is the first without a bound, and why.
  void explain_no_bound() {
    report_.rule = "R10";
    report_.accepted = "anything: no bound is documented here";
    report_.error_text.clear();
    report_.allowance_text.clear();
    const int top = root_->raw_node >= 0 ? root_->raw_node : root_->node;
    for (int id = 0; id <= top; ++id) {
      if (!formula_.graph.feeds(id, top)) continue;
      const Value& value = rows_.at(id, whole_);
      if (!unbounded(node(id), value)) continue;
      report_.no_bound = node_text(node(id)) + ": " + no_bound_reason(node(id));
      return;
    }
  }

  static bool unbounded(const Node& n, const Value& value) {
    for (int64_t k = 0; k < value.grid.size; ++k) {
      if (n.integral && value.status != nullptr && value.status[k] == kUndefined) return true;
      if (n.integral || value.lo == nullptr || value.hi == nullptr) continue;
      if (accepts_anything(value.lo[k], value.hi[k])) return true;
    }
    return false;
  }

  std::string no_bound_reason(const Node& n) const {
    switch (n.op) {
      case Op::max:
      case Op::min:
      case Op::max2:
      case Op::min2:
      case Op::argmax:
      case Op::argmin:
        return "NaN among what is compared, and policy nan does not say what it gives (R9)";
      case Op::function:
        return "outside the range for which an accuracy is published, or where the function is "
               "singular or overflows (R10, R13)";
      case Op::div:
        return n.integral ? "divided by 0 (R3)"
                          : "what divides may be 0, or lies outside the range for which an "
                            "accuracy is published (R10, R13)";
      case Op::gather:
        return "an index out of range (R3)";
      case Op::cast:
        if (contract_.policy.cast_overflow == CastOverflowPolicy::wrap)
          return "beyond the type, where what it wraps to depends on the width of the conversion's "
                 "instruction, or no code alone is certain (R15)";
        return "beyond the type, and policy cast_overflow does not say what it gives (R15)";
      case Op::shift_left:
      case Op::shift_right:
        return "shifted by 64 or more (R3)";
      default:
        return "infinities of both signs may meet in it, or its order of operations may overflow "
               "(R7)";
    }
  }

  void set_error(double exact) {
    const double got = to_double(output_.dtype, report_.got_bits);
    const double away = std::fabs(got - exact);
    if (!std::isnan(away)) report_.error_ulps = away / ulp(output_.dtype, exact);
  }

  void explain_real() {
    const Value& value = rows_.at(root_->node, whole_);
    const int64_t k = position(value);
    const double v = value.v[k];
    double lo = value.lo == nullptr ? 0 : value.lo[k];
    double hi = value.hi == nullptr ? 0 : value.hi[k];
    report_.exact = formula_.multiprecision->text(rows_, root_->node, single_, 17);
    const Cell cell = output_cell(*root_, output_.dtype, report_.got_bits, settings_);
    const Margins exact =
        formula_.multiprecision->margins(rows_, root_->node, single_, cell, lo, hi);
    const Excess excess = excess_of(output_.dtype, cell, exact, lo, hi);
    if (report_.written) set_error(exact.value);
    side_ = excess.allowance == 0 || !report_.written ? Side::wider
            : exact.over > exact.under                ? Side::above
                                                      : Side::below;
    list_terms(root_->node);
    add_output_rounding(exact.value);
    report_.allowance = of_side(lo, hi) + (std::isfinite(v) ? half_ulp(exact.value) : 0);
    report_.times_allowed = excess.times;
    report_.times_internal = excess.times_internal;
    if (accepts_anything(lo, hi)) return explain_no_bound();
    if (report_.written) describe_error(exact, excess);
    if (report_.accepted.empty())
      report_.accepted = accepted_text(exact, lo, hi) + (exact.nan ? limit_text() : "");
    set_rule(exact.nan ? "R5" : "R4");
  }

  /// The allowance on the side of the exact value where the element lies.
  double of_side(double lo, double hi) const {
    return side_ == Side::above ? hi : side_ == Side::below ? lo : std::max(lo, hi);
  }

  void describe_error(const Margins& exact, const Excess& excess) {
    const double got = to_double(output_.dtype, report_.got_bits);
    if (root_->saturates && exact.infinite != 0) {
      report_.error_text = "not comparable: the largest finite number expected";
      return;
    }
    if (exact.nan != std::isnan(got) || exact.infinite != 0 || !std::isfinite(got)) {
      if (exact.nan && std::isnan(got)) return;
      report_.error_text = exact.nan             ? "not comparable: NaN expected"
                           : std::isnan(got)     ? "not comparable: got NaN"
                           : exact.infinite != 0 ? "not comparable: infinity expected"
                                                 : "not comparable: got infinity";
      if (exact.nan || exact.infinite != 0) return;
    }
    const double unit = ulp(output_.dtype, exact.value);
    report_.allowance_text =
        brief(report_.allowance / unit) + " ulps, absolute " + brief(report_.allowance);
    if (!report_.error_text.empty()) return;
    report_.error_text = brief(report_.error_ulps) + " ulps, absolute " + brief(excess.distance);
    if (!(excess.times > 1)) return;
    report_.error_text += ": " + multiple(excess.times) + " times what is allowed";
    if (std::isfinite(excess.times_internal))
      report_.error_text +=
          " (" + multiple(excess.times_internal) + " times without the output's rounding)";
  }

  double half_ulp(double x) const { return ulp(output_.dtype, x) / 2; }

  std::string accepted_text(const Margins& exact, double lo, double hi) const {
    if (exact.nan) return "NaN";
    const double largest = format_of(output_.dtype).largest;
    if (root_->saturates && exact.infinite != 0)
      return "{" +
             full_text(output_.dtype, round_to_bits(output_.dtype, exact.infinite * largest)) +
             "}: saturated";
    if (exact.infinite != 0) return exact.infinite > 0 ? "inf" : "-inf";
    const auto rounded = [this, largest](double x) {
      if (root_->saturates) x = std::clamp(x, -largest, largest);
      return full_text(output_.dtype, round_to_bits(output_.dtype, x));
    };
    const std::string low = rounded(exact.value - lo);
    const std::string high = rounded(exact.value + hi);
    return low == high ? "{" + low + "}" : "[" + low + ", " + high + "]";
  }

  /// What the definition gives where the formula is NaN (rule R5).
  std::string limit_text() {
    if (root_->limits < 0) return "";
    const Value& value = rows_.at(root_->limits, whole_);
    const int64_t k = position(value);
    if (std::isnan(value.v[k]) || accepts_anything(element(value.lo, k), element(value.hi, k)))
      return "";
    return " or " + full_text(output_.dtype, round_to_bits(output_.dtype, value.v[k]));
  }

  // --- terms of the allowance --------------------------------------------------------------------

  /// Each node's own share: what the allowance is when that node alone errs.
  void list_terms(int top) {
    for (size_t id = 0; id < formula_.graph.nodes.size(); ++id) {
      const Node& n = formula_.graph.nodes[id];
      if (!may_err(n) || !feeds(top, static_cast<int>(id))) continue;
      EvaluationSettings alone = settings_;
      alone.only = static_cast<int>(id);
      rows_.restart(alone);
      const Value& value = rows_.at(top, whole_);
      const int64_t k = position(value);
      const double own =
          of_side(value.lo == nullptr ? 0 : value.lo[k], value.hi == nullptr ? 0 : value.hi[k]);
      if (own > 0 || std::isnan(own)) report_.terms.push_back({term_name(n), own, term_source(n)});
    }
    rows_.restart(settings_);
    std::stable_sort(
        report_.terms.begin(), report_.terms.end(),
        [](const AllowanceTerm& a, const AllowanceTerm& b) { return a.value > b.value; });
  }

  static bool may_err(const Node& n) {
    return n.op == Op::settle || n.op == Op::sum || n.op == Op::mean || n.op == Op::var ||
           n.op == Op::div || n.op == Op::prescaled || n.op == Op::rescaled || n.op == Op::total ||
           (n.op == Op::function && !n.integral && !find_function(n.text)->exact);
  }

  int64_t reduced_count(const Node& n) const {
    int64_t count = 1;
    for (const int dim : n.reduced) count *= rows_.extents()[static_cast<size_t>(dim)];
    return count;
  }

  std::string term_name(const Node& n) const {
    const std::string text = node_text(n);
    const bool welford = settings_.variance == VarianceForm::welford;
    const int64_t depth = reduction_depth(settings_, formula_.graph, n, reduced_count(n));
    switch (n.op) {
      case Op::settle:
        return "rounding of " + node_text(node(n.args[0])) + " to " + std::string(name(n.type)) +
               (n.weight > 1 ? ": " + std::to_string(n.weight) + " u" : ": u");
      case Op::sum:
        if (n.mma_products > 0)
          return text + ": " + std::to_string(depth) + " steps of tensor cores, each (" +
                 std::to_string(n.mma_products) + " + 1) 2^" +
                 std::to_string(-23 - n.mma_extra_bits) + " + 2 u of sum|terms|";
        return text + ": " + std::to_string(depth) + " u sum|terms|";
      case Op::prescaled:
        return text + ": log2 e and the products with it";
      case Op::total:
        return text +
               ": added in any order, one more addition than the terms of its sum, each u of "
               "their magnitudes (R11)";
      case Op::rescaled:
        return text + ": a factor at each new maximum";
      case Op::mean:
        if (welford) return text + ": Welford, " + std::to_string(depth) + " steps of 7 u max|x|";
        return text + ": " + std::to_string(depth) + " u sum|terms| / n, and the reciprocal of n";
      case Op::var:
        if (welford)
          return text + ": Welford, " + std::to_string(depth) +
                 " steps, each from means that are off by " + std::to_string(depth) +
                 " x 7 u max|x|";
        return text + ": (" + std::to_string(depth) + " + 5) u var + delta^2";
      case Op::div:
        if (reciprocal_serves(formula_.graph, n))
          return text + ": " + published_text(n) + ", or the reciprocal of the divisor taken once" +
                 (divides_by_root(formula_.graph, n) ? " by rsqrt: " : ": ") +
                 brief(reciprocal_error(formula_.graph, n, settings_)) + " relative (R16)";
        return text + ": " + published_text(n);
      default:
        return text + ": " + published_text(n);
    }
  }

  std::string published_text(const Node& n) const {
    const auto table =
        accuracy_rows(n.op == Op::div ? "div" : n.text, settings_.arithmetic, settings_.math);
    if (table.empty()) return "no published accuracy";
    const AccuracyRow& row = table.front();
    if (row.measure == ErrorMeasure::absolute) return shortest(row.base) + " absolute";
    if (row.measure == ErrorMeasure::relative) return shortest(row.base) + " relative";
    std::string text = shortest(row.base);
    if (row.slope != 0) text += " + floor(" + shortest(row.slope) + " |x|)";
    return text + " ulp of the correctly rounded result";
  }

  std::string term_source(const Node& n) const {
    switch (n.op) {
      case Op::settle:
      case Op::prescaled:
        return "IEEE 754-2019, round to nearest";
      case Op::rescaled:
        return "docs/judging/attention.md";
      case Op::total:
        return "docs/judging.md, sums with a starting value";
      case Op::sum:
        if (n.mma_products > 0) return "Fasi et al. 2021; docs/judging/matmul.md";
        return "Jeannerod & Rump 2013";
      case Op::mean:
        return "Jeannerod & Rump 2013";
      case Op::var:
        return "Chan, Golub & LeVeque 1983; docs/judging.md";
      default: {
        const auto table =
            accuracy_rows(n.op == Op::div ? "div" : n.text, settings_.arithmetic, settings_.math);
        return table.empty() ? "" : std::string(table.front().source);
      }
    }
  }

  void add_output_rounding(double exact) {
    if (!std::isfinite(exact)) return;
    report_.terms.push_back({"rounding of " + report_.output + " to " +
                                 std::string(name(output_.dtype)) + ": half an ulp",
                             half_ulp(exact), "IEEE 754-2019, round to nearest"});
  }

  std::string node_text(const Node& n) const { return formula_text(contract_, formula_.graph, n); }

  // --- inputs ------------------------------------------------------------------------------------

  struct Feeding {
    double weight = 0;  ///< larger: listed first
    std::string text;
  };

  void list_inputs() {
    std::vector<Feeding> found;
    const int top = root_->raw_node >= 0 ? root_->raw_node : root_->node;
    for (size_t id = 0; id < formula_.graph.nodes.size(); ++id) {
      const Node& n = formula_.graph.nodes[id];
      const bool reads =
          (n.op == Op::load || n.op == Op::gather) && (n.raw ? static_cast<int>(id) == top : true);
      if (reads && feeds(top, static_cast<int>(id))) list_operand(static_cast<int>(id), n, found);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Feeding& a, const Feeding& b) { return a.weight > b.weight; });
    for (size_t k = 0; k < std::min(found.size(), kInputsListed); ++k)
      report_.inputs.push_back({found[k].text});
  }

  bool feeds(int top, int id) const {
    std::vector<bool> reached(formula_.graph.nodes.size(), false);
    reached[static_cast<size_t>(top)] = true;
    for (int k = top; k >= 0; --k)
      if (reached[static_cast<size_t>(k)])
        for (const int arg : node(k).args) reached[static_cast<size_t>(arg)] = true;
    return reached[static_cast<size_t>(id)];
  }

  /// Elements at the output's own coordinates first, then the largest of the reduced rows; NaN and
  /// infinities before all.
  void list_operand(int id, const Node& n, std::vector<Feeding>& found) {
    const Tensor& tensor = instance_.tensors[static_cast<size_t>(n.operand)];
    const Value& value = rows_.at(id, whole_);
    const auto listed = static_cast<int64_t>(kInputsListed);
    std::vector<std::pair<double, int64_t>> order;
    const int64_t own = position_if_inside(value);
    for (int64_t k = 0; k < value.grid.size; ++k) {
      const double x = n.integral ? static_cast<double>(value.i[k]) : value.v[k];
      double weight = std::isfinite(x) ? std::fabs(x) : 1e308;
      if (k == own) weight = HUGE_VAL;
      order.push_back({weight, k});
    }
    const auto middle = order.begin() + std::min<int64_t>(listed, value.grid.size);
    std::partial_sort(order.begin(), middle, order.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    for (auto it = order.begin(); it != middle; ++it)
      found.push_back({it->first, input_text(n, tensor, value, it->second)});
  }

  int64_t position_if_inside(const Value& value) const {
    const int64_t k = position(value);
    return k >= 0 && k < value.grid.size ? k : -1;
  }

  std::string input_text(const Node& n, const Tensor& tensor, const Value& value, int64_t k) {
    std::vector<int64_t> place(value.grid.dims.size());
    int64_t rest = k;
    for (size_t d = place.size(); d-- > 0;) {
      place[d] = value.grid.low[d] + rest % value.grid.extent[d];
      rest /= value.grid.extent[d];
    }
    std::string text = tensor.spec->name;
    std::string inner;
    if (n.op == Op::load) {
      for (const int64_t c : place) inner += (inner.empty() ? "" : ",") + std::to_string(c);
    } else {
      for (size_t axis = 0; axis < tensor.dims.size(); ++axis) {
        const std::string at = gathered_at(n, tensor, value, place, static_cast<int>(axis));
        if (!at.empty()) inner += (inner.empty() ? "" : ",") + tensor.dims[axis] + "=" + at;
      }
    }
    if (!inner.empty()) text += "[" + inner + "]";
    const uint64_t bits = n.raw        ? static_cast<uint64_t>(value.i[k])
                          : n.integral ? static_cast<uint64_t>(value.i[k]) & mask(tensor.dtype)
                                       : round_to_bits(tensor.dtype, value.v[k]);
    text += " = " + element_text(tensor.dtype, bits) + " (" + hex(tensor.dtype, bits);
    return text + (tensor.spec->pack ? ": " + packed_text(*tensor.spec->pack, bits) : "") + ")";
  }

  /// Where a gathered element lies along one axis: its index's value, or its own coordinate.
  std::string gathered_at(const Node& n, const Tensor& tensor, const Value& value,
                          const std::vector<int64_t>& place, int axis) {
    for (size_t a = 0; a < n.args.size(); ++a) {
      if (n.indexed[a] != axis) continue;
      const Value& index = rows_.at(n.args[a], whole_);
      int64_t offset = 0;
      for (size_t d = 0; d < place.size(); ++d)
        offset += (place[d] - value.grid.low[d]) * stride_along(index.grid, value.grid.dims[d]);
      return wide_text(index.i[offset]);
    }
    for (size_t d = 0; d < place.size(); ++d)
      if (dim_name(value.grid.dims[d]) == tensor.dims[static_cast<size_t>(axis)])
        return std::to_string(place[d]);
    return "";
  }

  static uint64_t mask(DType type) {
    return bit_width(type) >= 64 ? ~uint64_t{0} : (uint64_t{1} << bit_width(type)) - 1;
  }

  const Contract& contract_;
  CompiledFormula& formula_;
  RowEvaluator& rows_;
  const Instance& instance_;
  const OutputReader& outputs_;
  const Tensor& output_;
  const std::vector<int64_t> at_;
  const EvaluationSettings settings_;
  const FormulaRoot* root_ = nullptr;
  enum class Side { wider, above, below };
  Side side_ = Side::wider;
  Chunk single_;
  Chunk whole_;
  ElementReport report_;
};

}  // namespace

ElementReport Judge::explain(const Instance& instance, const OutputReader& outputs,
                             const std::string& output, int64_t logical) const {
  CompiledFormula& formula = impl_->formula(instance.the_case.variant());
  const Tensor* tensor = instance.find(output);
  if (tensor == nullptr || !tensor->is_judged())
    throw InputError({}, "'" + output + "' is no output of " + impl_->contract.name);
  return Explainer(impl_->contract, formula, instance, outputs, *tensor, logical).run();
}

}  // namespace assay
