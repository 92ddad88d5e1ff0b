#include "fuzz/properties.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "generators/row_map.hpp"
#include "oracles/number_text.hpp"

namespace assay {

namespace {

constexpr int64_t kElements = 1024;  // read at a time

/// NaN is compared as NaN-ness.
bool same_value(DType type, uint64_t a, uint64_t b) {
  if (a == b) return true;
  return is_floating(type) && std::isnan(to_double(type, a)) && std::isnan(to_double(type, b));
}

std::string value_text(DType type, uint64_t bits, bool written) {
  return written ? element_text(type, bits) + " (" + hex(type, bits) + ")" : "never written";
}

/// The value times 2^exponent, as bits; zeros, infinities and NaN stay. nullopt where it, or that,
/// is no normal number: the product may not be exact.
std::optional<uint64_t> times_power(DType type, uint64_t bits, int exponent) {
  if (exponent == 0) return bits;
  const double value = to_double(type, bits);
  if (value == 0 || !std::isfinite(value)) return bits;
  const FloatFormat format = format_of(type);
  const double result = std::ldexp(value, exponent);
  for (const double side : {value, result}) {
    const double size = std::fabs(side);
    if (!(size >= std::ldexp(1.0, format.min_exponent) && size <= format.largest))
      return std::nullopt;
  }
  return round_to_bits(type, result);
}

/// Elements of one output, from both runs; the other's come out times 2^exponent.
class OutputPair {
 public:
  OutputPair(const Tensor& mine, const OutputReader& reader, const Tensor& other,
             const OutputReader& other_reader, int exponent)
      : mine_(mine),
        reader_(reader),
        other_(other),
        other_reader_(other_reader),
        exponent_(exponent) {}

  /// `count` elements from `first` of the case's own run against those of the other run.
  void compare(int64_t first, int64_t other_first, int64_t count, ComparedRun& result) {
    const int size = byte_size(mine_.dtype);
    for (auto* bytes : {&bits_, &other_bits_}) bytes->resize(static_cast<size_t>(count * size));
    for (auto* flags : {&written_, &other_written_}) flags->resize(static_cast<size_t>(count));
    reader_.read(mine_, first, count, bits_.data(), written_.data());
    other_reader_.read(other_, other_first, count, other_bits_.data(), other_written_.data());
    if (exponent_ == 0 && written_ == other_written_ && bits_ == other_bits_) {
      result.compared += count - std::count(written_.begin(), written_.end(), uint8_t{0});
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      const bool written = written_[i] != 0, other_written = other_written_[i] != 0;
      if (!written && !other_written) continue;
      const uint64_t bits = load_bits(bits_.data() + i * size, size);
      const uint64_t other = load_bits(other_bits_.data() + i * size, size);
      const std::optional<uint64_t> expected = times_power(mine_.dtype, bits, exponent_);
      if (!expected) continue;
      ++result.compared;
      if (written == other_written && same_value(mine_.dtype, *expected, other)) continue;
      if (!result.difference) {
        result.difference = {mine_.spec->name,
                             first + i,
                             other_first + i,
                             value_text(mine_.dtype, bits, written),
                             value_text(mine_.dtype, other, other_written)};
      }
      ++result.difference->differing;
    }
  }

 private:
  const Tensor& mine_;
  const OutputReader& reader_;
  const Tensor& other_;
  const OutputReader& other_reader_;
  const int exponent_;
  std::vector<uint8_t> bits_, other_bits_, written_, other_written_;
};

using Ranges = std::vector<std::pair<int64_t, int64_t>>;

/// Of an output of which a few blocks of many store, only what either run stored; of rows, which
/// run with all blocks, everything. Indices of the other run.
Ranges ranges_to_compare(const Variation& variation, const Tensor& mine,
                         const OutputReader& reader, const Tensor& theirs,
                         const OutputReader& other_reader) {
  if (!variation.dimension.empty()) return {{0, theirs.elements()}};
  Ranges all = reader.stored(mine);
  for (const auto& range : other_reader.stored(theirs)) all.push_back(range);
  std::sort(all.begin(), all.end());
  Ranges merged;
  for (const auto& [first, last] : all) {
    if (!merged.empty() && first <= merged.back().second) {
      merged.back().second = std::max(merged.back().second, last);
    } else {
      merged.emplace_back(first, last);
    }
  }
  return merged;
}

// --- which outputs are exact

class ExactFormula {
 public:
  ExactFormula(const Contract& contract, const Variant& variant)
      : contract_(contract), variant_(variant) {}

  bool holds_for(const std::string& name) const {
    for (const FormulaLine& line : contract_.formula) {
      // Of several writers of one element any may win.
      if (line.name == name) return line.scatter.empty() && is_exact(*line.expr);
    }
    return false;  // a relation's output
  }

 private:
  const FormulaLine* line_of(const std::string& name) const {
    for (const FormulaLine& line : contract_.formula)
      if (line.name == name) return &line;
    return nullptr;
  }

  bool holds_floats(const std::string& operand) const {
    const OperandSpec* spec = contract_.find_operand(operand);
    return spec != nullptr && is_floating(resolve_dtype(*spec, variant_));
  }

  bool is_integer_only(const Expr& node) const {
    if (node.kind == Expr::Kind::real) return false;
    if (node.kind == Expr::Kind::member) return !holds_floats(node.operands[0]->text);
    if (node.kind == Expr::Kind::name) {
      const FormulaLine* line = line_of(node.text);
      if (line != nullptr) return is_integer_only(*line->expr);
      return !holds_floats(node.text);
    }
    static const std::set<std::string> kOfIntegers{
        "where",  "abs",       "max",      "min",       "maximum",   "minimum",
        "sum",    "amax",      "amin",     "cumsum",    "div_trunc", "div_floor",
        "size",   "mod_trunc", "mod_floor", "cast",     "quant",     "round",
        "argmax", "argmin",    "cumsum_exclusive", "cumsum_reversed", "given"};
    if (node.kind == Expr::Kind::call && !kOfIntegers.contains(node.text)) return false;
    return std::all_of(node.operands.begin(), node.operands.end(),
                       [&](const ExprPtr& operand) { return is_integer_only(*operand); });
  }

  bool is_exact(const Expr& node) const {
    if (is_integer_only(node)) return true;
    const auto all_exact = [&] {
      return std::all_of(node.operands.begin(), node.operands.end(),
                         [&](const ExprPtr& operand) { return is_exact(*operand); });
    };
    switch (node.kind) {
      case Expr::Kind::integer:
      case Expr::Kind::real:
      case Expr::Kind::member:
        return true;
      case Expr::Kind::name: {
        const FormulaLine* line = line_of(node.text);
        return line == nullptr || is_exact(*line->expr);
      }
      case Expr::Kind::index:
      case Expr::Kind::ternary:
        return all_exact();
      case Expr::Kind::binary: {
        static const std::set<std::string> kComparisons{
            "==", "!=", "<", "<=", ">", ">=", "&&", "||"};
        return kComparisons.contains(node.text) && all_exact();
      }
      case Expr::Kind::unary:
        return all_exact();
      case Expr::Kind::call:
        break;
    }
    // A rounding of one exact value; maxima of floats are none: of +0 and -0 either may come out.
    static const std::set<std::string> kMoves{"where", "abs", "cast", "quant", "round", "copysign"};
    if (kMoves.contains(node.text)) return is_exact(*node.operands[0]) && all_exact();
    const bool ranks = node.text == "argmax" || node.text == "argmin";
    const auto tie = contract_.policy.tie;
    return ranks && tie && *tie != TiePolicy::free && is_exact(*node.operands[0]);
  }

  const Contract& contract_;
  const Variant& variant_;
};

/// How many elements from `linear` on belong to rows that ran, within one stretch of them;
/// negative: so many belong to none.
int64_t rows_left(const Tensor& tensor, const RowMap& rows, int64_t linear) {
  if (!rows.is_delimited) return tensor.elements();
  const auto [extent, inner] = *tensor.axis(rows.dimension);
  const int64_t whole = extent * inner, ran = rows.count * inner;
  const int64_t within = linear % whole;
  return within < ran ? ran - within : within - whole;
}

}  // namespace

bool is_exact_output(const Contract& contract, const Variant& variant, const std::string& output) {
  return ExactFormula(contract, variant).holds_for(output);
}

ComparedRun compare_runs(const Instance& base, const Run& base_run, const Variation& variation,
                         const Run& other, bool only_exact) {
  ComparedRun result;
  result.text = variation.text;
  result.own = variation.own;
  const Variant variant = base.the_case.variant();
  for (const Tensor& theirs : variation.instance.tensors) {
    if (!theirs.is_judged() || !theirs.present) continue;
    const Tensor& mine = base.tensors[static_cast<size_t>(theirs.position)];
    if (only_exact && !is_exact_output(*base.contract, variant, theirs.spec->name)) continue;
    RowMap rows;
    if (!variation.dimension.empty()) {
      const SizeSpec& size = *size_along(*base.contract, variation.dimension);
      rows = row_map(base, mine, variation.dimension, variation.first,
                     variation.instance.the_case.sizes.at(size.name));
      if (rows.dimension.empty()) continue;  // it sums over what changed
    }
    const auto scaled = variation.exponents.find(theirs.spec->name);
    const int exponent = scaled == variation.exponents.end() ? 0 : scaled->second;
    OutputPair pair(mine, *base_run.outputs, theirs, *other.outputs, exponent);
    for (const auto& [first, last] : ranges_to_compare(
             variation, mine, *base_run.outputs, theirs, *other.outputs)) {
      for (int64_t at = first; at < last;) {
        const int64_t room = rows_left(theirs, rows, at);
        const MappedRun run = map_run(theirs, mine, rows.dimension, rows.first, at, 1,
                                      std::min({kElements, last - at, std::abs(room)}));
        if (room > 0) pair.compare(run.base, at, run.count, result);
        at += run.count;
      }
    }
  }
  if (result.difference) result.difference->compared = result.compared;
  return result;
}

}  // namespace assay
