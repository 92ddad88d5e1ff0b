// What judging and explaining share: settings, chunks, and what an integer output must hold.
#include <algorithm>
#include <cmath>

#include "oracles/codes.hpp"
#include "oracles/judge_impl.hpp"
#include "oracles/walk.hpp"

namespace assay {
namespace {

ArithmeticTypes types_of(const Contract& contract, const Instance& instance) {
  return arithmetic_types(contract, [&](const OperandSpec& operand) {
    return instance.tensors[static_cast<size_t>(&operand - contract.args.data())].dtype;
  });
}

rows::NanMode nan_mode(const Policy& policy) {
  if (!policy.nan) return rows::NanMode::ask;
  switch (*policy.nan) {
    case NanPolicy::propagate:
      return rows::NanMode::propagate;
    case NanPolicy::ignore:
      return rows::NanMode::ignore;
    case NanPolicy::exclude:
      break;  // no NaN among the inputs; one that arises inside has no stated fate
  }
  return rows::NanMode::ask;
}

/// A number of additions or of elements. 0 additions is what a sum of one term takes.
int64_t stated(const Instance& instance, const Expr& expr, const std::string& what, int64_t least) {
  const int64_t value = instance.evaluate(expr);
  if (value < least)
    throw InputError(expr.where, what + " is " + std::to_string(value) +
                                     " in this case; expected " + std::to_string(least) +
                                     " or more");
  return value;
}

}  // namespace

EvaluationSettings settings_for(const Contract& contract, const Instance& instance) {
  EvaluationSettings s;
  const ArithmeticTypes types = types_of(contract, instance);
  s.accumulate = types.sums;
  s.arithmetic = types.others;
  s.math = math_figures(contract);
  const auto& subnormals = contract.policy.subnormals;
  const bool by_flag = contract.source.flushes_subnormals() && s.arithmetic != DType::f64;
  const bool flushes = s.math.mode != MathMode::precise || by_flag;
  s.flush = subnormals ? *subnormals != SubnormalPolicy::keep : flushes;
  s.nan = nan_mode(contract.policy);
  s.cast_overflow = contract.policy.cast_overflow;
  s.variance = contract.accuracy.variance;
  if (contract.accuracy.depth) s.depth = stated(instance, *contract.accuracy.depth, "'depth'", 0);
  for (const NamedExpr& along : contract.accuracy.depth_along)
    s.depth_along[along.name] =
        stated(instance, *along.expr, "'depth' along '" + along.name + "'", 0);
  if (contract.accuracy.online)
    s.online = stated(instance, *contract.accuracy.online, "'online'", 1);
  return s;
}

rows::MatchFormat match_format(DType type, const EvaluationSettings& settings) {
  const FloatFormat format = format_of(type);
  const FloatFormat inside = format_of(settings.arithmetic);
  return {format.unit_roundoff(), std::ldexp(1.0, format.min_exponent), format.largest,
          std::ldexp(settings.flush ? 32.0 : 1.0, inside.min_exponent)};
}

Chunk chunk_for(const Graph& graph, const RowEvaluator& rows, const Tensor& output,
                const std::vector<int64_t>& low, const std::vector<int64_t>& extent) {
  Chunk chunk;
  chunk.low.assign(graph.dims.size(), 0);
  chunk.extent = rows.extents();
  for (size_t axis = 0; axis < output.dims.size(); ++axis) {
    const auto found = std::find(graph.dims.begin(), graph.dims.end(), output.dims[axis]);
    if (found == graph.dims.end()) continue;
    const auto dim = static_cast<size_t>(found - graph.dims.begin());
    if (graph.reduced_dim(static_cast<int>(dim))) continue;
    chunk.low[dim] = low[axis];
    chunk.extent[dim] = extent[axis];
  }
  return chunk;
}

Chunk element_chunk(const Graph& graph, const RowEvaluator& rows, const Tensor& output,
                    const std::vector<int64_t>& at) {
  Chunk chunk;
  chunk.low.assign(graph.dims.size(), 0);
  chunk.extent = rows.extents();
  for (size_t axis = 0; axis < output.dims.size(); ++axis) {
    const auto found = std::find(graph.dims.begin(), graph.dims.end(), output.dims[axis]);
    if (found == graph.dims.end()) continue;
    chunk.low[static_cast<size_t>(found - graph.dims.begin())] = at[axis];
    chunk.extent[static_cast<size_t>(found - graph.dims.begin())] = 1;
  }
  return chunk;
}

int64_t position_in(const Graph& graph, const Grid& grid, const Tensor& output,
                    const std::vector<int64_t>& at) {
  int64_t position = 0;
  for (size_t k = 0; k < grid.dims.size(); ++k) {
    const std::string& dim = graph.dims[static_cast<size_t>(grid.dims[k])];
    for (size_t axis = 0; axis < output.dims.size(); ++axis)
      if (output.dims[axis] == dim)
        position += (at[axis] - grid.low[k]) * stride_along(grid, grid.dims[k]);
  }
  return position;
}

Cell output_cell(const FormulaRoot& root, DType type, uint64_t bits,
                 const EvaluationSettings& settings) {
  Cell cell = cell_of(type, bits);
  if (root.saturates) cell = saturated_cell(type, cell);
  // A narrower output is rounded from the arithmetic's type, whose own `settle` flushes.
  if (settings.flush && cell.value == 0 && type == settings.arithmetic)
    cell.below = cell.above = std::ldexp(1.0, format_of(type).min_exponent);
  return cell;
}

// Wrapping is two's complement. Conversion to a narrower type wraps by definition; so does unsigned
// arithmetic. Signed overflow at 32 and 64 bits is undefined in CUDA unless the contract says more.
IntegerExpectation expected_integer(const Contract& contract, const Graph& graph, int node,
                                    DType type, __int128 value, uint8_t status) {
  IntegerExpectation out;
  out.bounded = status == kKnown;
  const int width = bit_width(type);
  const __int128 one = 1;
  const __int128 low = is_signed(type) ? -(one << (width - 1)) : 0;
  const __int128 high = is_signed(type) ? (one << (width - 1)) - 1 : (one << width) - 1;
  const auto wrapped = [&](__int128 x) {
    const auto mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
    return static_cast<uint64_t>(x) & mask;
  };
  out.bits = wrapped(value);
  if (type == DType::boolean) out.bits = value != 0 ? 1 : 0;
  if (!out.bounded || (value >= low && value <= high)) return out;
  const auto policy = contract.policy.cast_overflow;
  if (policy == CastOverflowPolicy::saturate) {
    out.bits = wrapped(value < low ? low : high);
    return out;
  }
  if (policy == CastOverflowPolicy::wrap || !is_signed(type) || width < 32) return out;
  const Op op = graph.nodes[static_cast<size_t>(node)].op;
  out.bounded = false;
  out.missing_policy = !policy && op != Op::div && op != Op::div_floor;
  return out;
}

}  // namespace assay
