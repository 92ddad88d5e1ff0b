// Explains one element: what all kinds of outputs share, and reals.
#include <algorithm>
#include <cmath>

#include "oracles/codes.hpp"
#include "oracles/explainer.hpp"
#include "oracles/nan_origin.hpp"
#include "oracles/number_text.hpp"
#include "oracles/untouched.hpp"
#include "oracles/zero_signs.hpp"

namespace assay {

Explainer::Explainer(const Contract& contract, CompiledFormula& formula, const Instance& instance,
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

namespace {

bool unbounded(const Node& n, const Value& value) {
  for (int64_t k = 0; k < value.grid.size; ++k) {
    if (n.integral && value.status != nullptr && value.status[k] == kUndefined) return true;
    if (n.integral || value.lo == nullptr || value.hi == nullptr) continue;
    if (accepts_anything(value.lo[k], value.hi[k])) return true;
  }
  return false;
}

}  // namespace

ElementReport Explainer::run() {
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

ElementReport Explainer::explain_noted() {
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

int64_t Explainer::position(const Value& value) const {
  return position_in(formula_.graph, value.grid, output_, at_);
}

void Explainer::set_rule(const char* rule) {
  if (report_.rule.empty()) report_.rule = rule;
}

void Explainer::explain_no_bound() {
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

std::string Explainer::no_bound_reason(const Node& n) const {
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

void Explainer::set_error(double exact) {
  const double got = to_double(output_.dtype, report_.got_bits);
  const double away = std::fabs(got - exact);
  if (!std::isnan(away)) report_.error_ulps = away / ulp(output_.dtype, exact);
}

void Explainer::explain_real() {
  const Value& value = rows_.at(root_->node, whole_);
  const int64_t k = position(value);
  const double v = value.v[k];
  double lo = value.lo == nullptr ? 0 : value.lo[k];
  double hi = value.hi == nullptr ? 0 : value.hi[k];
  report_.exact = formula_.multiprecision->text(rows_, root_->node, single_, 17);
  const Cell cell = output_cell(*root_, output_.dtype, report_.got_bits, settings_);
  const Margins exact = formula_.multiprecision->margins(rows_, root_->node, single_, cell, lo, hi);
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
    report_.accepted =
        accepted_text(exact, lo, hi) + (exact.nan ? limit_text() : "") + overflow_text(k);
  const bool zero = v == 0 && lo == 0 && hi == 0 && element(value.e, k) == 0;
  if (!zero || !explain_zero(k)) set_rule(exact.nan ? "R5" : "R4");
  if (exact.nan) report_.exact += nan_origin(contract_, formula_.graph, rows_, whole_, root_->node);
}

bool Explainer::explain_zero(int64_t k) {
  if (contract_.policy.zero_order != ZeroOrderPolicy::signed_zero || !report_.written) return false;
  const uint8_t signs =
      ZeroSigns(formula_.graph, rows_, whole_).of(root_->node)[static_cast<size_t>(k)];
  if (signs == kAnyZero) return false;
  report_.exact = signs == kPlusZero ? "+0" : "-0";
  report_.accepted = "{" + report_.exact + "}";
  const double got = to_double(output_.dtype, report_.got_bits);
  if (got != 0 || std::signbit(got) == (signs == kMinusZero)) return false;
  report_.error_text = "a zero of the other sign";
  set_rule("R9");
  return true;
}

double Explainer::of_side(double lo, double hi) const {
  return side_ == Side::above ? hi : side_ == Side::below ? lo : std::max(lo, hi);
}

void Explainer::describe_error(const Margins& exact, const Excess& excess) {
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

std::string Explainer::accepted_text(const Margins& exact, double lo, double hi) const {
  if (exact.nan) return "NaN";
  const double largest = format_of(output_.dtype).largest;
  if (root_->saturates && exact.infinite != 0)
    return "{" + full_text(output_.dtype, round_to_bits(output_.dtype, exact.infinite * largest)) +
           "}: saturated";
  if (exact.infinite != 0) return exact.infinite > 0 ? "inf" : "-inf";
  return interval_text(exact.value - lo, exact.value + hi);
}

std::string Explainer::interval_text(double low, double high) const {
  const double largest = format_of(output_.dtype).largest;
  const auto rounded = [this, largest](double x) {
    if (root_->saturates) x = std::clamp(x, -largest, largest);
    return full_text(output_.dtype, round_to_bits(output_.dtype, x));
  };
  return rounded(low) == rounded(high) ? "{" + rounded(low) + "}"
                                       : "[" + rounded(low) + ", " + rounded(high) + "]";
}

std::string Explainer::overflow_text(int64_t k) {
  if (contract_.policy.range == RangePolicy::safe) return "";
  EvaluationSettings widened = settings_;
  widened.widen = true;
  formula_.overflows.start(rows_.case_number(), instance_, &outputs_, widened);
  const std::vector<OverflowSet>& sets = formula_.overflows.at(root_->node, whole_);
  if (sets.empty()) return "";
  const OverflowSet& set = sets[static_cast<size_t>(k)];
  const Value& value = rows_.at(root_->node, whole_);
  const bool known = is_well_known(value.v[k], element(value.e, k));
  std::string text;
  if (known && set.reals()) text += " or " + interval_text(set.low, set.high);
  if (set.up) text += " or inf";
  if (set.down) text += " or -inf";
  if (set.nan && (known || set.tells(OverflowSet::kNan))) text += " or NaN";
  return text.empty() ? "" : text + " after an overflow (R7)";
}

std::string Explainer::limit_text() {
  if (root_->limits < 0) return "";
  const Value& value = rows_.at(root_->limits, whole_);
  const int64_t k = position(value);
  if (std::isnan(value.v[k]) || accepts_anything(element(value.lo, k), element(value.hi, k)))
    return "";
  return " or " + full_text(output_.dtype, round_to_bits(output_.dtype, value.v[k]));
}

ElementReport Judge::explain(const Instance& instance, const OutputReader& outputs,
                             const std::string& output, int64_t logical) const {
  CompiledFormula& formula = impl_->formula(instance.the_case.variant());
  const Tensor* tensor = instance.find(output);
  if (tensor == nullptr || !tensor->is_judged())
    throw InputError({}, "'" + output + "' is no output of " + impl_->contract.name);
  return Explainer(impl_->contract, formula, instance, outputs, *tensor, logical).run();
}

}  // namespace assay
