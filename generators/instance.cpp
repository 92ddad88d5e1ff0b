// Resolves a case against its contract: names, shapes, strides, scalars, launches, in that order,
// and refuses whatever does not fit.
#include "generators/instance.hpp"

#include <algorithm>
#include <set>

#include "generators/instance_resolver.hpp"
#include "generators/scope.hpp"
#include "generators/variation.hpp"

namespace assay {
namespace {

template <typename Specs>
std::vector<std::string> names_of(const Specs& specs) {
  std::vector<std::string> out;
  for (const auto& spec : specs) out.push_back(spec.name);
  return out;
}

/// The first key of `given` that names none of `specs`; nullptr where each names one.
template <typename Specs, typename Map>
const std::string* first_unknown(const Specs& specs, const Map& given) {
  for (const auto& [key, value] : given) {
    const auto same = [&key = key](const auto& spec) { return spec.name == key; };
    if (std::none_of(specs.begin(), specs.end(), same)) return &key;
  }
  return nullptr;
}

}  // namespace

void InstanceResolver::fail_unknown(const std::string& key, const char* what,
                                    const std::string& given,
                                    const std::vector<std::string>& known) const {
  std::string message = "kernel '" + contract_.name + "' has no " + what + " '" + given + "'";
  const std::string near = nearest_name(given, known);
  if (!near.empty()) message += " (did you mean '" + near + "'?)";
  fail(key, message);
}

void InstanceResolver::check_kernel() {
  if (the_case().kernel != contract_.name) {
    fail("kernel", "this case is for kernel '" + the_case().kernel + "', the contract is of '" +
                       contract_.name + "'");
  }
}

void InstanceResolver::resolve_types() {
  if (const auto* key = first_unknown(contract_.types, the_case().types)) {
    fail_unknown("types." + *key, "type parameter", *key, names_of(contract_.types));
  }
  for (const TypeParameter& parameter : contract_.types) {
    const auto found = the_case().types.find(parameter.name);
    if (found == the_case().types.end()) {
      if (parameter.kinds.size() != 1) {
        fail("types", "the case gives no type " + parameter.name + ": expected 'types " +
                          parameter.name + "=" + std::string(name(parameter.kinds[0])) + "'");
      }
      the_case().types[parameter.name] = parameter.kinds[0];
      continue;
    }
    const auto& kinds = parameter.kinds;
    if (std::find(kinds.begin(), kinds.end(), found->second) != kinds.end()) continue;
    std::string known;
    for (const DType kind : kinds) known += (known.empty() ? "" : ", ") + std::string(name(kind));
    fail("types." + parameter.name, "kernel '" + contract_.name + "' has no " + parameter.name +
                                        "=" + std::string(name(found->second)) + "; it has " +
                                        known);
  }
}

void InstanceResolver::resolve_sizes() {
  if (const auto* key = first_unknown(contract_.sizes, the_case().sizes)) {
    fail_unknown("sizes." + *key, "size", *key, names_of(contract_.sizes));
  }
  for (const SizeSpec& size : contract_.sizes) {
    const auto found = the_case().sizes.find(size.name);
    if (found == the_case().sizes.end()) {
      const int64_t least = size.in.empty() ? size.min : size.in[0];
      fail("sizes", "the case gives no size " + size.name + ": expected 'sizes " + size.name + "=" +
                        std::to_string(least) + "' or another that the contract admits");
    }
    const int64_t value = found->second;
    const std::string key = "sizes." + size.name;
    const std::string given = "size " + size.name + "=" + std::to_string(value);
    if (value < 0) fail(key, given + " is negative");
    if (!size.in.empty()) {
      if (std::find(size.in.begin(), size.in.end(), value) == size.in.end()) {
        fail(key, given + " is not one of the contract's values");
      }
    } else if (value < size.min || value > size.max) {
      fail(key, given + " is outside [" + std::to_string(size.min) + ", " +
                    std::to_string(size.max) + "]");
    }
    out_.names[size.name] = value;
  }
}

void InstanceResolver::resolve_choices() {
  if (const auto* key = first_unknown(contract_.knobs, the_case().knobs)) {
    fail_unknown("knobs." + *key, "knob", *key, names_of(contract_.knobs));
  }
  for (const Knob& knob : contract_.knobs) {
    const auto found = the_case().knobs.find(knob.name);
    if (found == the_case().knobs.end()) {
      if (knob.values.size() != 1)
        fail("knobs", "the case gives no knob " + knob.name + ": expected 'knobs " + knob.name +
                          "=" + std::to_string(knob.values[0]) + "'");
      the_case().knobs[knob.name] = knob.values[0];
    } else if (std::find(knob.values.begin(), knob.values.end(), found->second) ==
               knob.values.end()) {
      std::string known;
      for (const int64_t value : knob.values)
        known += (known.empty() ? "" : ", ") + std::to_string(value);
      fail("knobs." + knob.name, "kernel '" + contract_.name + "' has no " + knob.name + "=" +
                                     std::to_string(found->second) + "; it has " + known);
    }
    out_.names[knob.name] = the_case().knobs[knob.name];
  }
  for (const auto& [flag, value] : the_case().flags) {
    if (std::find(contract_.flags.begin(), contract_.flags.end(), flag) == contract_.flags.end()) {
      fail_unknown("flags." + flag, "flag", flag, contract_.flags);
    }
    if (value != 0 && value != 1) fail("flags." + flag, "flag " + flag + " is 0 or 1");
  }
  for (const std::string& flag : contract_.flags) {
    out_.names[flag] = the_case().flags.emplace(flag, 0).first->second;
  }
}

void InstanceResolver::check_operand_names() {
  const auto refuse = [&](const std::string& section, const std::string& given) {
    fail_unknown(section + "." + given, "operand", given, names_of(contract_.args));
  };
  for (const auto& [operand, memory] : the_case().aliases) {
    for (const std::string& one : {operand, memory}) {
      if (contract_.find_operand(one) == nullptr)
        fail_unknown("alias." + operand, "operand", one, names_of(contract_.args));
    }
  }
  for (const auto& [operand, layout] : the_case().layouts) {
    const OperandSpec* const spec = contract_.find_operand(operand);
    if (spec == nullptr) refuse("layout", operand);
    if (spec->kind == OperandKind::scalar) fail("layout." + operand, "a scalar has no layout");
  }
  for (const auto& [operand, recipe] : the_case().values) {
    const OperandSpec* const spec = contract_.find_operand(operand);
    if (spec == nullptr) refuse("values", operand);
    if (spec->kind == OperandKind::scalar || spec->kind == OperandKind::output ||
        spec->kind == OperandKind::workspace) {
      fail("values." + operand, "'" + operand + "' is no input: it takes no values");
    }
  }
  for (const auto& [operand, position] : the_case().scalars) {
    const OperandSpec* const spec = contract_.find_operand(operand);
    if (spec == nullptr || spec->kind != OperandKind::scalar) refuse("scalars", operand);
    if (position < 0 || position >= static_cast<int64_t>(spec->values.size())) {
      fail("scalars." + operand,
           "scalar " + operand + " has " + std::to_string(spec->values.size()) +
               " values to choose from, not position " + std::to_string(position));
    }
  }
}

void InstanceResolver::resolve_scalars() {
  for (Tensor& tensor : out_.tensors) {
    if (tensor.is_scalar()) resolve_scalar(tensor);
  }
}

void InstanceResolver::resolve_scalar(Tensor& tensor) {
  const OperandSpec& spec = *tensor.spec;
  const Expr* value = spec.value.get();
  if (!spec.values.empty()) {
    const int64_t position = the_case().scalars.emplace(spec.name, 0).first->second;
    value = spec.values[position].get();
  }
  if (value == nullptr) throw InputError(spec.where, "scalar '" + spec.name + "' has no value");
  if (is_floating(tensor.dtype)) {
    tensor.scalar_bits = round_to_bits(tensor.dtype, evaluate_real(*value, scope_));
    tensor.scalar_value = to_double(tensor.dtype, tensor.scalar_bits);
    return;
  }
  // A scalar may carry a size's name; value_of then finds the size first.
  const int64_t integer = evaluate_integer(*value, scope_);
  const int bits = bit_width(tensor.dtype);
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  tensor.scalar_bits = static_cast<uint64_t>(integer) & mask;
  if (to_integer(tensor.dtype, tensor.scalar_bits) != integer) {
    throw ScalarTooSmall(the_case().places.find("", file_),
                         "scalar '" + spec.name + "' = " + std::to_string(integer) +
                             " does not fit " + std::string(name(tensor.dtype)),
                         &spec);
  }
  tensor.scalar_integer = integer;
  tensor.scalar_value = static_cast<double>(integer);
}

void InstanceResolver::check_relations() {
  for (const NamedExpr& relation : contract_.require) {
    if (evaluate_integer(*relation.expr, scope_) != 0) continue;
    std::string values;
    std::set<std::string> named;
    for (const std::string& part : names_in(*relation.expr)) {
      const auto found = out_.names.find(part);
      if (found == out_.names.end() || !named.insert(part).second) continue;
      values += (values.empty() ? "" : ", ") + part + "=" + std::to_string(found->second);
    }
    const std::string why = relation.name + (values.empty() ? " does not hold"
                                                            : " does not hold for " + values);
    if (file_ == contract_.path) {  // a case that we made, the last that was tried
      throw InputError(relation.where, "no case was found that satisfies this: " + why +
                                           "; expected a relation that some sizes, within "
                                           "their limits, and strides satisfy");
    }
    fail("sizes", "the contract requires " + relation.name +
                      (values.empty() ? "" : ", which does not hold for " + values));
  }
}

void InstanceResolver::check_property() {
  if (the_case().property.name.empty()) return;
  const auto [problem, key] = property_problem(contract_, the_case());
  if (!problem.empty()) fail(key, problem);
}

void InstanceResolver::resolve_values() {
  for (Tensor& tensor : out_.tensors) {
    if (tensor.is_scalar() || !tensor.present || !tensor.is_read() || tensor.is_shared()) continue;
    tensor.plan = plan_values(out_, tensor, file_);
    tensor.named = named_places(*tensor.spec);
  }
  for (size_t i = 0; i < the_case().overrides.size(); ++i) {
    const PointOverride& point = the_case().overrides[i];
    const Tensor* const tensor = out_.find(point.operand);
    if (tensor == nullptr) {
      fail("set." + std::to_string(i),
           "kernel '" + contract_.name + "' has no operand '" + point.operand + "'");
    }
    if (!tensor->is_read()) {
      fail("set." + std::to_string(i), "'" + point.operand + "' is no input: it takes no values");
    }
  }
  for (const Tensor& tensor : out_.tensors) {
    if (tensor.plan.prefix_sum_of >= 0) {
      out_.tensors[tensor.plan.prefix_sum_of].plan.is_prefix_summed = true;
    }
  }
}

const Tensor* Instance::find(std::string_view operand) const {
  for (const Tensor& tensor : tensors) {
    if (tensor.spec != nullptr && tensor.spec->name == operand) return &tensor;
  }
  return nullptr;
}

const Tensor& Instance::writer_of(const Tensor& owner) const {
  for (const Tensor& tensor : tensors) {
    if (tensor.shares == owner.position) return tensor;
  }
  return owner;
}

bool Instance::has_output() const {
  return std::any_of(tensors.begin(), tensors.end(), [](const Tensor& tensor) {
    return tensor.present && tensor.is_judged() && tensor.elements() > 0;
  });
}

int64_t Instance::evaluate(const Expr& expr) const {
  return evaluate_integer(expr, scope_of(*this));
}

Instance instantiate(const Contract& contract, const Case& c, const std::string& file) {
  Instance instance;
  InstanceResolver(contract, c, file, instance).resolve();
  return instance;
}

void check_case_against(const Contract& contract, const Case& c, const std::string& file) {
  instantiate(contract, c, file);
}

}  // namespace assay
