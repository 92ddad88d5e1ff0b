// Elementwise functions of the first tier: values by rows, or from multiprecision where a row has
// none, and what an inexact argument and the published error make of them.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "oracles/accept.hpp"
#include "oracles/accuracy_table.hpp"
#include "oracles/extrema.hpp"
#include "oracles/function_range.hpp"
#include "oracles/functions.hpp"
#include "oracles/node_work.hpp"
#include "oracles/row_functions.hpp"

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// An argument's error that is less of its deviations makes no difference to what these become.
constexpr double kNegligible = 0x1p-20;

/// x + by, rounded outward unless exact (Knuth's TwoSum): what is flushed becomes 0 and nothing
/// beyond.
double moved(double x, double by) {
  const double sum = x + by;
  const double of_by = sum - x;
  const double lost = (x - (sum - of_by)) + (by - of_by);
  return lost == 0 || std::isinf(sum) ? sum : std::nextafter(sum, by < 0 ? -kInfinity : kInfinity);
}

/// Values of a function over a block, each within its error.
class FunctionValues {
 public:
  explicit FunctionValues(const std::string& name)
      : name_(name), row_(rows::row_function(name)), exact_(find_function(name)->exact) {}

  void evaluate(int n, const double* x, const double* y, double* v, double* e) const {
    if (row_ != nullptr)
      row_(n, x, y, v, e);
    else
      std::fill_n(e, n, kInfinity);
    for (int k = 0; k < n; ++k) {
      // Rows know little of tails that all but vanish in double.
      const bool vanishes = e[k] > std::fabs(v[k]) * 0x1p-30;
      if (std::isfinite(e[k]) && !vanishes) continue;
      v[k] = nearest_value(name_, x[k], y[k]);
      e[k] = exact_ || !std::isfinite(v[k]) ? 0 : std::fabs(v[k]) * 0x1p-53;
    }
  }

 private:
  const std::string& name_;
  rows::RowFunction row_;
  bool exact_;
};

/// The largest bound of the rows that touch [least, most]; NaN when none covers it.
double published_bound(const std::vector<rows::Accuracy>& table, double least, double most,
                       double magnitude, const rows::Rounding& rounding) {
  double bound = kNan;
  for (const rows::Accuracy& row : table) {
    if (most < row.low || least > row.high) continue;
    const double rounded = magnitude * (1 + rows::rounds_up_by(rounding.u));
    const double binade = std::bit_cast<double>(
        std::bit_cast<uint64_t>(std::isinf(rounded) ? magnitude : rounded) & 0x7ff0000000000000u);
    const double ulp = std::max(binade, rounding.min_normal) * (2 * rounding.u);
    const double k = row.slope == 0 ? row.ulps : row.ulps + std::floor(row.slope * most);
    const double own = k * ulp + row.absolute + row.relative * magnitude;
    const bool covers = least >= row.low && most <= row.high;
    bound = std::isnan(bound) ? own : std::max(bound, own);
    if (covers) return bound * rows::kOutward;
  }
  return kNan;
}

}  // namespace

/// One block of a function's elements, with the values at the ends of inexact arguments.
class NodeWork::FunctionBlock {
 public:
  FunctionBlock(const NodeWork& work, const FunctionInfo& info)
      : info_(info),
        name_(info.name),
        values_(name_),
        errs_(work.errs()),
        precise_(work.evaluator_.settings().math.mode == MathMode::precise),
        open_{work.sign_is_open(0), info.arguments == 2 && work.sign_is_open(1)},
        computed_(info.arguments == 2 && work.is_computed(1)) {
    const auto& settings = work.evaluator_.settings();
    for (const auto& row : accuracy_rows(name_, settings.arithmetic, settings.math))
      table_.push_back(accuracy_of(row));
    rounding_ = rounding_of(settings.arithmetic, settings.flush);
  }

  /// `settled`: one a lane, 0 before.
  int evaluate(int n, rows::In a, rows::In b, rows::Out o, uint8_t* settled) {
    settled_ = settled;
    values_.evaluate(n, a.v, b.v, o.v, own_);
    const bool inexact =
        any_inexact(n, a) || (info_.arguments == 2 && any_inexact(n, b)) || any_open(n, a, b);
    if (inexact) find_ends(n, a, b);
    int seen = 0;
    for (int k = 0; k < n; ++k) {
      one(k, a, b, o, inexact);
      seen |= (o.e[k] != 0 ? rows::kAnyError : 0) |
              (o.lo[k] != 0 || o.hi[k] != 0 ? rows::kAnyAllowance : 0);
    }
    return seen;
  }

 private:
  /// Arguments: where the exact one may lie, what a kernel's may be below and above that, and the
  /// deviations again, from the other end of where the exact one may lie.
  enum End { kErrorDown, kErrorUp, kDown, kUp, kUpFromDown, kDownFromUp, kEnds };

  static bool any_inexact(int n, rows::In a) {
    for (int k = 0; k < n; ++k)
      if (a.e[k] != 0 || a.lo[k] != 0 || a.hi[k] != 0) return true;
    return false;
  }

  /// The sign of an element of the two decides the value, and is open.
  bool is_open(rows::In a, rows::In b, int k) const {
    if (info_.arguments != 2 || info_.shape != Shape::other) return false;
    return (open_[0] && a.v[k] == 0) || (open_[1] && b.v[k] == 0) ||
           (computed_ && std::isnan(b.v[k]));
  }
  bool any_open(int n, rows::In a, rows::In b) const {
    for (int k = 0; k < n; ++k)
      if (is_open(a, b, k)) return true;
    return false;
  }

  bool monotonic() const {
    return info_.shape == Shape::increasing || info_.shape == Shape::decreasing ||
           info_.shape == Shape::step;
  }

  double error_in(rows::In a, rows::In b, int k) const {
    return a.e[k] + (info_.arguments == 2 ? b.e[k] : 0);
  }

  static double vast_limit(rows::In a, int k) {
    return rows::vast_limit(a.v[k], a.e[k], a.lo[k], a.hi[k]);
  }

  static bool matters(rows::In a, int k) { return a.e[k] > kNegligible * (a.lo[k] + a.hi[k]); }

  /// A vast argument's ends are its limit and infinity.
  void find_ends(int n, rows::In a, rows::In b) {
    if (!monotonic()) return;
    const auto at = [&](End end, auto argument) {
      for (int k = 0; k < n; ++k) argument_[k] = argument(k);
      values_.evaluate(n, argument_, b.v, end_[end], end_error_[end]);
    };
    const auto least = [&](int k) {
      return moved(a.v[k], vast_limit(a, k) > 0 && a.v[k] > 0 ? 0 : -a.e[k]);
    };
    const auto most = [&](int k) {
      return moved(a.v[k], vast_limit(a, k) > 0 && a.v[k] < 0 ? 0 : a.e[k]);
    };
    at(kErrorDown, [&](int k) { return moved(a.v[k], -a.e[k]); });
    at(kErrorUp, [&](int k) { return moved(a.v[k], a.e[k]); });
    at(kDown, [&](int k) { return moved(least(k), -a.lo[k]); });
    at(kUp, [&](int k) { return moved(most(k), a.hi[k]); });
    bool any = false;
    for (int k = 0; k < n; ++k) {
      one_side_[k] = moved(least(k), -a.lo[k]) >= 0 || moved(most(k), a.hi[k]) <= 0;
      any |= matters(a, k) && one_side_[k];
    }
    if (!any || info_.shape == Shape::step) return;
    at(kUpFromDown, [&](int k) { return moved(least(k), a.hi[k]); });
    at(kDownFromUp, [&](int k) { return moved(most(k), -a.lo[k]); });
  }

  /// How far the values at two ends lie apart.
  double between(int k, End one, End other) const {
    return apart(end_[one][k], end_error_[one][k], end_[other][k], end_error_[other][k]);
  }

  double apart(double f, double f_error, double g, double g_error) const {
    if (std::isinf(f) && f == g) return kInfinity;
    const double away = std::fabs(f - g);
    if (info_.shape == Shape::step) return away;
    return away + f_error + g_error + (std::fabs(f) + std::fabs(g)) * 0x1p-51;
  }

  /// ... and from v, which errs by that.
  double from_value(int k, double v, double v_error, End end) const {
    return apart(end_[end][k], end_error_[end][k], v, v_error);
  }

  /// What the argument's error makes of the value.
  double error_from(int k, double v, rows::In a, double e) const {
    if (e == 0) return 0;
    if (info_.shape == Shape::lipschitz) return info_.slope * e * rows::kOutward;
    if (!monotonic()) return kInfinity;
    const double up = a.e[k] == 0 ? 0 : from_value(k, v, own_[k], kErrorUp);
    const double down = a.e[k] == 0 ? 0 : from_value(k, v, own_[k], kErrorDown);
    const double from_e = larger(up, down);
    return std::isnan(from_e) ? kInfinity : from_e;  // an end lies outside of the domain
  }

  /// How far a kernel's value may lie below and above the exact one. Settled: v stands for that.
  struct Sides {
    double down = 0;
    double up = 0;
    bool settled = false;
  };

  /// f(x + hi) - f(x) and f(x) - f(x - lo) at the worst x within the argument's error
  /// (docs/judging.md, "Other functions").
  Sides deviations(int k, double v, rows::In a, double from_e) const {
    if (a.lo[k] + a.hi[k] == 0) return {};
    if (info_.shape == Shape::lipschitz) {
      const double by = info_.slope * larger(a.lo[k], a.hi[k]) * rows::kOutward;
      // Within [-1, 1], wherever the argument lies.
      if (by >= 1 && std::fabs(v) <= 1)
        return {(1 + v) * rows::kOutward, (1 - v) * rows::kOutward, true};
      return {by, by};
    }
    if (!monotonic()) return {kInfinity, kInfinity};
    const bool step = info_.shape == Shape::step;
    const bool sharp = matters(a, k) && one_side_[k] && !step;
    double rise = 0;
    double fall = 0;
    if (a.hi[k] != 0)
      rise = sharp ? larger(between(k, kUp, kErrorUp), between(k, kUpFromDown, kErrorDown))
                   : between(k, kUp, kErrorDown);
    if (a.lo[k] != 0)
      fall = sharp ? larger(between(k, kErrorDown, kDown), between(k, kErrorUp, kDownFromUp))
                   : between(k, kErrorUp, kDown);
    const bool falls = info_.shape == Shape::decreasing;
    const double whole = between(k, kUp, kDown);
    const bool settles = step ? from_e > 0 : matters(a, k) && whole <= rise + fall;
    if (settles && std::isfinite(whole)) {
      const double below = from_value(k, v, 0, falls ? kUp : kDown);
      const double above = from_value(k, v, 0, falls ? kDown : kUp);
      return {below, above, true};
    }
    return falls ? Sides{rise, fall} : Sides{fall, rise};
  }

  static bool any_value(rows::In a, int k) { return accepts_anything(a.lo[k], a.hi[k]); }

  /// Of a vast argument: between the values at its limit and at infinity, where the kernel's may
  /// be.
  bool of_vast(int k, rows::In a, rows::Out o) const {
    if (vast_limit(a, k) == 0 || !monotonic() || info_.arguments == 2) return false;
    const double near = end_[a.v[k] > 0 ? kDown : kUp][k];
    const double far = end_[a.v[k] > 0 ? kUp : kDown][k];
    if (!std::isfinite(near) || std::isnan(far)) return false;
    const double bound =
        info_.exact ? 0 : published_bound(table_, 0x1p1000, 0x1p1000, std::fabs(near), rounding_);
    const double own = errs_ ? bound + rounding_.eta : 0;
    // What e^x is said to be off by (kVastDeviation) no kernel's finite e^x is.
    const double inner = a.v[k] > 0 ? a.lo[k] : a.hi[k];
    const bool off = inner < rows::kVastDeviation * std::fabs(a.v[k]) && std::isinf(far);
    const double slack = own + 2 * std::fabs(near) * 0x1p-45 + (off ? std::fabs(o.v[k] - near) : 0);
    o.v[k] = near;
    o.e[k] = (std::fabs(far - near) + slack) * rows::kOutward;
    o.lo[k] = o.hi[k] = std::isinf(far) ? slack : o.e[k] + slack;
    if (std::isinf(far)) (far > 0 ? o.hi[k] : o.lo[k]) = kInfinity;
    return true;
  }

  /// Between what one of an argument's elements lies: the exact one, or a kernel's too.
  static Ends around(rows::In a, int k, bool of_kernel, bool open) {
    if (std::isnan(a.v[k])) return {-kInfinity, kInfinity};  // copysign's
    const double down = a.e[k] + (of_kernel ? a.lo[k] : 0);
    const double up = a.e[k] + (of_kernel ? a.hi[k] : 0);
    const Ends ends{moved(a.v[k], -down), moved(a.v[k], up)};
    return open && ends.low == 0 && ends.high == 0 ? Ends{-0.0, 0.0} : ends;
  }

  /// Of a function of another shape: between what values lies it over the box of the arguments.
  bool of_box(int k, rows::In a, rows::In b, rows::Out o) const {
    const bool pair = info_.arguments == 2;
    const double x = a.v[k];
    const double v = o.v[k];
    const double by_first = larger(a.lo[k], a.hi[k]) + a.e[k];
    const double by_second = pair ? larger(b.lo[k], b.hi[k]) + b.e[k] : 0;
    const double reach = larger(by_first, by_second);
    const bool open = is_open(a, b, k);
    if (info_.shape != Shape::other || (reach == 0 && !open) || !std::isfinite(v)) return false;
    if (any_value(a, k) || (pair && any_value(b, k)) || !documented(x, reach)) return false;
    if (!std::isfinite(a.e[k]) || (pair && !std::isfinite(b.e[k]))) return false;
    const PointValues values = [this](int n, const double* p, const double* q, double* value,
                                      double* error) { values_.evaluate(n, p, q, value, error); };
    const Ends none;
    const bool known = error_in(a, b, k) == 0;
    const std::optional<Ends> exact =
        known ? Ends{v - own_[k], v + own_[k]}
              : range_over_box(name_, around(a, k, false, open_[0]),
                               pair ? around(b, k, false, open_[1]) : none, values);
    const std::optional<Ends> kernel = range_over_box(
        name_, around(a, k, true, open_[0]), pair ? around(b, k, true, open_[1]) : none, values);
    const double from_e = !exact ? kInfinity : larger(exact->high - v, v - exact->low);
    o.e[k] = (from_e + own_[k]) * rows::kOutward;
    o.lo[k] = o.hi[k] = kNan;
    if (!exact || !kernel || !is_known(name_, x)) return true;
    const bool deviates = open || a.lo[k] + a.hi[k] != 0 || (pair && b.lo[k] + b.hi[k] != 0);
    const double low = deviates ? kernel->low : v;
    const double high = deviates ? kernel->high : v;
    if (std::isinf(low) && std::isinf(high)) return true;
    const auto own = [&](double end) {
      return std::isinf(end) ? 0 : own_bound(x, b.v[k], end, reach, from_e);
    };
    o.lo[k] = ((deviates ? exact->high - low : 0) + own(low)) * rows::kOutward;
    o.hi[k] = ((deviates ? high - exact->low : 0) + own(high)) * rows::kOutward;
    return true;
  }

  void one(int k, rows::In a, rows::In b, rows::Out o, bool inexact) const {
    const double x = a.v[k];
    const double v = o.v[k];
    if (inexact && (of_vast(k, a, o) || of_box(k, a, b, o))) return;
    double from_e = 0;
    double reach = 0;
    Sides by;
    if (inexact) {
      const double e = error_in(a, b, k);
      reach = larger(a.lo[k], a.hi[k]) + e;
      from_e = error_from(k, v, a, e);
      by = deviations(k, v, a, from_e);
      if (info_.arguments == 2 && (b.lo[k] != 0 || b.hi[k] != 0))
        by.down = by.up = reach = kInfinity;
    }
    // Infinite on both sides: NaN, perhaps.
    if (!documented(x, reach) || any_value(a, k) || (info_.arguments == 2 && any_value(b, k))) {
      o.e[k] = std::isfinite(v) ? (from_e + own_[k]) * rows::kOutward : 0;
      o.lo[k] = o.hi[k] = kNan;
      return;
    }
    if (reach == 0 && leaves_range(x, b.v[k], v))
      return put_vast(k, v < 0, rows::kLeastVastDeviation, o);
    if (!std::isfinite(v) && info_.arguments == 2 && !settles(a, b, k)) return no_bound(k, o);
    if (!std::isfinite(v)) return not_finite(k, x, reach, a.lo[k] + a.hi[k], o);
    o.e[k] = by.settled ? 0 : (from_e + own_[k]) * rows::kOutward;
    settled_[k] = by.settled ? 1 : 0;
    const double off = by.settled ? 0 : from_e;
    // Each end errs by itself: one may be infinite.
    const auto own = [&](double side) {
      return std::isinf(side) ? side : side + own_bound(x, b.v[k], v, reach, off + side);
    };
    o.lo[k] = own(by.down) * rows::kOutward;
    o.hi[k] = own(by.up) * rows::kOutward;
    const bool known = by.settled || is_known(name_, x);
    if (!known || (std::isinf(o.lo[k]) && std::isinf(o.hi[k]))) o.lo[k] = o.hi[k] = kNan;
  }

  /// Where no figure is published no value is either, special ones included (rule R10). NaN lies in
  /// every range.
  bool documented(double x, double reach) const {
    if (info_.exact) return true;
    if (std::isnan(x))
      return std::any_of(table_.begin(), table_.end(),
                         [](const rows::Accuracy& row) { return row.low <= row.high; });
    const double least = std::max(0.0, std::fabs(x) - reach);
    return !std::isnan(published_bound(table_, least, std::fabs(x) + reach, 1, rounding_));
  }

  /// The function of numbers is infinite in double, and not in truth: of the functions that have
  /// poles, logarithms are negative there, 1/sqrt falls, and a power's base is 0.
  bool leaves_range(double x, double y, double v) const {
    const bool numbers = std::isfinite(x) && (info_.arguments == 1 || std::isfinite(y));
    const bool grows = info_.shape == Shape::increasing && v > 0;
    return std::isinf(v) && numbers && x != 0 && (grows || info_.arguments == 2);
  }

  static void put_vast(int k, bool negative, double deviation, rows::Out o) {
    const double inner = rows::kVastExponential * deviation;
    o.v[k] = negative ? -rows::kVastExponential : rows::kVastExponential;
    o.e[k] = kInfinity;
    o.lo[k] = negative ? kInfinity : inner;
    o.hi[k] = negative ? inner : kInfinity;
  }

  static void no_bound(int k, rows::Out o) {
    o.e[k] = 0;
    o.lo[k] = o.hi[k] = kNan;
  }

  /// Of two arguments: is f infinite or NaN wherever an inexact one may lie? IEEE 754-2019, 9.2.1:
  /// hypot of an infinity and pow(NaN, 0) and pow(1, NaN) are numbers' values or infinite; the
  /// power of an infinity goes by the exponent's sign, and of a negative one by its parity, which
  /// no inexact exponent has. A 0 whose sign is open has odd powers of either sign, and so has what
  /// copysign gives.
  bool settles(rows::In a, rows::In b, int k) const {
    const auto inexact = [k](rows::In x) { return x.e[k] != 0 || x.lo[k] != 0 || x.hi[k] != 0; };
    const auto may_be = [k](rows::In x, double value) {
      return x.v[k] - (x.lo[k] + x.e[k]) <= value && value <= x.v[k] + (x.hi[k] + x.e[k]);
    };
    if (name_ == "copysign") return !is_open(a, b, k);
    if (name_ != "pow") return true;
    const bool maybe_odd = inexact(b) || std::fmod(std::fabs(b.v[k]), 2.0) == 1;
    if (is_open(a, b, k) && maybe_odd) return false;
    if (inexact(b)) return !may_be(b, 0) && !(a.v[k] < 0);
    return !inexact(a) || !std::isnan(b.v[k]) || !may_be(a, 1);
  }

  /// An infinity or NaN binds only a kernel whose argument is the exact one, or lies outside the
  /// domain like all of its enclosure: the logarithm of what may be 0 has no bound.
  void not_finite(int k, double x, double reach, double deviation, rows::Out o) const {
    const bool outside = monotonic() && reach != 0 && std::isnan(o.v[k]) &&
                         std::isnan(end_[kDown][k]) && std::isnan(end_[kUp][k]);
    const bool grows = info_.shape == Shape::increasing && std::isfinite(x) && o.v[k] == kInfinity;
    if (grows && reach != 0 && end_[kDown][k] >= rows::kVastExponential)
      return put_vast(k, false, rows::kVastDeviation, o);
    const bool binds = reach == 0 || !std::isfinite(x) || outside;
    o.e[k] = 0;
    o.lo[k] = o.hi[k] = binds ? deviation - deviation : kNan;
  }

  /// As rows' vunderflow.
  double underflow(double least, double most) const {
    if (rounding_.smallest > 0) return rounding_.eta;
    const bool normal = least * (1 - 0x1p-10) >= rounding_.min_normal;
    return (normal ? 0 : std::min(most, rounding_.eta)) + rounding_.eta * rounding_.u;
  }

  /// What the kernel's own function may add. Values at infinite arguments, but for multiples of pi
  /// / 2, and f(0) = 0 are exact.
  double own_bound(double x, double y, double v, double reach, double spread) const {
    const bool exact_argument = reach == 0;
    const bool documented = precise_ && info_.documented_at != nullptr && info_.documented_at(x, y);
    const bool known = info_.exact || (v == 0 && x == 0) || documented;
    // pi / 2 is no floating-point number.
    const bool limit = !std::isfinite(x) && name_ != "atan" && name_ != "atan2";
    const bool special = (known && exact_argument) || limit;
    if (special || !errs_ || info_.shape == Shape::step) return 0;
    if (info_.exact) return rounding_.smallest > 0 ? 0 : rounding_.eta;  // flushed
    const double most = std::fabs(x) + reach;
    const double least = std::max(0.0, std::fabs(x) - reach);
    return published_bound(table_, least, most, std::fabs(v) + spread, rounding_) +
           underflow(std::fabs(v) - spread, std::fabs(v) + spread);
  }

  const FunctionInfo& info_;
  const std::string name_;
  const FunctionValues values_;
  const bool errs_;
  const bool precise_;
  const bool open_[2];   ///< by argument: the sign of a 0 there is nobody's promise,
  const bool computed_;  ///< and of a NaN that the second is
  std::vector<rows::Accuracy> table_;
  rows::Rounding rounding_{};
  uint8_t* settled_ = nullptr;
  double own_[rows::kBlock];
  double argument_[rows::kBlock];
  bool one_side_[rows::kBlock];  ///< of 0 all that the argument may be lies there
  double end_[kEnds][rows::kBlock];
  double end_error_[kEnds][rows::kBlock];
};

void NodeWork::table_function() {
  const FunctionInfo* info = find_function(node_.text);
  if (info == nullptr) throw InputError(node_.where_, "'" + node_.text + "' is not judged yet");
  FunctionBlock block(*this, *info);
  const rows::Out out = arrays();
  auto& buffers = *evaluator_.buffers_;
  const size_t second = info->arguments == 2 ? 1 : 0;
  ArgumentBlocks a(argument(0), buffers.splat[0], buffers.zeros);
  ArgumentBlocks b(argument(second), buffers.splat[1], buffers.zeros);
  const int64_t size = out_.grid.size;
  uint8_t* settled = out_.own_settled.get(std::max<int64_t>(size, 1));
  std::fill_n(settled, size, uint8_t{0});
  int seen = 0;
  for_runs<2>(out_.grid, {&argument(0).grid, &argument(second).grid},
              [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                for (int64_t k = 0; k < n; k += rows::kBlock) {
                  const int m = static_cast<int>(std::min<int64_t>(rows::kBlock, n - k));
                  const int64_t at = done + k;
                  seen |= block.evaluate(m, a.block(offset[0] + k * stride[0], stride[0], m),
                                         b.block(offset[1] + k * stride[1], stride[1], m),
                                         {out.v + at, out.e + at, out.lo + at, out.hi + at},
                                         settled + at);
                }
              });
  flags(seen);
  const bool any = std::any_of(settled, settled + size, [](uint8_t one) { return one != 0; });
  out_.settled = any ? settled : nullptr;
}

}  // namespace assay
