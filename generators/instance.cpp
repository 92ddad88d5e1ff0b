// Resolves a case against its contract: names, shapes, strides, scalars, launches, in that order,
// and refuses whatever does not fit.
#include "generators/instance.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "generators/aliases.hpp"
#include "generators/scope.hpp"
#include "generators/variation.hpp"
#include "kernels_under_test/limits.hpp"

namespace assay {
namespace {

constexpr int64_t kMostMisalign = 256;            // bases are 256-byte aligned
constexpr size_t kMostDims = 8;
constexpr __int128 kHighest = std::numeric_limits<int64_t>::max();

/// "1 stride", "2 strides".
std::string counted(size_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// "cols + 8 = 136"; a number alone stands once.
std::string stride_text(const Expr& rule, int64_t value) {
  const std::string text = to_text(rule);
  return text == std::to_string(value) ? text : text + " = " + std::to_string(value);
}

/// Fills an Instance in the order in which its parts depend on each other.
class Resolver {
 public:
  Resolver(const Contract& contract, const Case& c, const std::string& file, Instance& instance)
      : contract_(contract), file_(file), out_(instance) {
    out_.contract = &contract;
    out_.the_case = c;
    scope_ = scope_of(out_);
  }

  void resolve() {
    check_kernel();
    resolve_types();
    resolve_sizes();
    resolve_choices();
    for (const NamedExpr& derived : contract_.derive) {
      out_.names[derived.name] = evaluate_integer(*derived.expr, scope_);
    }
    check_operand_names();
    resolve_shapes();
    resolve_aliases();
    resolve_strides();
    resolve_scalars();
    resolve_launches();
    check_relations();
    check_blocks();
    check_property();
    resolve_values();
  }

 private:
  Case& the_case() { return out_.the_case; }
  [[noreturn]] void fail(const std::string& key, const std::string& message) const {
    SourceLocation where = out_.the_case.places.find(key, file_);
    // What the case lacks has no place of its own: its first line speaks for it.
    if (where.line == 0) where = out_.the_case.places.find("kernel", file_);
    throw InputError(where, message);
  }
  [[noreturn]] void fail_unknown(const std::string& key, const char* what,
                                 const std::string& given,
                                 const std::vector<std::string>& known) const;

  void check_kernel();
  void resolve_types();
  void resolve_sizes();
  void resolve_choices();
  void check_operand_names();
  void resolve_shapes();
  void resolve_aliases();
  void resolve_strides();
  void stride_shared(Tensor& tensor);
  void stride_tensor(Tensor& tensor, const Layout& layout, bool with_rules);
  void check_layout(Tensor& tensor);
  void check_nested(const Tensor& tensor);
  void resolve_scalars();
  void resolve_scalar(Tensor& tensor);
  void resolve_launches();
  void resolve_launch(const LaunchSpec& spec, int position);
  void check_relations();
  void check_blocks();
  void check_property();
  void resolve_values();

  const Contract& contract_;
  const std::string& file_;
  Instance& out_;
  IntegerScope scope_;
};

void Resolver::fail_unknown(const std::string& key, const char* what, const std::string& given,
                            const std::vector<std::string>& known) const {
  std::string message = "kernel '" + contract_.name + "' has no " + what + " '" + given + "'";
  const std::string near = nearest_name(given, known);
  if (!near.empty()) message += " (did you mean '" + near + "'?)";
  fail(key, message);
}

void Resolver::check_kernel() {
  if (the_case().kernel != contract_.name) {
    fail("kernel", "this case is for kernel '" + the_case().kernel + "', the contract is of '" +
                       contract_.name + "'");
  }
}

template <typename Specs>
std::vector<std::string> names_of(const Specs& specs) {
  std::vector<std::string> out;
  for (const auto& spec : specs) out.push_back(spec.name);
  return out;
}

/// True when every key of `given` names a spec; fast when it does.
template <typename Specs, typename Map>
const std::string* first_unknown(const Specs& specs, const Map& given) {
  for (const auto& [key, value] : given) {
    const auto same = [&key = key](const auto& spec) { return spec.name == key; };
    if (std::none_of(specs.begin(), specs.end(), same)) return &key;
  }
  return nullptr;
}

void Resolver::resolve_types() {
  if (const auto* key = first_unknown(contract_.types, the_case().types)) {
    fail_unknown("types." + *key, "type parameter", *key, names_of(contract_.types));
  }
  for (const TypeParameter& parameter : contract_.types) {
    const auto found = the_case().types.find(parameter.name);
    if (found == the_case().types.end()) {
      if (parameter.kinds.size() != 1) fail("types", "the case gives no type " + parameter.name + ": expected 'types " +
                          parameter.name + "=" + std::string(name(parameter.kinds[0])) + "'");
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

void Resolver::resolve_sizes() {
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

void Resolver::resolve_choices() {
  if (const auto* key = first_unknown(contract_.knobs, the_case().knobs)) {
    fail_unknown("knobs." + *key, "knob", *key, names_of(contract_.knobs));
  }
  for (const Knob& knob : contract_.knobs) {
    const auto found = the_case().knobs.find(knob.name);
    if (found == the_case().knobs.end()) {
      if (knob.values.size() != 1) fail("knobs", "the case gives no knob " + knob.name + ": expected 'knobs " + knob.name + "=" +
                          std::to_string(knob.values[0]) + "'");
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

void Resolver::check_operand_names() {
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

void Resolver::resolve_shapes() {
  const Variant variant = the_case().variant();
  out_.tensors.resize(contract_.args.size());
  for (size_t i = 0; i < contract_.args.size(); ++i) {
    const OperandSpec& spec = contract_.args[i];
    Tensor& tensor = out_.tensors[i];
    tensor.spec = &spec;
    tensor.position = static_cast<int>(i);
    tensor.dtype = resolve_dtype(spec, variant);
    tensor.present = !spec.when || evaluate_integer(*spec.when, scope_) != 0;
    if (spec.kind == OperandKind::scalar) continue;
    if (spec.shape.size() > kMostDims) {
      throw InputError(spec.where, "operand '" + spec.name + "' has more than 8 dimensions");
    }
    __int128 elements = byte_size(tensor.dtype);
    for (const Dimension& dimension : spec.shape) {
      const int64_t extent = evaluate_integer(*dimension.extent, scope_);
      if (extent < 0) {
        throw InputError(dimension.extent->where,
                         "operand '" + spec.name + "' would have the negative extent " +
                             to_text(*dimension.extent) + " = " + std::to_string(extent));
      }
      elements *= extent;
      if (elements > kMostOperandBytes) {
        throw InputError(dimension.extent->where,
                         "operand '" + spec.name + "' is larger than 64 TiB with the extent " +
                             to_text(*dimension.extent) + " = " + std::to_string(extent));
      }
      tensor.dims.push_back(dimension.name);
      tensor.shape.push_back(extent);
    }
  }
}

void Resolver::resolve_aliases() {
  for (const auto& [operand, memory] : the_case().aliases) {
    const std::string problem = alias_problem(out_, operand, memory);
    if (!problem.empty()) fail("alias." + operand, problem);
    Tensor& shared = out_.tensors[static_cast<size_t>(out_.find(operand)->position)];
    shared.shares = out_.find(memory)->position;
  }
  const auto [problem, key] = shared_statement(the_case());
  if (!problem.empty()) fail(key, problem);
}

/// Strides of one operand, innermost first: as given, as the rules say, otherwise contiguous.
void Resolver::stride_tensor(Tensor& tensor, const Layout& layout, bool with_rules) {
  const OperandSpec& spec = *tensor.spec;
  const size_t rank = tensor.shape.size();
  tensor.strides.assign(rank, 0);
  __int128 contiguous = 1;
  for (size_t d = rank; d-- > 0;) {
    const StrideRule* const rule = d < spec.strides.size() ? &spec.strides[d] : nullptr;
    const bool given = !layout.strides.empty();
    int64_t stride = given ? layout.strides[d] : static_cast<int64_t>(contiguous);
    if (rule != nullptr && rule->value && with_rules) {
      const int64_t wanted = evaluate_integer(*rule->value, scope_);
      if (given && stride != wanted) {
        fail(layout_key(tensor), "stride " + std::to_string(stride) + " of '" + spec.name +
                                     "' in dimension " + std::to_string(d) + " must be " +
                                     stride_text(*rule->value, wanted));
      }
      stride = wanted;
    } else if (rule == nullptr && given && tensor.shape[d] > 1 && stride != contiguous) {
      fail(layout_key(tensor), "'" + spec.name + "' must be contiguous: stride " +
                                      std::to_string(stride) + " in dimension " +
                                      std::to_string(d) + ", not " +
                                      std::to_string(static_cast<int64_t>(contiguous)));
    }
    if (stride < 0) fail(layout_key(tensor), "stride of '" + spec.name + "' is negative");
    tensor.strides[d] = stride;
    contiguous =
        static_cast<__int128>(std::max<int64_t>(stride, 1)) * std::max<int64_t>(tensor.shape[d], 1);
    if (contiguous > kMostOperandBytes) contiguous = kMostOperandBytes;
  }
}

/// It lies as the input does in whose memory it is, where its own rules admit that.
void Resolver::stride_shared(Tensor& tensor) {
  const Tensor& memory = out_.tensors[static_cast<size_t>(tensor.shares)];
  tensor.offset = memory.offset;
  tensor.misalign = memory.misalign;
  stride_tensor(tensor, {memory.strides, memory.offset, memory.misalign}, true);
}

void Resolver::resolve_strides() {
  static const Layout kContiguous;
  // Rules may speak of other operands' strides, so those without rules come first.
  for (const bool with_rules : {false, true}) {
    for (Tensor& tensor : out_.tensors) {
      if (tensor.is_scalar() || tensor.is_shared()) continue;
      const auto& rules = tensor.spec->strides;
      const bool has_rules =
          std::any_of(rules.begin(), rules.end(), [](const StrideRule& r) { return !!r.value; });
      if (with_rules && !has_rules) continue;
      const auto found = the_case().layouts.find(tensor.spec->name);
      const Layout& layout = found == the_case().layouts.end() ? kContiguous : found->second;
      if (!layout.strides.empty() && layout.strides.size() != tensor.shape.size()) {
        fail("layout." + tensor.spec->name,
             "'" + tensor.spec->name + "' has " + counted(tensor.shape.size(), "dimension") +
                 ", the layout gives " + counted(layout.strides.size(), "stride"));
      }
      tensor.offset = layout.offset;
      tensor.misalign = layout.misalign;
      stride_tensor(tensor, layout, with_rules);
    }
  }
  for (Tensor& tensor : out_.tensors) {
    if (tensor.is_shared()) stride_shared(tensor);
  }
  for (Tensor& tensor : out_.tensors) {
    if (!tensor.is_scalar()) check_layout(tensor);
  }
}

void Resolver::check_layout(Tensor& tensor) {
  const OperandSpec& spec = *tensor.spec;
  const std::string key = layout_key(tensor);
  const int64_t size = byte_size(tensor.dtype);
  if (tensor.offset < 0 || tensor.offset > kMostOperandBytes / size) {
    fail(key,
         "offset " + std::to_string(tensor.offset) + " of '" + spec.name + "' is out of range");
  }
  if (tensor.misalign < 0 || tensor.misalign >= kMostMisalign) {
    fail(key, "misalign of '" + spec.name + "' must be in [0, 256)");
  }
  const int64_t align = spec.align ? evaluate_integer(*spec.align, scope_) : size;
  if (align < 1 || (tensor.misalign + tensor.offset * size) % align != 0 ||
      tensor.misalign % size != 0) {
    fail(key, "the address of '" + spec.name + "' is not a multiple of its alignment of " +
                  std::to_string(align) + " bytes");
  }
  if (!tensor.present) return;
  tensor.storage_elements = tensor.offset;
  if (tensor.elements() == 0) return;
  check_nested(tensor);
  __int128 last = tensor.offset + 1;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    last += static_cast<__int128>(tensor.shape[d] - 1) * tensor.strides[d];
    tensor.broadcast |= tensor.shape[d] > 1 && tensor.strides[d] == 0;
  }
  if (spec.overread) last += std::max<int64_t>(0, evaluate_integer(*spec.overread, scope_));
  if (last > kMostOperandBytes / size) fail(key, "'" + spec.name + "' spans more than 64 TiB");
  tensor.storage_elements = static_cast<int64_t>(last);
}

/// No two elements share a place, except along stride 0 of an operand that is only read.
void Resolver::check_nested(const Tensor& tensor) {
  std::array<std::pair<int64_t, int64_t>, kMostDims> dims;  // (stride, extent)
  size_t count = 0;
  for (size_t d = 0; d < tensor.shape.size() && d < kMostDims; ++d) {
    if (tensor.shape[d] > 1) dims[count++] = {tensor.strides[d], tensor.shape[d]};
  }
  for (size_t i = 1; i < count; ++i) {
    for (size_t j = i; j > 0 && dims[j] < dims[j - 1]; --j) std::swap(dims[j], dims[j - 1]);
  }
  __int128 span = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto [stride, extent] = dims[i];
    if (stride == 0 && !tensor.is_written()) continue;
    if (stride <= span) {
      fail(layout_key(tensor), "elements of '" + tensor.spec->name +
                                              "' overlap: stride " + std::to_string(stride) +
                                              " does not step over what the smaller strides span");
    }
    span += static_cast<__int128>(extent - 1) * stride;
  }
}

void Resolver::resolve_scalars() {
  for (Tensor& tensor : out_.tensors) {
    if (tensor.is_scalar()) resolve_scalar(tensor);
  }
}

void Resolver::resolve_scalar(Tensor& tensor) {
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

void Resolver::resolve_launches() {
  for (size_t i = 0; i < contract_.launches.size(); ++i) {
    const LaunchSpec& spec = contract_.launches[i];
    if (spec.when && evaluate_integer(*spec.when, scope_) == 0) continue;
    resolve_launch(spec, static_cast<int>(i));
  }
}

void Resolver::resolve_launch(const LaunchSpec& spec, int position) {
  ResolvedLaunch launch;
  launch.spec = &spec;
  launch.position = position;
  for (int axis = 0; axis < 3; ++axis) {
    launch.grid[axis] = spec.grid[axis] ? evaluate_integer(*spec.grid[axis], scope_) : 1;
    launch.block[axis] = spec.block[axis] ? evaluate_integer(*spec.block[axis], scope_) : 1;
    if (launch.grid[axis] < 0 || launch.block[axis] < 0) {
      throw InputError(spec.where, "the launch would have a negative grid or block");
    }
  }
  const __int128 blocks = static_cast<__int128>(launch.grid[0]) * launch.grid[1];
  if (blocks > kHighest || blocks * launch.grid[2] > kHighest) {
    throw InputError(spec.where, "the launch would have more than 2^63 blocks");
  }
  launch.shared_bytes = spec.shared ? evaluate_integer(*spec.shared, scope_) : 0;
  if (launch.shared_bytes < 0) throw InputError(spec.where, "negative shared memory");
  if (spec.args.empty()) {
    for (size_t i = 0; i < contract_.args.size(); ++i) {
      const Tensor& tensor = out_.tensors[i];
      if (tensor.present || tensor.spec->absent != Absent::none) {
        launch.args.push_back(static_cast<int>(i));
      }
    }
  }
  for (const std::string& arg : spec.args) {
    const Tensor* const tensor = out_.find(arg);
    if (tensor == nullptr) throw InputError(spec.where, "launch names no operand '" + arg + "'");
    launch.args.push_back(tensor->position);
  }
  out_.launches.push_back(std::move(launch));
}

void Resolver::check_relations() {
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

void Resolver::check_blocks() {
  if (the_case().blocks.empty()) return;
  if (out_.launches.size() != 1) {
    fail("blocks", "a subset of blocks needs exactly one launch; this case has " +
                       std::to_string(out_.launches.size()));
  }
  const auto& grid = out_.launches[0].grid;
  const int64_t blocks = grid[0] * grid[1] * grid[2];
  for (const int64_t block : the_case().blocks) {
    if (block >= 0 && block < blocks) continue;
    fail("blocks", "block " + std::to_string(block) + " is beyond the grid of " +
                       std::to_string(blocks) + " blocks");
  }
  for (const Tensor& tensor : out_.tensors) {
    if (tensor.present && tensor.is_judged() &&
        contract_.find_ownership(tensor.spec->name) == nullptr) {
      fail("blocks",
           "a subset of blocks can run only where the contract says in 'owns' what a "
           "block writes; it does not for '" +
               tensor.spec->name + "'");
    }
  }
}

void Resolver::check_property() {
  if (the_case().property.name.empty()) return;
  const auto [problem, key] = property_problem(contract_, the_case());
  if (!problem.empty()) fail(key, problem);
}

void Resolver::resolve_values() {
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

}  // namespace

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

int64_t Instance::evaluate(const Expr& expr) const {
  return evaluate_integer(expr, scope_of(*this));
}

Instance instantiate(const Contract& contract, const Case& c, const std::string& file) {
  Instance instance;
  Resolver(contract, c, file, instance).resolve();
  return instance;
}

void check_case_against(const Contract& contract, const Case& c, const std::string& file) {
  instantiate(contract, c, file);
}

}  // namespace assay
