// What names and calls mean in the expressions of a contract, for one case.
#include "generators/scope.hpp"

namespace assay {
namespace {

/// Value of a name: resolved numbers first, then integer scalars, then types as their codes, so
/// that "Q == e4m3" compares codes.
std::optional<int64_t> value_of(const Instance& instance, std::string_view wanted) {
  const auto found = instance.names.find(std::string(wanted));
  if (found != instance.names.end()) return found->second;
  for (const Tensor& tensor : instance.tensors) {
    if (tensor.is_scalar() && tensor.spec->name == wanted && is_integer(tensor.dtype)) {
      return tensor.scalar_integer;
    }
  }
  const auto type = instance.the_case.types.find(std::string(wanted));
  if (type != instance.the_case.types.end()) return static_cast<int64_t>(type->second);
  const auto dtype = parse_dtype(wanted);
  if (dtype) return static_cast<int64_t>(*dtype);
  return std::nullopt;
}

/// stride(x, d), size(dim), numel(x); d is a position or a dimension's name.
std::optional<int64_t> call_of(const Instance& instance, const Expr& call) {
  if (call.operands.empty() || call.operands[0]->kind != Expr::Kind::name) return std::nullopt;
  const std::string& subject = call.operands[0]->text;
  if (call.text == "size" && call.operands.size() == 1) {
    for (const Tensor& tensor : instance.tensors) {
      for (size_t d = 0; d < tensor.dims.size() && d < tensor.shape.size(); ++d) {
        if (tensor.dims[d] == subject) return tensor.shape[d];
      }
    }
    return value_of(instance, subject);
  }
  const Tensor* const tensor = instance.find(subject);
  if (tensor == nullptr || tensor->is_scalar()) return std::nullopt;
  if (call.text == "numel" && call.operands.size() == 1) return tensor->elements();
  if (call.text != "stride" || call.operands.size() != 2) return std::nullopt;
  const Expr& which = *call.operands[1];
  for (size_t d = 0; d < tensor->strides.size(); ++d) {
    const bool named = which.kind == Expr::Kind::name && which.text == tensor->dims[d];
    const bool counted =
        which.kind == Expr::Kind::integer && which.integer == static_cast<int64_t>(d);
    if (named || counted) return tensor->strides[d];
  }
  return std::nullopt;
}

}  // namespace

IntegerScope scope_of(const Instance& instance) {
  IntegerScope scope;
  scope.value = [&instance](std::string_view wanted) { return value_of(instance, wanted); };
  scope.call = [&instance](const Expr& call) { return call_of(instance, call); };
  return scope;
}

}  // namespace assay
