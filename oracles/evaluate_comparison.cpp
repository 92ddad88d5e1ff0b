// Conditions on reals: known where every value that a correct kernel may hold agrees.
#include <algorithm>
#include <cmath>

#include "oracles/extrema.hpp"
#include "oracles/node_work.hpp"

namespace assay {

namespace {

/// -1, 0, 1 as a < b, a == b, a > b.
int order(double a, double b) { return a < b ? -1 : a > b ? 1 : 0; }

/// Where an end is infinite, the other one may still tell them apart.
bool apart(const Value& a, int64_t ka, const Value& b, int64_t kb) {
  const auto end = [](const Value& x, int64_t k, double sign) {
    const double lo = element(x.lo, k);
    const double hi = element(x.hi, k);
    const double e = rows::known_error(x.v[k], element(x.e, k), lo, hi);
    const double reach = e + (sign < 0 ? lo : hi);
    // Scaled before they are added: their sum may leave double.
    return x.v[k] + sign * (reach + (std::fabs(x.v[k]) * 0x1p-50 + reach * 0x1p-50));
  };
  return end(a, ka, -1) > end(b, kb, 1) || end(a, ka, 1) < end(b, kb, -1);
}

bool holds(Op op, int sign, bool unordered) {
  switch (op) {
    case Op::less:
      return !unordered && sign < 0;
    case Op::less_equal:
      return !unordered && sign <= 0;
    case Op::equal:
      return !unordered && sign == 0;
    default:
      return unordered || sign != 0;
  }
}

}  // namespace

/// A comparison of reals: known only where the enclosures do not meet.
void NodeWork::comparison() {
  const Value& a = argument(0);
  const Value& b = argument(1);
  const int64_t size = std::max<int64_t>(out_.grid.size, 1);
  __int128* out = out_.own_i.get(size);
  uint8_t* status = out_.own_status.get(size);
  bool all_known = true;
  const auto one = [&](int64_t k, int64_t ka, int64_t kb) {
    const double x = a.v[ka];
    const double y = b.v[kb];
    const double near = element(a.e, ka) + element(b.e, kb) +
                        larger(element(a.lo, ka), element(a.hi, ka)) +
                        larger(element(b.lo, kb), element(b.hi, kb));
    const bool clear = near == 0 || std::fabs(x - y) > near * rows::kOutward || apart(a, ka, b, kb);
    out[k] = holds(node_.op, order(x, y), std::isnan(x) || std::isnan(y)) ? 1 : 0;
    status[k] = clear ? kKnown : kEither;
    all_known = all_known && clear;
  };
  for_runs<2>(out_.grid, {&a.grid, &b.grid},
              [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                for (int64_t k = 0; k < n; ++k)
                  one(done + k, offset[0] + k * stride[0], offset[1] + k * stride[1]);
              });
  out_.i = out;
  out_.status = all_known ? nullptr : status;
}

void NodeWork::special_value() {
  const Value& a = argument(0);
  const int64_t size = std::max<int64_t>(out_.grid.size, 1);
  __int128* out = out_.own_i.get(size);
  uint8_t* status = out_.own_status.get(size);
  const double largest = format_of(evaluator_.settings_.arithmetic).largest;
  const bool nan = node_.text == "is_nan";
  for (int64_t k = 0; k < out_.grid.size; ++k) {
    const double lo = element(a.lo, k);
    const double hi = element(a.hi, k);
    const double reach = std::fabs(a.v[k]) + element(a.e, k) + larger(lo, hi);
    const bool moved = lo != 0 || hi != 0;
    out[k] = nan ? std::isnan(a.v[k]) : std::isinf(a.v[k]);
    status[k] = kKnown;
    if (std::isnan(lo) || std::isnan(hi) || (std::isinf(lo) && std::isinf(hi)))
      status[k] = kUndefined;  // NaN, perhaps
    else if (!nan && moved && std::isfinite(a.v[k]) && reach > largest)
      status[k] = kEither;  // it may have overflowed
  }
  out_.i = out;
  out_.status = status;
}

}  // namespace assay
