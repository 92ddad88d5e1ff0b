#include "oracles/scatter_sum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "oracles/extrema.hpp"
#include "oracles/number_text.hpp"
#include "oracles/untouched.hpp"
#include "oracles/writers.hpp"

namespace assay {
namespace {

/// Exact for what integers and doubles of one magnitude give; otherwise 113 bits.
using Quad = __float128;

/// What was added to one element so far.
struct Sum {
  __int128 integer = 0;
  Quad real = 0;
  Quad before = 0;     ///< what of it was there before the run
  Quad magnitude = 0;  ///< of the terms, rounded up: may be beyond double
  double e = 0, lo = 0, hi = 0;
  double positive = 0, negative = 0;  ///< sizes of the finite terms of either sign, as they may be
  int64_t terms = 0;
  int lowest = std::numeric_limits<int>::max();  ///< exponent of the lowest bit that some term has
  bool known = true;
};

/// Exponent of the lowest bit of a finite number that is not 0.
int lowest_bit(double x) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  const auto bits = static_cast<int64_t>(std::ldexp(fraction, 53));
  return exponent - 53 + __builtin_ctzll(static_cast<uint64_t>(bits));
}

double up(double x) { return x * (1 + 0x1p-46); }

Quad size_of(Quad x) { return x < 0 ? -x : x; }
bool is_finite(Quad x) { return x - x == 0; }

class ScatterSum {
 public:
  ScatterSum(CaseState& state, const FormulaRoot& root, const Tensor& output)
      : state_(state),
        root_(root),
        output_(output),
        writers_(state, root, output),
        integral_(!is_floating(output.dtype)),
        bytes_(byte_size(output.dtype)),
        row_(writers_.row_size()),
        sums_(writers_.named().size() * static_cast<size_t>(row_)) {}

  void run() {
    sum_up();
    for (size_t slot = 0; slot < writers_.named().size(); ++slot)
      for (int64_t k = 0; k < row_; ++k)
        judge(writers_.logical(writers_.named()[slot], k),
              sums_[slot * static_cast<size_t>(row_) + static_cast<size_t>(k)]);
    if (keeps()) {
      judge_untouched(state_, output_, "R18", "no index names it", [this](int64_t logical) {
        return writers_.may_be_named(writers_.place(logical).first);
      });
      for (const int64_t slot : writers_.doubtful())
        for (int64_t k = 0; k < row_; ++k)
          if (writers_.find(slot) < 0) judge(writers_.logical(slot, k), Sum{});
    } else {
      for (int64_t k = 0; k < output_.elements(); ++k)
        if (writers_.find(writers_.place(k).first) < 0) judge(k, Sum{});
    }
    for (const Reading& reading : other_readings(state_))
      if (!rejected_.empty()) judge_again(reading);
    for (const Rejected& element : rejected_)
      state_.tally.wrong(output_, element.logical, "R19", element.times);
  }

 private:
  /// A real sum that the plain reading of the policies rejects.
  struct Rejected {
    int64_t logical = 0;
    uint64_t bits = 0;
    double times = 0;
  };

  void sum_up() {
    if (keeps()) add_before();
    writers_.each_value(root_.node,
                        [this](const Value& value, int64_t writer, int64_t k, int64_t at) {
                          const int64_t slot = writers_.find(writers_.slot(writer));
                          add(value, at, sums_[static_cast<size_t>(slot * row_ + k)]);
                        });
  }

  /// Keeps of `rejected_` what the reading rejects too.
  void judge_again(const Reading& reading) {
    const EvaluationSettings other = settings_in(reading, state_.settings);
    state_.formula.rows.restart(other);
    sums_.assign(sums_.size(), Sum{});
    sum_up();
    std::vector<Rejected> left;
    for (const Rejected& element : rejected_) {
      const auto [slot, k] = writers_.place(element.logical);
      const int64_t named = writers_.find(slot);
      const Cell cell = cell_of(output_.dtype, element.bits);
      Decision decision = Decision::rejected;
      if (named >= 0) {
        const Sum& sum = sums_[static_cast<size_t>(named * row_ + k)];
        if (!was_kept(reading, state_.settings, cell.value))
          decision = assess(element.logical, sum, cell, other.flush).decision;
        if (decision == Decision::rejected && reading.widen && overflows_to(cell.value, sum))
          decision = Decision::accepted;
      }
      if (decision == Decision::rejected) left.push_back(element);
      if (decision == Decision::doubt) state_.tally.undecided(output_, element.logical);
      if (decision == Decision::accepted) accept_reading(state_, reading);
    }
    rejected_ = std::move(left);
    state_.formula.rows.restart(state_.settings);
  }

  bool keeps() const { return output_.spec->kind == OperandKind::inout; }

  void add_before() {
    std::vector<uint8_t> bits(8);
    for (size_t slot = 0; slot < writers_.named().size(); ++slot)
      for (int64_t k = 0; k < row_; ++k) {
        logical_values(state_.instance, output_, writers_.logical(writers_.named()[slot], k), 1,
                       bits.data());
        Sum& sum = sums_[slot * static_cast<size_t>(row_) + static_cast<size_t>(k)];
        const uint64_t before = packed_bits(bits.data(), 0, bytes_);
        if (integral_)
          sum.integer = to_integer(output_.dtype, before);
        else
          add_real(to_double(output_.dtype, before), 0, 0, 0, sum);
        sum.before = sum.real;
        sum.terms = 1;
      }
  }

  void add(const Value& value, int64_t at, Sum& sum) const {
    ++sum.terms;
    if (integral_) {
      sum.known &= value.status == nullptr || value.status[at] == kKnown;
      sum.integer += value.i[at];
    } else {
      add_real(value.v[at], element(value.e, at), element(value.lo, at), element(value.hi, at),
               sum);
    }
  }

  static void add_real(double v, double e, double lo, double hi, Sum& sum) {
    sum.real += static_cast<Quad>(v);
    sum.magnitude = (sum.magnitude + std::fabs(v) + e + larger(lo, hi)) * (1 + 0x1p-46);
    sum.e = up(sum.e + e);
    sum.lo = up(sum.lo + lo);
    sum.hi = up(sum.hi + hi);
    if (std::isfinite(v)) {
      sum.positive = up(sum.positive + positive_part(v + e + hi));
      sum.negative = up(sum.negative + positive_part(e + lo - v));
    }
    if (v != 0 && std::isfinite(v)) sum.lowest = std::min(sum.lowest, lowest_bit(v));
  }

  void judge(int64_t logical, const Sum& sum) {
    uint8_t element[8] = {};
    uint8_t written = 0;
    read_held(state_.outputs, output_, logical, 1, element, &written);
    const bool in_doubt = writers_.in_doubt(writers_.place(logical).first);
    if (written == 0 && in_doubt && keeps()) return;
    if (written == 0) return state_.tally.unwritten(output_, logical);
    state_.tally.judged(output_, 1);
    if (in_doubt) return forgo(logical);
    const uint64_t bits = packed_bits(element, 0, bytes_);
    if (integral_)
      judge_integer(logical, bits, sum);
    else
      judge_real(logical, bits, sum);
  }

  /// A term whose index may go either way may be one of its terms.
  void forgo(int64_t logical) {
    state_.tally.without_bound(output_, logical);
    if (state_.tally.watched(output_, logical)) state_.tally.note = {"R19", Writers::kAnything, ""};
  }

  void judge_integer(int64_t logical, uint64_t bits, const Sum& sum) {
    const IntegerExpectation expected =
        expected_integer(state_.contract, state_.formula.graph, root_.node, output_.dtype,
                         sum.integer, sum.known ? uint8_t{kKnown} : uint8_t{kUndefined});
    if (expected.missing_policy) state_.tally.ask(kAskCast);
    if (state_.tally.watched(output_, logical))
      state_.tally.note = {
          "R19", wide_text(sum.integer) + ", the sum of " + std::to_string(sum.terms) + " terms",
          "off by " + wide_text(to_integer(output_.dtype, bits) - sum.integer)};
    if (!expected.bounded)
      state_.tally.without_bound(output_, logical);
    else if (expected.bits != bits)
      state_.tally.wrong(output_, logical, "R19", HUGE_VAL);
  }

  /// (n - 1) u sum|t| in any order, or the contract's depth; 0 where every partial sum is exact.
  /// Where subnormals may be flushed, the smallest normal number for each term besides
  /// (docs/judging/scatter.md).
  double own_error(const Sum& sum, bool flush) const {
    const rows::Rounding rounding = rounding_of(state_.settings.accumulate, false);
    const double smallest = std::ldexp(1.0, format_of(state_.settings.accumulate).min_exponent);
    const double flushed = flush ? static_cast<double>(sum.terms) * smallest : 0;
    const auto any_order = static_cast<double>(std::max<int64_t>(sum.terms - 1, 0));
    if (any_order == 0) return flushed;
    const int precision = format_of(state_.settings.accumulate).precision;
    const bool exact = sum.lo == 0 && sum.hi == 0 && sum.e == 0 && multiples_within(sum, precision);
    if (exact) return flushed;
    const int64_t stated = state_.settings.depth;
    const double h = stated < 0 ? any_order : static_cast<double>(stated);
    const double growth = rows::adding_error(h, any_order, rounding.u);
    return up(static_cast<double>(growth * sum.magnitude) + flushed);
  }

  /// sum|t| < 2^bits q, q the lowest bit of the terms.
  static bool multiples_within(const Sum& sum, int bits) {
    return sum.magnitude * std::ldexp(1.0, -bits) < std::ldexp(1.0, std::min(sum.lowest, 1000));
  }

  struct Assessment {
    Decision decision = Decision::rejected;
    double v = 0, lo = 0, hi = 0;
    Margins margins;
  };

  /// The terms' own errors decide how much is known: where that is too little, higher tiers do.
  Assessment assess(int64_t logical, const Sum& sum, const Cell& cell, bool flush) {
    const double own = is_finite(sum.real) ? own_error(sum, flush) : 0;
    const double lo = up(sum.lo + own);
    const double hi = up(sum.hi + own);
    const auto decided = [&](const Sum& known) {
      const Margins m = margins(known, cell, lo, hi);
      return Assessment{decide(output_.dtype, cell, m, lo, hi), m.value, lo, hi, m};
    };
    Assessment out = decided(sum);
    for (const Tier tier : {Tier::double_double, Tier::multiprecision}) {
      const bool asked = state_.options.allows(tier);
      if (out.decision != Decision::doubt || !asked || !is_finite(sum.real)) continue;
      if (const auto known = in_tier(tier, logical, sum)) out = decided(*known);
    }
    return out;
  }

  /// The distances are taken in 113 bits: of a total in double 2^-53 would be lost, which is half
  /// an ulp of f64.
  Margins margins(const Sum& sum, const Cell& cell, double lo, double hi) const {
    const auto v = static_cast<double>(sum.real);
    if (!is_finite(sum.real)) return margins_of(cell, v, 0, lo, hi);
    Margins m = margins_of(cell, v, sum.e, lo, hi);
    m.infinite = 0;
    m.beyond = std::isinf(v);
    if (m.beyond) m.value = std::copysign(std::numeric_limits<double>::max(), v);
    if (!m.beyond) m.value_error += static_cast<double>(size_of(sum.real - static_cast<Quad>(v)));
    if (!std::isfinite(cell.value)) return m;
    // Each addition loses at most 2^-113 of the magnitude.
    const Quad lost =
        multiples_within(sum, 112) ? 0 : static_cast<double>(sum.terms) * 0x1p-112 * sum.magnitude;
    const Quad got = cell.value;
    const Quad distance = got - sum.real;
    // As in margins_of.
    const bool exact_distance =
        got == 0 || sum.real == 0 || (sum.real - got / 2) * (sum.real - got * 2) <= 0;
    const Quad rounded = exact_distance ? Quad{0} : (size_of(got) + size_of(sum.real)) * 0x1p-112;
    const auto error = [&](double reach) {
      const Quad all = sum.e + lost + rounded + reach * 0x1p-100;
      return static_cast<double>(all) * (1 + 0x1p-50);
    };
    m.over = static_cast<double>(distance - hi - cell.below);
    m.under = static_cast<double>(-distance - lo - cell.above);
    m.over_error = error(hi);
    m.under_error = error(lo);
    return m;
  }

  /// The same terms as a higher tier knows them: v and what it tells of the rest. Nothing where one
  /// of them is no number there.
  std::optional<Sum> in_tier(Tier tier, int64_t logical, const Sum& sum) {
    CompiledFormula& formula = state_.formula;
    ExactTier& exact =
        tier == Tier::double_double ? *formula.double_double : *formula.multiprecision;
    const auto [slot, k] = writers_.place(logical);
    Sum known = sum;
    known.real = sum.before;
    known.e = 0;
    for (int64_t writer = 0; writer < writers_.count(); ++writer) {
      if (writers_.slot(writer) != slot) continue;
      const Chunk single = writers_.single(writer, k);
      const Cell near{formula.rows.at(root_.node, single).v[0], 0, 0, true};
      const Margins m = exact.margins(formula.rows, root_.node, single, near, 0, 0);
      if (m.nan || m.infinite != 0 || m.beyond || !std::isfinite(near.value)) return std::nullopt;
      if (!std::isfinite(m.value_error)) return std::nullopt;
      known.real += static_cast<Quad>(near.value) + static_cast<Quad>(m.under);
      // What lies below the smallest double may be lost of a small term.
      const double lost = std::fabs(near.value) < 0x1p-900 ? 0x1p-1074 : 0;
      known.e = up(known.e + std::fabs(m.under) * 0x1p-52 + m.value_error + lost);
      if (m.under != 0) known.lowest = std::min(known.lowest, lowest_bit(m.under));
    }
    return known;
  }

  void judge_real(int64_t logical, uint64_t bits, const Sum& sum) {
    const Cell cell = cell_of(output_.dtype, bits);
    const auto [assessed, v, lo, hi, m] = assess(logical, sum, cell, state_.settings.flush);
    Decision decision = assessed;
    count_use(state_, output_, cell.value, v, m.value_error, lo, hi);
    if (accepts_anything(lo, hi)) state_.tally.without_bound(output_, logical);
    if (decision != Decision::accepted && overflows_to(cell.value, sum)) {
      ++state_.tally.verdict.widened;
      if (!state_.contract.policy.range) state_.tally.ask(kAskRange);
      decision = Decision::accepted;
    }
    if (state_.tally.watched(output_, logical))
      state_.tally.note = {"R19",
                           shortest(v) + " to within " + brief(std::max(lo, hi)) + ", the sum of " +
                               std::to_string(sum.terms) + " terms",
                           "off by " + brief(cell.value - v)};
    if (decision == Decision::doubt) state_.tally.undecided(output_, logical);
    if (decision == Decision::rejected)
      rejected_.push_back({logical, bits, excess_of(output_.dtype, cell, m, lo, hi).times});
  }

  /// A partial sum may pass the largest number although the total does not (rule R7): the positive
  /// terms may, or the negative ones; both, or one that meets an infinity of the other sign, are
  /// NaN.
  bool overflows_to(double got, const Sum& sum) const {
    if (state_.contract.policy.range == RangePolicy::safe || std::isfinite(got)) return false;
    const FloatFormat format = format_of(state_.settings.accumulate);
    const double growth = static_cast<double>(sum.terms) * format.unit_roundoff();
    const auto passes = [&](double size) { return size * (1 + growth) >= format.largest; };
    const bool above = passes(sum.positive);
    const bool below = passes(sum.negative);
    // A total beyond double is a number still, of partial sums in any order.
    if (!is_finite(sum.real)) return std::isnan(got) && (sum.real > 0 ? below : above);
    if (std::isnan(got)) return above && below;
    return got > 0 ? above : below;
  }

  CaseState& state_;
  const FormulaRoot& root_;
  const Tensor& output_;
  Writers writers_;
  const bool integral_;
  const int bytes_;
  const int64_t row_;
  std::vector<Sum> sums_;
  std::vector<Rejected> rejected_;
};

}  // namespace

void judge_scatter_sum(CaseState& state, const FormulaRoot& root, const Tensor& output) {
  ScatterSum(state, root, output).run();
}

}  // namespace assay
