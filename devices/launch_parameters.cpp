#include "devices/launch_parameters.hpp"

#include <algorithm>
#include <cstring>

namespace assay {

namespace {

/// The pointer that the kernel gets.
uint64_t pointer_to(const Instance& instance, const Tensor& tensor,
                    const BufferAddress& address_of) {
  const Tensor* target = &tensor;
  if (!tensor.present) {
    if (tensor.spec->absent != Absent::alias) return 0;
    target = instance.find(tensor.spec->alias);
    if (target == nullptr || !target->present) return 0;
  }
  return address_of(*target) + static_cast<uint64_t>(target->offset * byte_size(target->dtype));
}

}  // namespace

std::vector<uint8_t> launch_parameters(const Instance& instance, const ResolvedLaunch& launch,
                                       const ptx::Function& entry,
                                       const BufferAddress& address_of) {
  int64_t bytes = 0;
  for (const ptx::Parameter& p : entry.params) bytes = std::max(bytes, p.offset + p.bytes);
  std::vector<uint8_t> parameters(static_cast<size_t>(bytes), 0);
  size_t next = 0;
  for (int position : launch.args) {
    const Tensor& tensor = instance.tensors[static_cast<size_t>(position)];
    if (!tensor.present && tensor.spec->absent == Absent::none) continue;
    if (next >= entry.params.size()) break;
    const ptx::Parameter& p = entry.params[next++];
    const uint64_t value =
        tensor.is_scalar() ? tensor.scalar_bits : pointer_to(instance, tensor, address_of);
    std::memcpy(parameters.data() + p.offset, &value,
                static_cast<size_t>(std::min<int64_t>(p.bytes, 8)));
  }
  return parameters;
}

}  // namespace assay
