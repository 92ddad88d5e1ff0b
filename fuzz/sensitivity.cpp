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

/// Ranges [first, last) of elements to which either run stored, ascending and disjoint. What
/// neither stored to is the same in both.
std::vector<std::pair<int64_t, int64_t>> stored_by_either(const Tensor& tensor,
                                                          const OutputReader& a,
                                                          const OutputReader& b) {
  std::vector<std::pair<int64_t, int64_t>> all = a.stored(tensor);
  for (const auto& range : b.stored(tensor)) all.push_back(range);
  join_ranges(all);
  return all;
}

/// The largest difference of two elements of one operand, [first, last).
double largest_difference(const Tensor& tensor, int64_t first, int64_t last, const OutputReader& a,
                          const OutputReader& b) {
  constexpr int64_t kRun = 4096;
  const auto size = static_cast<size_t>(byte_size(tensor.dtype));
  std::array<uint8_t, kRun * sizeof(uint64_t)> left, right;
  std::array<uint8_t, kRun> written;
  double most = 0;
  for (int64_t at = first; at < last; at += kRun) {
    const int64_t count = std::min(kRun, last - at);
    a.read(tensor, at, count, left.data(), written.data());
    b.read(tensor, at, count, right.data(), written.data());
    for (size_t k = 0; k < static_cast<size_t>(count) * size; k += size) {
      uint64_t x = 0, y = 0;
      std::memcpy(&x, &left[k], size);
      std::memcpy(&y, &right[k], size);
      if (x != y) most = std::max(most, difference_in_ulps(tensor.dtype, x, y));
    }
  }
  return most;
}

/// The largest difference of two elements of an output.
double largest_difference(const Instance& instance, const OutputReader& a, const OutputReader& b) {
  double most = 0;
  for (const Tensor& tensor : instance.tensors) {
    if (tensor.is_scalar() || !tensor.present || !tensor.is_judged()) continue;
    for (const auto& [first, last] : stored_by_either(tensor, a, b))
      most = std::max(most, largest_difference(tensor, first, last, a, b));
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
  for (int kind = 0; kind < kPlantedKinds; ++kind) {
    const auto planted = static_cast<Planted>(kind);
    options.defect = defect_of(planted, reduced, seed);
    const CheckResult broken = checker.check(c, options);
    const double size =
        broken.run.outputs != nullptr
            ? largest_difference(*right.instance, *right.run.outputs, *broken.run.outputs)
            : std::numeric_limits<double>::infinity();
    if (size == 0) continue;
    table[{size_class(reduced.extent), reduced.data, planted}].add(size, !broken.findings.empty());
  }
  return {};
}

}  // namespace assay
