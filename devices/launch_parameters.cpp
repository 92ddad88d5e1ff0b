#include "devices/launch_parameters.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace assay {

namespace {

/// The pointer that the kernel gets.
uint64_t pointer_to(const Instance& instance, const Tensor& tensor,
                    const BufferAddress& address_of) {
  const Tensor* target = &tensor;
  if (!tensor.present) {
    if (tensor.spec->absent != Absent::alias) return 0;
    target = instance.find(tensor.spec->alias.operand);
    if (target == nullptr || !target->present) return 0;
  }
  return address_of(*target) + static_cast<uint64_t>(target->offset * byte_size(target->dtype));
}

/// The arguments that a launch passes, in the kernel's order: an absent one that the kernel then
/// does not take is left out.
std::vector<const Tensor*> passed_arguments(const Instance& instance,
                                            const ResolvedLaunch& launch) {
  std::vector<const Tensor*> passed;
  for (int position : launch.args) {
    const Tensor& tensor = instance.tensors[static_cast<size_t>(position)];
    if (tensor.present || tensor.spec->absent != Absent::none) passed.push_back(&tensor);
  }
  return passed;
}

/// The contract's arguments are the entry's parameters, one by one and byte for byte: a launch with
/// others reads what nobody passed. Only pointers may follow in PTX that a compiler such as
/// Triton's made: they are its own scratch memory, and null.
void check_parameters(const Instance& instance, const ResolvedLaunch& launch,
                      const ptx::Function& entry) {
  const std::vector<const Tensor*> passed = passed_arguments(instance, launch);
  const size_t count = entry.params.size();
  const bool hidden =
      instance.contract->source.language != Language::cuda && passed.size() < count &&
      std::all_of(entry.params.begin() + static_cast<std::ptrdiff_t>(passed.size()),
                  entry.params.end(), [](const ptx::Parameter& p) { return p.bytes == 8; });
  if (passed.size() != count && !hidden) {
    throw InputError(launch.spec->where, "the contract passes " + std::to_string(passed.size()) +
                                             " arguments, the entry takes " +
                                             std::to_string(count));
  }
  for (size_t i = 0; i < passed.size(); ++i) {
    const Tensor& tensor = *passed[i];
    const int64_t bytes = tensor.is_scalar() ? byte_size(tensor.dtype) : 8;
    if (entry.params[i].bytes == bytes) continue;
    const std::string what = tensor.is_scalar() ? "is " + std::string(name(tensor.dtype)) + ", of "
                                                : "is a pointer, of ";
    throw InputError(tensor.spec->where, "'" + tensor.spec->name + "' " + what +
                                             std::to_string(bytes) + " bytes; parameter " +
                                             std::to_string(i + 1) + " of the entry has " +
                                             std::to_string(entry.params[i].bytes));
  }
}

}  // namespace

std::vector<uint8_t> launch_parameters(const Instance& instance, const ResolvedLaunch& launch,
                                       const ptx::Function& entry,
                                       const BufferAddress& address_of) {
  check_parameters(instance, launch, entry);
  int64_t bytes = 0;
  for (const ptx::Parameter& p : entry.params) bytes = std::max(bytes, p.offset + p.bytes);
  std::vector<uint8_t> parameters(static_cast<size_t>(bytes), 0);
  const std::vector<const Tensor*> passed = passed_arguments(instance, launch);
  for (size_t i = 0; i < std::min(passed.size(), entry.params.size()); ++i) {
    const Tensor& tensor = *passed[i];
    const ptx::Parameter& p = entry.params[i];
    const uint64_t value =
        tensor.is_scalar() ? tensor.scalar_bits : pointer_to(instance, tensor, address_of);
    std::memcpy(parameters.data() + p.offset, &value,
                static_cast<size_t>(std::min<int64_t>(p.bytes, 8)));
  }
  return parameters;
}

}  // namespace assay
