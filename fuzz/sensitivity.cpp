#include "fuzz/sensitivity.hpp"

#include <algorithm>
#include <optional>

#include "generators/values.hpp"

namespace assay {

std::string_view name(Planted kind) {
  constexpr std::array<std::string_view, kPlantedKinds> names{"dropped", "duplicated", "tf32",
                                                              "f16", "bf16"};
  return names[static_cast<size_t>(kind)];
}

std::string_view name(SizeClass size) {
  constexpr std::array<std::string_view, 3> names{"<= 32", "<= 1024", "> 1024"};
  return names[static_cast<size_t>(size)];
}

std::string_view name(DataKind data) {
  constexpr std::array<std::string_view, 3> names{"ordinary", "exact", "witness"};
  return names[static_cast<size_t>(data)];
}

namespace {

/// An operand that the formula reduces, and the dimension.
struct Reduced {
  const Tensor* tensor = nullptr;
  size_t dimension = 0;
  int64_t extent = 0;
  DataKind data = DataKind::ordinary;
};

std::optional<DataKind> data_kind(const Case& c, const Tensor& tensor) {
  const auto recipe = c.values.find(tensor.spec->name);
  if (recipe == c.values.end()) return std::nullopt;
  const std::string& name = recipe->second.name;
  if (name == "normal" || name == "uniform") return DataKind::ordinary;
  if (name == "exact") return DataKind::exact;
  if (name == "witness") return DataKind::witness;
  return std::nullopt;
}

std::optional<Reduced> reduced_operand(const Contract& contract, const Instance& instance) {
  const std::vector<std::string> dimensions = reduced_dimensions(contract);
  for (const Tensor& tensor : instance.tensors) {
    const bool fits = !tensor.is_scalar() && tensor.present && !tensor.broadcast &&
                      tensor.spec->kind == OperandKind::input && is_floating(tensor.dtype);
    if (!fits || tensor.elements() == 0) continue;
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      const bool reduced = std::count(dimensions.begin(), dimensions.end(), tensor.dims[d]) > 0;
      const auto data = data_kind(instance.the_case, tensor);
      if (reduced && data && tensor.shape[d] > 1)
        return Reduced{&tensor, d, tensor.shape[d], *data};
    }
  }
  return std::nullopt;
}

SizeClass size_class(int64_t extent) {
  return extent <= 32 ? SizeClass::to_32 : extent <= 1024 ? SizeClass::to_1024 : SizeClass::above;
}

Defect defect_of(Planted kind, const Reduced& reduced, uint64_t seed) {
  Defect defect;
  if (kind == Planted::tf32) defect.sums = Narrow::tf32;
  if (kind == Planted::f16) defect.sums = Narrow::f16;
  if (kind == Planted::bf16) defect.sums = Narrow::bf16;
  if (defect.sums != Narrow::none) return defect;
  const Tensor& tensor = *reduced.tensor;
  defect.operand = tensor.position;
  defect.element = static_cast<int64_t>(seed % static_cast<uint64_t>(tensor.elements()));
  if (kind == Planted::dropped) return defect;
  std::vector<int64_t> at = tensor.coordinates(defect.element);
  at[reduced.dimension] += at[reduced.dimension] + 1 < reduced.extent ? 1 : -1;
  defect.reads = tensor.linear(at);
  return defect;
}

/// Bits of all outputs.
std::vector<uint8_t> output_bits(const CheckResult& result) {
  std::vector<uint8_t> all;
  for (const Tensor& tensor : result.instance->tensors) {
    if (tensor.is_scalar() || !tensor.present || !tensor.is_judged()) continue;
    const int64_t count = tensor.elements();
    std::vector<uint8_t> bits(static_cast<size_t>(count * byte_size(tensor.dtype)));
    std::vector<uint8_t> written(static_cast<size_t>(count));
    result.run.outputs->read(tensor, 0, count, bits.data(), written.data());
    all.insert(all.end(), bits.begin(), bits.end());
  }
  return all;
}

}  // namespace

void plant_defects(Checker& checker, const Case& c, uint64_t seed, SensitivityTable& table) {
  if (!c.blocks.empty()) return;
  RunOptions options = case_options();
  options.coverage = false;
  const CheckResult right = checker.check(c, options);
  if (right.outcome != Outcome::pass) return;
  const auto reduced = reduced_operand(checker.contract(), *right.instance);
  if (!reduced) return;
  const std::vector<uint8_t> expected = output_bits(right);
  for (int kind = 0; kind < kPlantedKinds; ++kind) {
    const auto planted = static_cast<Planted>(kind);
    options.defect = defect_of(planted, *reduced, seed);
    const CheckResult broken = checker.check(c, options);
    const bool ended = broken.run.outputs != nullptr;
    if (ended && output_bits(broken) == expected) continue;
    Sensitivity& count = table[{size_class(reduced->extent), reduced->data, planted}];
    ++count.planted;
    count.caught += !broken.findings.empty();
  }
}

}  // namespace assay
