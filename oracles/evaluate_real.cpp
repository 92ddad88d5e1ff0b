// Elementwise operations of the first tier on reals.
#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/accuracy_table.hpp"
#include "oracles/extrema.hpp"
#include "oracles/node_work.hpp"

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLog2e = 1.4426950408889634;

rows::Out at(const rows::Out& out, int64_t k) {
  return {out.v + k, out.e + k, out.lo + k, out.hi + k};
}

}  // namespace

rows::Accuracy accuracy_of(const AccuracyRow& row) {
  rows::Accuracy a;
  a.low = row.low;
  a.high = row.high;
  a.slope = row.slope;
  if (row.measure == ErrorMeasure::ulp) a.ulps = row.base + 0.5;
  if (row.measure == ErrorMeasure::absolute) a.absolute = row.base;
  if (row.measure == ErrorMeasure::relative) a.relative = row.base;
  return a;
}

template <typename Kernel>
void NodeWork::unary(Kernel kernel) {
  const rows::Out out = arrays();
  ArgumentBlocks a(argument(0), evaluator_.buffers_->splat[0], evaluator_.buffers_->zeros);
  int seen = 0;
  for (int64_t k = 0; k < out_.grid.size; k += rows::kBlock) {
    const int n = static_cast<int>(std::min<int64_t>(rows::kBlock, out_.grid.size - k));
    seen |= kernel(n, a.block(k, 1, n), at(out, k));
  }
  flags(seen);
}

template <typename Kernel>
void NodeWork::binary(Kernel kernel) {
  const rows::Out out = arrays();
  auto& buffers = *evaluator_.buffers_;
  ArgumentBlocks a(argument(0), buffers.splat[0], buffers.zeros);
  ArgumentBlocks b(argument(1), buffers.splat[1], buffers.zeros);
  int seen = 0;
  for_runs<2>(out_.grid, {&argument(0).grid, &argument(1).grid},
              [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                for (int64_t k = 0; k < n; k += rows::kBlock) {
                  const int m = static_cast<int>(std::min<int64_t>(rows::kBlock, n - k));
                  seen |=
                      kernel(m, a.block(offset[0] + k * stride[0], stride[0], m),
                             b.block(offset[1] + k * stride[1], stride[1], m), at(out, done + k));
                }
              });
  flags(seen);
  if ((seen & rows::kAnyNan) != 0 && evaluator_.settings_.nan == rows::NanMode::ask)
    evaluator_.saw_undecided_nan_ = true;
}

void NodeWork::elementwise() {
  const rows::Kernels& k = *evaluator_.kernels_;
  switch (node_.op) {
    case Op::neg:
      return unary(k.neg);
    case Op::abs:
      out_.least = 0;
      return unary(k.abs);
    case Op::add:
      if (argument(0).least >= 0 && argument(1).least >= 0)
        out_.least = std::max(argument(0).least, argument(1).least);
      return binary(k.add);
    case Op::sub:
      return binary(k.sub);
    case Op::mul: {
      const bool exact = node_.bits > 0;
      if (node_.args[0] == node_.args[1]) out_.least = 0;
      return binary([&k, exact](int n, rows::In a, rows::In b, rows::Out o) {
        return k.mul(n, a, b, exact, o);
      });
    }
    case Op::div:
      binary(k.div);
      free_zero_signs(1);
      publish("div", 1);
      hoisted_reciprocal();
      return may_overflow();
    case Op::max2:
    case Op::min2: {
      const rows::NanMode mode = evaluator_.settings_.nan;
      if (node_.op == Op::max2) {
        binary([&k, mode](int n, rows::In a, rows::In b, rows::Out o) {
          return k.max2(n, a, b, mode, o);
        });
        return keep_unbounded_nan();
      }
      binary([&k, mode](int n, rows::In a, rows::In b, rows::Out o) {
        double t[8][rows::kBlock];
        k.neg(n, a, {t[0], t[1], t[2], t[3]});
        k.neg(n, b, {t[4], t[5], t[6], t[7]});
        const int seen = k.max2(n, {t[0], t[1], t[2], t[3]}, {t[4], t[5], t[6], t[7]}, mode, o);
        k.neg(n, {o.v, o.e, o.lo, o.hi}, o);
        return seen;
      });
      return keep_unbounded_nan();
    }
    case Op::prescaled:
      return prescaled();
    default:
      throw InputError(node_.where_, "operation is not judged on real numbers");
  }
}

/// What x log2e - m log2e errs by beyond the rounding of the difference: the roundings of both
/// products, u (|x| + |m|), and of the constant (log2 e rounded to f32 is off by 0.22 u relative,
/// to f64 by 0.13 u), which acts on the difference.
void NodeWork::prescaled() {
  const rows::Out out = arrays();
  const Value& d = argument(0);
  const Value& x = argument(1);
  const Value& m = argument(2);
  const FloatFormat format = format_of(evaluator_.settings_.arithmetic);
  const double u = format.unit_roundoff() * rows::kOutward;
  // A product that overflows leaves inf - inf (range = "naive").
  const double limit =
      evaluator_.settings_.widen ? format.largest * (1 - 4 * u) / kLog2e : HUGE_VAL;
  const auto too_large = [limit](double x) { return x >= limit && std::isfinite(x); };
  const auto size_of = [](const Value& value, int64_t k) {
    return std::fabs(value.v[k]) + element(value.e, k) +
           larger(element(value.lo, k), element(value.hi, k));
  };
  for_runs<3>(out_.grid, {&d.grid, &x.grid, &m.grid},
              [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                for (int64_t k = 0; k < n; ++k) {
                  const int64_t at_d = offset[0] + k * stride[0];
                  const double from_x = size_of(x, offset[1] + k * stride[1]);
                  const double from_m = size_of(m, offset[2] + k * stride[2]);
                  const double scale = from_x + from_m + 0.25 * size_of(d, at_d);
                  const bool overflows = too_large(from_x) || too_large(from_m);
                  double own = errs() && std::isfinite(scale) ? u * scale : 0;
                  if (overflows) own = kNan;
                  out.v[done + k] = d.v[at_d];
                  out.e[done + k] = element(d.e, at_d);
                  out.lo[done + k] = (element(d.lo, at_d) + own) * rows::kOutward;
                  out.hi[done + k] = (element(d.hi, at_d) + own) * rows::kOutward;
                }
              });
}

void NodeWork::settle() {
  const Value& a = argument(0);
  const int64_t size = out_.grid.size;
  out_.v = a.v;
  out_.e = a.e;
  out_.source_generation = a.generation;
  const rows::Rounding format = rounding_of(node_.type, evaluator_.settings_.flush);
  // Rounding is monotonic; a positive bound may round down.
  if (a.least >= 0)
    out_.least = std::max(0.0, a.least * (1 - 2 * node_.weight * format.u) - format.eta);
  if (!errs()) {
    out_.lo = a.lo;
    out_.hi = a.hi;
    return;
  }
  double* lo = out_.own_lo.get(std::max<int64_t>(size, 1));
  double* hi = out_.own_hi.get(std::max<int64_t>(size, 1));
  rows::Rounding rounding = format;
  rounding.weight = node_.weight;
  rounding.widen = evaluator_.settings_.widen;
  ArgumentBlocks blocks(a, evaluator_.buffers_->splat[0], evaluator_.buffers_->zeros);
  int seen = 0;
  for (int64_t k = 0; k < size; k += rows::kBlock) {
    const int n = static_cast<int>(std::min<int64_t>(rows::kBlock, size - k));
    seen |= evaluator_.kernels_->settle(n, blocks.block(k, 1, n), rounding, lo + k, hi + k);
  }
  const bool any = (seen & rows::kAnyAllowance) != 0;
  out_.lo = any ? lo : nullptr;
  out_.hi = any ? hi : nullptr;
}

/// Adds the published error of an operation whose argument number `which` decides the range.
void NodeWork::publish(std::string_view operation, size_t which) {
  const auto& settings = evaluator_.settings_;
  const auto table = accuracy_rows(operation, settings.arithmetic, settings.math);
  const AccuracyRow& row = table.front();  // one at least: FormulaCompiler::need_accuracy
  if (!errs()) return;
  if (row.measure == ErrorMeasure::ulp && row.base == 0 && row.slope == 0) return;
  const rows::Accuracy accuracy = accuracy_of(row);
  const rows::Rounding rounding = rounding_of(settings.arithmetic, settings.flush);
  const rows::Out out = {const_cast<double*>(out_.v), out_.own_e.get(1), out_.own_lo.get(1),
                         out_.own_hi.get(1)};
  auto& buffers = *evaluator_.buffers_;
  ArgumentBlocks x(argument(which), buffers.splat[0], buffers.zeros);
  int seen = 0;
  for_runs<1>(out_.grid, {&argument(which).grid},
              [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                for (int64_t k = 0; k < n; k += rows::kBlock) {
                  const int m = static_cast<int>(std::min<int64_t>(rows::kBlock, n - k));
                  seen |= evaluator_.kernels_->publish(
                      m, x.block(offset[0] + k * stride[0], stride[0], m), accuracy, rounding,
                      at(out, done + k));
                }
              });
  out_.e = out.e;
  out_.lo = out.lo;
  out_.hi = out.hi;
  flags(seen);
}

void NodeWork::function() {
  const rows::Kernels& k = *evaluator_.kernels_;
  const auto& settings = evaluator_.settings_;
  if (node_.text == "exp") {
    const auto table = accuracy_rows("exp", settings.arithmetic, settings.math);
    rows::Accuracy accuracy = accuracy_of(table.front());
    rows::Rounding rounding = rounding_of(settings.arithmetic, settings.flush);
    // x log2e - m log2e at x = m is a rounding error of either sign.
    const Node* exponent = &argument_node(0);
    while (exponent->op == Op::settle)
      exponent = &evaluator_.graph_.nodes[static_cast<size_t>(exponent->args[0])];
    if (node_.nonpositive && exponent->op != Op::prescaled) accuracy.argument_limit = 0;
    if (!errs()) {
      accuracy = {};
      rounding.eta = 0;
    }
    unary([&](int n, rows::In a, rows::Out o) { return k.exp(n, a, accuracy, rounding, o); });
    if (node_.nonpositive) at_most_one();
    return may_overflow();
  }
  if (node_.text == "sqrt" || node_.text == "rsqrt") {
    const double least = argument(0).least;
    const auto kernel = node_.text == "sqrt" ? k.sqrt : k.rsqrt;
    unary([&](int n, rows::In a, rows::Out o) { return kernel(n, a, least, o); });
    out_.least = 0;
    if (node_.text == "rsqrt") free_zero_signs(0);
    return publish(node_.text, 0);
  }
  table_function();
  may_overflow();
}

/// range = "naive": an infinity in place of a result that may round to one.
void NodeWork::may_overflow() {
  const auto& settings = evaluator_.settings_;
  if (!settings.widen || !errs()) return;
  const FloatFormat format = format_of(settings.arithmetic);
  const double limit = format.largest * (1 - 2 * format.unit_roundoff());
  const auto reaches = [&](double v, double e, double by) { return v + e + by >= limit; };
  const int64_t size = out_.grid.size;
  double* lo = out_.own_lo.get(std::max<int64_t>(size, 1));
  double* hi = out_.own_hi.get(std::max<int64_t>(size, 1));
  if (out_.lo == nullptr) std::fill_n(lo, size, 0.0);
  if (out_.hi == nullptr) std::fill_n(hi, size, 0.0);
  bool any = out_.lo != nullptr || out_.hi != nullptr;
  for (int64_t k = 0; k < size; ++k) {
    const double v = out_.v[k];
    // Of what an infinite error leaves open, a limit towards 0 may be known: it stays.
    if (!std::isfinite(v) || !std::isfinite(element(out_.e, k))) continue;
    const bool up = reaches(v, element(out_.e, k), hi[k]);
    const bool down = reaches(-v, element(out_.e, k), lo[k]);
    if (up) hi[k] = HUGE_VAL;
    if (down) lo[k] = HUGE_VAL;
    any |= up || down;
  }
  out_.lo = any ? lo : nullptr;
  out_.hi = any ? hi : nullptr;
}

/// Where the condition may go both ways, the accepted set is the hull of both branches.
void NodeWork::choice() {
  const rows::Out out = arrays();
  const Value& c = argument(0);
  const Value& a = argument(1);
  const Value& b = argument(2);
  int seen = 0;
  const auto one = [&](int64_t k, int64_t kc, int64_t ka, int64_t kb) {
    const uint8_t status = status_of(c, kc);
    const bool first = c.i[kc] != 0;
    const Value& taken = first ? a : b;
    const int64_t kt = first ? ka : kb;
    double lo = element(taken.lo, kt);
    double hi = element(taken.hi, kt);
    if (status == kEither) {
      const Value& other = first ? b : a;
      const int64_t ko = first ? kb : ka;
      const double away = other.v[ko] - taken.v[kt];
      const double slack = (std::fabs(away) + std::fabs(taken.v[kt])) * 0x1p-50 +
                           element(other.e, ko) + element(taken.e, kt);
      lo = larger(lo, element(other.lo, ko) - away + slack);
      hi = larger(hi, element(other.hi, ko) + away + slack);
      // Next to an infinity that may not be chosen nothing finite has a bound.
      if (std::isnan(away) || (away != 0 && !std::isfinite(taken.v[kt]))) lo = hi = kNan;
    } else if (status == kUndefined) {
      lo = hi = kNan;
    }
    out.v[k] = taken.v[kt];
    out.e[k] = element(taken.e, kt);
    out.lo[k] = lo;
    out.hi[k] = hi;
    seen |= (out.e[k] != 0 ? rows::kAnyError : 0) | (lo != 0 || hi != 0 ? rows::kAnyAllowance : 0);
  };
  for_runs<3>(out_.grid, {&c.grid, &a.grid, &b.grid},
              [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                for (int64_t k = 0; k < n; ++k)
                  one(done + k, offset[0] + k * stride[0], offset[1] + k * stride[1],
                      offset[2] + k * stride[2]);
              });
  flags(seen);
}

void NodeWork::from_integers() {
  const rows::Out out = arrays();
  const Value& a = argument(0);
  int seen = 0;
  for (int64_t k = 0; k < out_.grid.size; ++k) {
    const double v = static_cast<double>(a.i[k]);
    const bool exact = static_cast<__int128>(v) == a.i[k];
    const bool known = a.status == nullptr || a.status[k] == kKnown;
    out.v[k] = v;
    out.e[k] = exact ? 0 : std::fabs(v) * 0x1p-52;
    out.lo[k] = out.hi[k] = known ? 0 : kNan;
    seen |= (exact ? 0 : rows::kAnyError) | (known ? 0 : rows::kAnyAllowance);
  }
  flags(seen);
}

}  // namespace assay
