// Integer nodes: exact in 128 bits; what wraps, wraps at the output (rule R3).
#include <algorithm>

#include "oracles/node_work.hpp"

namespace assay {
namespace {

using Wide = __int128;

struct Result {
  Wide value = 0;
  bool defined = true;
};

Result divided(Wide a, Wide b) { return b == 0 ? Result{0, false} : Result{a / b, true}; }
Result remainder_of(Wide a, Wide b) { return b == 0 ? Result{0, false} : Result{a % b, true}; }

Result floor_divided(Wide a, Wide b) {
  if (b == 0) return {0, false};
  const Wide q = a / b;
  return {a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q, true};
}

Result floor_remainder(Wide a, Wide b) {
  if (b == 0) return {0, false};
  const Wide r = a % b;
  return {r != 0 && (r < 0) != (b < 0) ? r + b : r, true};
}

Result shifted(Wide a, Wide count, bool left) {
  if (count < 0 || count > 63) return {0, false};
  return {left ? a * (Wide{1} << static_cast<int>(count)) : a >> static_cast<int>(count), true};
}

Result apply(Op op, Wide a, Wide b, Wide c) {
  switch (op) {
    case Op::neg:
      return {-a};
    case Op::abs:
      return {a < 0 ? -a : a};
    case Op::bit_not:
      return {~a};
    case Op::logical_not:
      return {a == 0 ? 1 : 0};
    case Op::add:
      return {a + b};
    case Op::sub:
      return {a - b};
    case Op::mul: {
      Wide product = 0;
      const bool overflow = __builtin_mul_overflow(a, b, &product);
      return {product, !overflow};
    }
    case Op::div:
      return divided(a, b);
    case Op::mod:
      return remainder_of(a, b);
    case Op::div_floor:
      return floor_divided(a, b);
    case Op::mod_floor:
      return floor_remainder(a, b);
    case Op::bit_and:
      return {a & b};
    case Op::bit_or:
      return {a | b};
    case Op::bit_xor:
      return {a ^ b};
    case Op::shift_left:
      return shifted(a, b, true);
    case Op::shift_right:
      return shifted(a, b, false);
    case Op::less:
      return {a < b ? 1 : 0};
    case Op::less_equal:
      return {a <= b ? 1 : 0};
    case Op::equal:
      return {a == b ? 1 : 0};
    case Op::not_equal:
      return {a != b ? 1 : 0};
    case Op::logical_and:
      return {a != 0 && b != 0 ? 1 : 0};
    case Op::logical_or:
      return {a != 0 || b != 0 ? 1 : 0};
    case Op::max2:
      return {std::max(a, b)};
    case Op::min2:
      return {std::min(a, b)};
    case Op::where:
      return {a != 0 ? b : c};
    default:
      return {0, false};
  }
}

/// What an operation makes of arguments that are not known: `where`, && and || may not need them.
uint8_t combined(Op op, const Wide* x, const uint8_t* status, size_t count) {
  const bool first_known = status[0] == kKnown;
  if (op == Op::where && first_known) return status[x[0] != 0 ? 1 : 2];
  if (op == Op::logical_and && first_known && x[0] == 0) return kKnown;
  if (op == Op::logical_or && first_known && x[0] != 0) return kKnown;
  uint8_t worst = kKnown;
  for (size_t k = 0; k < count; ++k) worst = std::max(worst, status[k]);
  // A doubtful condition between integers is a doubt about an integer: no bound on it is kept.
  const bool stays_boolean = op == Op::logical_and || op == Op::logical_or || op == Op::logical_not;
  return worst == kEither && !stays_boolean ? uint8_t{kUndefined} : worst;
}

/// Of operations that are monotonic in each operand, or choose one.
WideRange range_of(Op op, const WideRange& a, const WideRange& b, const WideRange& c) {
  if (op == Op::where) {
    if (b.any() || c.any()) return {};
    return {std::min(b.low, c.low), std::max(b.high, c.high)};
  }
  if (a.any() || b.any()) return {};
  switch (op) {
    case Op::neg:
      return {-a.high, -a.low};
    case Op::sub:
      return {a.low - b.high, a.high - b.low};
    case Op::add:
    case Op::min2:
    case Op::max2:
      break;
    case Op::div:
    case Op::div_floor:
      if (b.low != b.high || b.low <= 0) return {};
      break;
    case Op::mul:
      if (b.low != b.high || b.low < 0) return {};
      break;
    default:
      return {};
  }
  const Result low = apply(op, a.low, b.low, 0), high = apply(op, a.high, b.high, 0);
  return low.defined && high.defined ? WideRange{low.value, high.value} : WideRange{};
}

}  // namespace

void NodeWork::integers() {
  const size_t count = node_.args.size();
  const Value& a = argument(0);
  const Value& b = argument(count > 1 ? 1 : 0);
  const Value& c = argument(count > 2 ? 2 : 0);
  const int64_t size = std::max<int64_t>(out_.grid.size, 1);
  Wide* out = out_.own_i.get(size);
  uint8_t* status = out_.own_status.get(size);
  bool all_known = true;
  const bool ranges = a.status != nullptr || b.status != nullptr || c.status != nullptr;
  Wide* high = ranges ? out_.own_i_high.get(size) : nullptr;
  bool any_open = false;
  const auto one = [&](int64_t k, int64_t ka, int64_t kb, int64_t kc) {
    const Wide x[3] = {a.i[ka], b.i[kb], c.i[kc]};
    const uint8_t known[3] = {status_of(a, ka), status_of(b, kb), status_of(c, kc)};
    const Result result = apply(node_.op, x[0], x[1], x[2]);
    out[k] = result.value;
    status[k] = std::max(combined(node_.op, x, known, count),
                         static_cast<uint8_t>(result.defined ? kKnown : kUndefined));
    all_known = all_known && status[k] == kKnown;
    if (!ranges) return;
    high[k] = out[k] - 1;
    if (status[k] != kUndefined) return;
    any_open = any_open || leaves_open(a, ka) || leaves_open(b, kb) || leaves_open(c, kc);
    const WideRange range = range_of(node_.op, range_at(a, ka), range_at(b, kb), range_at(c, kc));
    if (range.any()) return;
    out[k] = range.low;
    high[k] = range.high;
  };
  for_runs<3>(out_.grid, {&a.grid, &b.grid, &c.grid},
              [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                for (int64_t k = 0; k < n; ++k)
                  one(done + k, offset[0] + k * stride[0], offset[1] + k * stride[1],
                      offset[2] + k * stride[2]);
              });
  out_.i = out;
  out_.status = all_known ? nullptr : status;
  out_.i_high = any_open ? high : nullptr;
}

void NodeWork::integer_reduction() {
  const Value& a = argument(0);
  const Grid reduced = grid_of(node_.reduced, chunk_);
  const int64_t size = std::max<int64_t>(out_.grid.size, 1);
  Wide* out = out_.own_i.get(size);
  uint8_t* status = out_.own_status.get(size);
  bool all_known = true;
  const auto one = [&](int64_t k, int64_t base) {
    Wide result = 0;
    bool first = true;
    uint8_t worst = kKnown;
    for_runs<1>(reduced, {&a.grid},
                [&](int64_t, int64_t n, const auto& offset, const auto& stride) {
                  for (int64_t j = 0; j < n; ++j) {
                    const int64_t at = base + offset[0] + j * stride[0];
                    const Wide x = a.i[at];
                    worst = std::max(worst, status_of(a, at));
                    if (node_.op == Op::sum)
                      result += x;
                    else if (first)
                      result = x;
                    else
                      result = node_.op == Op::max ? std::max(result, x) : std::min(result, x);
                    first = false;
                  }
                });
    if (first && node_.op != Op::sum) worst = kUndefined;  // a maximum of nothing
    out[k] = result;
    status[k] = worst;
    all_known = all_known && worst == kKnown;
  };
  for_runs<1>(out_.grid, {&a.grid},
              [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                for (int64_t k = 0; k < n; ++k) one(done + k, offset[0] + k * stride[0]);
              });
  out_.i = out;
  out_.status = all_known ? nullptr : status;
}

}  // namespace assay
