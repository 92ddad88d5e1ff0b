#include "fuzz/sensitivity.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "generators/hash.hpp"
#include "generators/reductions.hpp"

namespace assay {

std::string_view name(Planted kind) {
  constexpr std::array<std::string_view, kPlantedKinds> names{"dropped", "duplicated", "tf32",
                                                              "f16", "bf16"};
  return names[static_cast<size_t>(kind)];
}

std::string_view name(SizeClass size) {
  constexpr std::array<std::string_view, kSizeClasses> names{"none", "<= 32", "<= 1024", "> 1024"};
  return names[static_cast<size_t>(size)];
}

std::string_view name(DataKind data) {
  constexpr std::array<std::string_view, kDataKinds> names{"ordinary", "exact", "witness"};
  return names[static_cast<size_t>(data)];
}

namespace {

/// An operand to break, and the dimension along which it has neighbours.
struct Reduced {
  const Tensor* tensor = nullptr;
  size_t dimension = 0;
  int64_t extent = 0;  ///< elements that the reduction runs over; 0: there is none
  DataKind data = DataKind::ordinary;
};

std::optional<DataKind> data_kind(const Case& c, const Tensor& tensor) {
  const auto recipe = c.values.find(tensor.spec->name);
  if (recipe == c.values.end()) return std::nullopt;
  const std::string& name = recipe->second.name;
  if (name == "normal" || name == "uniform") return DataKind::ordinary;
  if (name == "exact" || name == "exact_logits" || name == "equal_rows") return DataKind::exact;
  if (name == "witness") return DataKind::witness;
  return std::nullopt;
}

/// What may be broken: operands that a reduction reads, along a dimension that it runs over; where
/// none has such a dimension, those that it reads; where nothing is reduced, any input.
std::vector<Reduced> candidates(const Contract& contract, const Instance& instance) {
  const std::vector<std::string> dimensions = reduced_dimensions(contract);
  const std::vector<std::string> operands = reduced_operands(contract);
  const int64_t extent = reduced_extent(instance);
  const auto contains = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<Reduced> along, read, any;
  for (const Tensor& tensor : instance.tensors) {
    const bool fits = !tensor.is_scalar() && tensor.present && !tensor.broadcast &&
                      tensor.spec->kind == OperandKind::input && is_floating(tensor.dtype);
    const auto data = data_kind(instance.the_case, tensor);
    if (!fits || !data || tensor.elements() == 0) continue;
    const bool is_read = contains(operands, tensor.spec->name);
    bool reduced = false;
    std::optional<size_t> last;
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      const bool here = contains(dimensions, tensor.dims[d]);
      reduced |= here;
      if (tensor.shape[d] < 2) continue;
      last = d;
      if (is_read && here) along.push_back({&tensor, d, tensor.shape[d], *data});
    }
    if (!last) continue;
    const Reduced whole{&tensor, *last, extent, *data};
    if (is_read && !reduced) read.push_back(whole);
    any.push_back(whole);
  }
  if (!along.empty()) return along;
  // Of a row of one element, say, nothing can be lost among others.
  return extent > 0 ? read : any;
}

SizeClass size_class(int64_t extent) {
  if (extent == 0) return SizeClass::none;
  if (extent <= 32) return SizeClass::to_32;
  return extent <= kLongReduction ? SizeClass::to_1024 : SizeClass::above;
}

Defect defect_of(Planted kind, const Reduced& reduced, uint64_t seed) {
  Defect defect;
  if (kind == Planted::tf32) defect.sums = Narrow::tf32;
  if (kind == Planted::f16) defect.sums = Narrow::f16;
  if (kind == Planted::bf16) defect.sums = Narrow::bf16;
  if (defect.sums != Narrow::none) return defect;
  const Tensor& tensor = *reduced.tensor;
  defect.operand = tensor.position;
  defect.element = static_cast<int64_t>(mix64(seed) % static_cast<uint64_t>(tensor.elements()));
  if (kind == Planted::dropped) return defect;
  std::vector<int64_t> at = tensor.coordinates(defect.element);
  at[reduced.dimension] += at[reduced.dimension] + 1 < tensor.shape[reduced.dimension] ? 1 : -1;
  defect.reads = tensor.linear(at);
  return defect;
}

/// All elements of an output.
struct Written {
  DType type;
  std::vector<uint8_t> bits;
};

std::vector<Written> written_outputs(const CheckResult& result) {
  std::vector<Written> all;
  for (const Tensor& tensor : result.instance->tensors) {
    if (tensor.is_scalar() || !tensor.present || !tensor.is_judged()) continue;
    const int64_t count = tensor.elements();
    std::vector<uint8_t> bits(static_cast<size_t>(count * byte_size(tensor.dtype)));
    std::vector<uint8_t> written(static_cast<size_t>(count));
    result.run.outputs->read(tensor, 0, count, bits.data(), written.data());
    all.push_back({tensor.dtype, std::move(bits)});
  }
  return all;
}

/// The largest difference of two elements.
double largest_difference(const std::vector<Written>& a, const std::vector<Written>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const auto size = static_cast<size_t>(byte_size(a[i].type));
    for (size_t at = 0; at + size <= a[i].bits.size(); at += size) {
      uint64_t left = 0, right = 0;
      std::memcpy(&left, &a[i].bits[at], size);
      std::memcpy(&right, &b[i].bits[at], size);
      if (left != right) most = std::max(most, difference_in_ulps(a[i].type, left, right));
    }
  }
  return most;
}

}  // namespace

double difference_in_ulps(DType type, uint64_t a, uint64_t b) {
  if (!is_floating(type))
    return std::abs(static_cast<double>(to_integer(type, a) - to_integer(type, b)));
  const double x = to_double(type, a);
  const double y = to_double(type, b);
  if (x == y || (std::isnan(x) && std::isnan(y))) return 0;
  if (!std::isfinite(x) || !std::isfinite(y)) return std::numeric_limits<double>::infinity();
  return std::abs(x - y) / ulp(type, std::max(std::abs(x), std::abs(y)));
}

std::vector<Finding> plant_defects(Checker& checker, const Case& c, uint64_t seed,
                                   SensitivityTable& table) {
  if (!c.blocks.empty()) return {};
  RunOptions options = case_options();
  options.coverage = false;
  const CheckResult right = checker.check(c, options);
  if (right.outcome != Outcome::pass) return right.findings;
  const std::vector<Reduced> all = candidates(checker.contract(), *right.instance);
  if (all.empty()) return {};
  const Reduced& reduced = all[seed / 2 % all.size()];  // its lowest bit is always set
  const std::vector<Written> expected = written_outputs(right);
  for (int kind = 0; kind < kPlantedKinds; ++kind) {
    const auto planted = static_cast<Planted>(kind);
    options.defect = defect_of(planted, reduced, seed);
    const CheckResult broken = checker.check(c, options);
    const bool ended = broken.run.outputs != nullptr;
    const double size = ended ? largest_difference(expected, written_outputs(broken))
                              : std::numeric_limits<double>::infinity();
    if (size == 0) continue;
    table[{size_class(reduced.extent), reduced.data, planted}].add(size, !broken.findings.empty());
  }
  return {};
}

}  // namespace assay
