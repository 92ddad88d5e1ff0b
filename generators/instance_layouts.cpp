// Shapes, shared memory and strides of a case's operands, and what they may not be.
#include <algorithm>
#include <array>

#include "generators/aliases.hpp"
#include "generators/instance_resolver.hpp"
#include "kernels_under_test/alignment.hpp"
#include "kernels_under_test/limits.hpp"

namespace assay {
namespace {

constexpr int64_t kMostMisalign = 256;  // bases are 256-byte aligned
constexpr size_t kMostDims = 8;

/// "1 stride", "2 strides".
std::string counted(size_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// "cols + 8 = 136"; a number alone stands once.
std::string stride_text(const Expr& rule, int64_t value) {
  const std::string text = to_text(rule);
  return text == std::to_string(value) ? text : text + " = " + std::to_string(value);
}

}  // namespace

void InstanceResolver::resolve_shapes() {
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

void InstanceResolver::resolve_aliases() {
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
void InstanceResolver::stride_tensor(Tensor& tensor, const Layout& layout, bool with_rules) {
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
                                   std::to_string(stride) + " in dimension " + std::to_string(d) +
                                   ", not " + std::to_string(static_cast<int64_t>(contiguous)));
    }
    if (stride < 0) fail(layout_key(tensor), "stride of '" + spec.name + "' is negative");
    tensor.strides[d] = stride;
    contiguous =
        static_cast<__int128>(std::max<int64_t>(stride, 1)) * std::max<int64_t>(tensor.shape[d], 1);
    if (contiguous > kMostOperandBytes) contiguous = kMostOperandBytes;
  }
}

/// It lies as the input does in whose memory it is, where its own rules admit that.
void InstanceResolver::stride_shared(Tensor& tensor) {
  const Tensor& memory = out_.tensors[static_cast<size_t>(tensor.shares)];
  tensor.offset = memory.offset;
  tensor.misalign = memory.misalign;
  stride_tensor(tensor, {memory.strides, memory.offset, memory.misalign}, true);
}

void InstanceResolver::resolve_strides() {
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

void InstanceResolver::check_layout(Tensor& tensor) {
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
  if (spec.align && !is_alignment(align))
    throw InputError(spec.align->where, "'align' of '" + spec.name + "' is " +
                                            std::to_string(align) +
                                            " in this case; expected a power of two from 1 to " +
                                            std::to_string(kMostAlign));
  if ((tensor.misalign + tensor.offset * size) % align != 0 || tensor.misalign % size != 0) {
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
  if (spec.overread) {
    const int64_t past = evaluate_integer(*spec.overread, scope_);
    if (past < 0)
      throw InputError(spec.overread->where, "'overread' of '" + spec.name + "' is " +
                                                 std::to_string(past) +
                                                 " in this case; expected a number of elements");
    last += past;
  }
  if (last > kMostOperandBytes / size) fail(key, "'" + spec.name + "' spans more than 64 TiB");
  tensor.storage_elements = static_cast<int64_t>(last);
}

/// No two elements share a place, except along stride 0 of an operand that is only read.
void InstanceResolver::check_nested(const Tensor& tensor) {
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
      fail(layout_key(tensor), "elements of '" + tensor.spec->name + "' overlap: stride " +
                                   std::to_string(stride) +
                                   " does not step over what the smaller strides span");
    }
    span += static_cast<__int128>(extent - 1) * stride;
  }
}

}  // namespace assay
