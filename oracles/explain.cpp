// Explains one element: exact value in the last tier, the accepted set, each term of the allowance
// with its source, and the inputs that feed it. Deterministic to the bit: basic IEEE operations and
// integer arithmetic only, and numbers printed from their bits.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "oracles/accuracy_table.hpp"
#include "oracles/functions.hpp"
#include "oracles/case_judge.hpp"
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
    outputs.read(output, logical, 1, bits, &written);
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
    const bool outside = !holds(valid_box(instance_, outputs_, output_), at_);
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
    const Value& value = rows_.at(root_->node, whole_);
    const int64_t k = position(value);
    const uint8_t status = value.status == nullptr ? uint8_t{kKnown} : value.status[k];
    const IntegerExpectation expected =
        expected_integer(contract_, formula_.graph, root_->node, output_.dtype, value.i[k], status);
    report_.exact = status == kKnown ? wide_text(value.i[k]) : "undefined";
    if (report_.accepted.empty())
      report_.accepted = expected.bounded ? "{" + element_text(output_.dtype, expected.bits) + "}"
                                          : "anything: nothing is documented here";
    if (report_.written && status == kKnown) {
      const __int128 off = to_integer(output_.dtype, report_.got_bits) - value.i[k];
      if (off != 0) report_.error_text = "off by " + wide_text(off);
    }
    set_rule("R3");
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
    const Cell cell = cell_of(output_.dtype, report_.got_bits);
    const Margins exact =
        formula_.multiprecision->margins(rows_, root_->node, single_, cell, lo, hi);
    const Excess excess = excess_of(output_.dtype, cell, exact, lo, hi);
    if (report_.written) set_error(exact.value);
    side_ = excess.allowance == 0 || !report_.written ? Side::wider
            : exact.over > exact.under                ? Side::above
                                                      : Side::below;
    list_terms();
    add_output_rounding(exact.value);
    report_.allowance = of_side(lo, hi) + (std::isfinite(v) ? half_ulp(exact.value) : 0);
    report_.times_allowed = excess.times;
    report_.times_internal = excess.times_internal;
    if (report_.written) describe_error(exact, excess);
    if (report_.accepted.empty()) report_.accepted = accepted_text(exact, lo, hi);
    set_rule(exact.nan ? "R5" : "R4");
  }

  /// The allowance on the side of the exact value where the element lies.
  double of_side(double lo, double hi) const {
    return side_ == Side::above ? hi : side_ == Side::below ? lo : std::max(lo, hi);
  }

  void describe_error(const Margins& exact, const Excess& excess) {
    const double got = to_double(output_.dtype, report_.got_bits);
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
    if (accepts_anything(lo, hi)) return "anything: no bound is documented here";
    if (exact.nan) return "NaN";
    if (exact.infinite != 0) return exact.infinite > 0 ? "inf" : "-inf";
    const auto rounded = [this](double x) {
      return full_text(output_.dtype, round_to_bits(output_.dtype, x));
    };
    const std::string low = rounded(exact.value - lo);
    const std::string high = rounded(exact.value + hi);
    return low == high ? "{" + low + "}" : "[" + low + ", " + high + "]";
  }

  // --- terms of the allowance --------------------------------------------------------------------

  /// Each node's own share: what the allowance is when that node alone errs.
  void list_terms() {
    for (size_t id = 0; id < formula_.graph.nodes.size(); ++id) {
      const Node& n = formula_.graph.nodes[id];
      if (!may_err(n) || !feeds(root_->node, static_cast<int>(id))) continue;
      EvaluationSettings alone = settings_;
      alone.only = static_cast<int>(id);
      rows_.restart(alone);
      const Value& value = rows_.at(root_->node, whole_);
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
           n.op == Op::div || n.op == Op::prescaled ||
           (n.op == Op::function && !find_function(n.text)->exact);
  }

  int64_t reduced_count(const Node& n) const {
    int64_t count = 1;
    for (const int dim : n.reduced) count *= rows_.extents()[static_cast<size_t>(dim)];
    return count;
  }

  std::string term_name(const Node& n) const {
    const std::string text = node_text(n);
    const int64_t any_order = std::max<int64_t>(reduced_count(n) - 1, 0);
    const int64_t depth = settings_.depth < 0 ? any_order : std::min(settings_.depth, any_order);
    switch (n.op) {
      case Op::settle:
        return "rounding of " + node_text(node(n.args[0])) + " to " + std::string(name(n.type)) +
               (n.weight > 1 ? ": " + std::to_string(n.weight) + " u" : ": u");
      case Op::sum:
        return text + ": " + std::to_string(depth) + " u sum|terms|";
      case Op::mean:
        return text + ": " + std::to_string(depth) + " u sum|terms| / n, and the reciprocal of n";
      case Op::var:
        return text + ": (" + std::to_string(depth) + " + 5) u var + delta^2";
      default:
        return text + ": " + published_text(n);
    }
  }

  std::string published_text(const Node& n) const {
    const auto table =
        accuracy_rows(n.op == Op::div ? "div" : n.text, settings_.accumulate, settings_.math);
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
      case Op::sum:
      case Op::mean:
        return "Jeannerod & Rump 2013";
      case Op::var:
        return "Chan, Golub & LeVeque 1983; docs/judging.md";
      default: {
        const auto table =
            accuracy_rows(n.op == Op::div ? "div" : n.text, settings_.accumulate, settings_.math);
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

  /// The formula behind a node, without the roundings.
  std::string node_text(const Node& n) const {
    static const std::vector<std::pair<Op, const char*>> infix = {
        {Op::add, " + "}, {Op::sub, " - "}, {Op::mul, " * "}, {Op::div, " / "}};
    const auto arg = [&](size_t k) { return node_text(node(n.args[k])); };
    for (const auto& [op, sign] : infix)
      if (n.op == op) return "(" + arg(0) + sign + arg(1) + ")";
    switch (n.op) {
      case Op::literal:
        return n.integral ? std::to_string(n.integer) : shortest(n.real);
      case Op::named:
        return n.text;
      case Op::load:
      case Op::gather:
        return contract_.args[static_cast<size_t>(n.operand)].name;
      case Op::settle:
      case Op::prescaled:
      case Op::to_real:
        return arg(0);
      case Op::neg:
        return "-" + arg(0);
      case Op::function:
        return n.text + "(" + arg(0) + (n.args.size() > 1 ? ", " + arg(1) : "") + ")";
      case Op::where:
        return "where(..., " + arg(1) + ", " + arg(2) + ")";
      default:
        return reduction_text(n);
    }
  }

  std::string reduction_text(const Node& n) const {
    static const std::vector<std::pair<Op, const char*>> names = {
        {Op::sum, "sum"},   {Op::max, "max"},  {Op::min, "min"},
        {Op::mean, "mean"}, {Op::var, "var"},  {Op::abs, "abs"},
        {Op::max2, "max"},  {Op::min2, "min"}, {Op::extent, "size"}};
    std::string text = "expression";
    for (const auto& [op, word] : names)
      if (n.op == op) text = word;
    text += "(";
    for (size_t k = 0; k < n.args.size(); ++k)
      text += (k > 0 ? ", " : "") + node_text(node(n.args[k]));
    for (const int dim : n.reduced) text += ", " + dim_name(dim);
    return text + ")";
  }

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
      for (size_t a = 0; a < n.args.size(); ++a) {
        const Value& index = rows_.at(n.args[a], whole_);
        int64_t offset = 0;
        for (size_t d = 0; d < place.size(); ++d)
          offset += (place[d] - value.grid.low[d]) * stride_along(index.grid, value.grid.dims[d]);
        inner += (inner.empty() ? "" : ",") + tensor.dims[static_cast<size_t>(n.indexed[a])] + "=" +
                 wide_text(index.i[offset]);
      }
    }
    if (!inner.empty()) text += "[" + inner + "]";
    const uint64_t bits = n.raw        ? static_cast<uint64_t>(value.i[k])
                          : n.integral ? static_cast<uint64_t>(value.i[k]) & mask(tensor.dtype)
                                       : round_to_bits(tensor.dtype, value.v[k]);
    return text + " = " + element_text(tensor.dtype, bits) + " (" + hex(tensor.dtype, bits) + ")";
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
