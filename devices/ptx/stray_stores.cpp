#include "devices/ptx/stray_stores.hpp"

#include <bit>

#include "devices/ptx/watch.hpp"

namespace assay::ptx {

bool is_owned(const Instance& instance, const Tensor& tensor) {
  return tensor.is_judged() && instance.launches.size() == 1 &&
         instance.contract->find_ownership(tensor.spec->name) != nullptr;
}

StrayStores::StrayStores(const Instance& instance, uint64_t (*address_of)(const Tensor&))
    : instance_(instance), subset_(!instance.the_case.blocks.empty()) {
  for (const Tensor& tensor : instance.tensors) {
    if (tensor.is_scalar() || !tensor.present || !tensor.is_written()) continue;
    Operand operand;
    operand.tensor = &tensor;
    operand.base = address_of(tensor);
    operand.has_padding = tensor.storage_elements != tensor.elements();
    operand.is_owned = is_owned(instance, tensor);
    operands_.push_back(std::move(operand));
  }
}

BoxIndex& StrayStores::owned_by(Operand& operand, int64_t block) {
  const auto known = operand.owned.find(block);
  if (known != operand.owned.end()) return known->second;
  std::vector<Box> boxes = block < 0 ? owned_elements(instance_, *operand.tensor)
                                     : elements_of_block(instance_, *operand.tensor, block);
  return operand.owned.emplace(block, BoxIndex(std::move(boxes))).first->second;
}

std::string StrayStores::objection(Operand& operand, int64_t storage, int64_t block) {
  const Tensor& tensor = *operand.tensor;
  const auto logical =
      storage >= 0 && storage < tensor.storage_elements ? tensor.logical_of(storage) : std::nullopt;
  const char* what = "";
  if (!logical) {
    what = "store to padding of ";
  } else if (operand.is_owned &&
             !owned_by(operand, block).contains(tensor.coordinates(*logical))) {
    what = "store to an element that another block owns: ";
  } else {
    return "";
  }
  return what + tensor.spec->name + ", element " + std::to_string(storage);
}

bool StrayStores::seen(const Memory& memory, const std::map<int, int>& regions) {
  for (Operand& operand : operands_) {
    if (!operand.has_padding && !(operand.is_owned && subset_)) continue;
    const int region = regions.at(operand.tensor->position);
    const int bytes = byte_size(operand.tensor->dtype);
    for (const Page* page : memory.touched_pages()) {
      if (page->region != region || !page->written) continue;
      int64_t previous = -1;
      for (int32_t i = page->low; i < page->high; ++i) {
        if ((page->state[i] & kWritten) == 0) continue;
        const uint64_t address = (page->number << kPageBits) + static_cast<uint64_t>(i);
        const int64_t storage = static_cast<int64_t>(address - operand.base) / bytes;
        if (storage == previous) continue;
        previous = storage;
        // Without a subset every element is owned by some block that ran.
        const bool padding = !operand.tensor->logical_of(storage);
        if (padding || (subset_ && !objection(operand, storage, -1).empty())) return true;
      }
    }
  }
  return false;
}

void StrayStores::tell(const AccessEvent& event, const Module& module, const LaunchConfig& config,
                       std::vector<Diagnostic>& found) {
  if (!event.is_write || event.space != Space::global) return;
  for (uint32_t lanes = event.mask; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    const uint64_t address = event.addresses[lane];
    for (Operand& operand : operands_) {
      const int bytes = byte_size(operand.tensor->dtype);
      const int64_t first = static_cast<int64_t>(address - operand.base) / bytes;
      if (address < operand.base || first >= operand.tensor->storage_elements) continue;
      const int64_t last =
          static_cast<int64_t>(address - operand.base + static_cast<uint64_t>(event.bytes) - 1) /
          bytes;
      for (int64_t storage = first; storage <= last; ++storage) {
        std::string message = objection(operand, storage, event.block);
        if (message.empty()) continue;
        Diagnostic d;
        d.kind = DiagnosticKind::stray_write;
        d.message = std::move(message);
        d.operand = operand.tensor->spec->name;
        const LastStore store = store_of(event, lane, module, config);
        d.file = store.file;
        d.line = store.line;
        d.ptx_line = store.ptx_line;
        d.block = store.block;
        d.thread = store.thread;
        if (count_again(found, d) == nullptr) found.push_back(std::move(d));
      }
    }
  }
}

AccessObserver StrayStores::teller(const Module& module, const LaunchConfig& config,
                                   std::vector<Diagnostic>& found) {
  return [this, &module, &config, &found](const AccessEvent& event) {
    tell(event, module, config, found);
  };
}

}  // namespace assay::ptx
