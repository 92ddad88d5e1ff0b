#include "fuzz/kernel_errors.hpp"

namespace assay {

KernelErrors::KernelErrors(size_t kernels, const SmokeCases& cases) : kernels_(kernels) {
  for (const auto& [kernel, error] : cases.errors()) errors_.try_emplace(kernel, -1, error);
}

void KernelErrors::add(size_t kernel, int64_t order, const InputError& error) {
  const std::lock_guard lock(mutex_);
  const auto [at, fresh] = errors_.try_emplace(kernel, order, error);
  if (!fresh && order < at->second.first) at->second = {order, error};
}

bool KernelErrors::has_ended(size_t kernel) const {
  const std::lock_guard lock(mutex_);
  return errors_.contains(kernel);
}

bool KernelErrors::all_ended() const {
  const std::lock_guard lock(mutex_);
  return errors_.size() == kernels_;
}

void KernelErrors::report(std::vector<KernelReport>& kernels) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [kernel, error] : errors_) kernels[kernel].error = error.second;
}

}  // namespace assay
