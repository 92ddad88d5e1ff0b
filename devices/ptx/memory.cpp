#include "devices/ptx/memory.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "devices/coverage.hpp"

namespace assay::ptx {

namespace {

/// Regions of at most this many pages (16 MiB) have a flat page table.
constexpr uint64_t kDirectPages = 4096;
/// Pages allocated at a time.
constexpr int kSlabPages = 16;

}  // namespace

Memory::Memory() : cache_(kCacheEntries, nullptr) {}
Memory::~Memory() = default;

void Memory::reset() {
  free_.insert(free_.end(), touched_.begin(), touched_.end());
  touched_.clear();
  regions_.clear();
  by_address_.clear();
  std::fill(cache_.begin(), cache_.end(), nullptr);
}

int Memory::add(RegionSpec spec) {
  Region region;
  region.first_page = spec.base >> kPageBits;
  const int64_t bytes = std::max<int64_t>(spec.bytes, 1);
  const uint64_t pages =
      ((spec.base + static_cast<uint64_t>(bytes) - 1) >> kPageBits) - region.first_page + 1;
  if (pages <= kDirectPages) region.direct.assign(pages, nullptr);
  region.spec = std::move(spec);
  regions_.push_back(std::move(region));
  const int index = static_cast<int>(regions_.size()) - 1;
  const auto place =
      std::lower_bound(by_address_.begin(), by_address_.end(), index,
                       [&](int a, int b) { return regions_[a].spec.base < regions_[b].spec.base; });
  by_address_.insert(place, index);
  return index;
}

int Memory::nearest(uint64_t address) const {
  int best = -1;
  uint64_t best_distance = ~uint64_t{0};
  for (int index : by_address_) {
    const RegionSpec& spec = regions_[index].spec;
    const uint64_t end = spec.base + static_cast<uint64_t>(spec.bytes);
    const uint64_t distance = address < spec.base ? spec.base - address
                              : address >= end    ? address - end + 1
                                                  : 0;
    if (distance < best_distance) {
      best_distance = distance;
      best = index;
    }
  }
  return best;
}

int Memory::region_at(uint64_t base) const {
  for (size_t i = 0; i < regions_.size(); ++i) {
    if (regions_[i].spec.base == base) return static_cast<int>(i);
  }
  return -1;
}

Page* Memory::allocate() {
  if (free_.empty()) {
    // Default initialisation: the bytes are filled before they are read.
    slabs_.push_back(std::unique_ptr<Page[]>(new Page[kSlabPages]));
    for (int i = 0; i < kSlabPages; ++i) free_.push_back(&slabs_.back()[i]);
  }
  Page* page = free_.back();
  free_.pop_back();
  return page;
}

const Page* Memory::touched(int index, uint64_t number) const {
  const Region& region = regions_[index];
  if (number < region.first_page) return nullptr;
  if (!region.direct.empty()) {
    const uint64_t slot = number - region.first_page;
    return slot < region.direct.size() ? region.direct[slot] : nullptr;
  }
  const auto found = region.sparse.find(number);
  return found == region.sparse.end() ? nullptr : found->second;
}

Page* Memory::find(uint64_t number) {
  const uint64_t last = (number << kPageBits) | (kPageBytes - 1);
  // The last region that begins at or before the end of this page.
  const auto after = std::upper_bound(by_address_.begin(), by_address_.end(), last,
                                      [&](uint64_t a, int b) { return a < regions_[b].spec.base; });
  if (after == by_address_.begin()) return nullptr;
  const int index = *(after - 1);
  Region& region = regions_[index];
  const RegionSpec& spec = region.spec;
  const uint64_t begin = number << kPageBits;
  const uint64_t end = spec.base + static_cast<uint64_t>(spec.bytes);
  if (begin >= end || spec.bytes <= 0) return nullptr;

  if (const Page* known = touched(index, number)) {
    Page* page = const_cast<Page*>(known);
    cache_[number & (kCacheEntries - 1)] = page;
    return page;
  }
  Page* page = allocate();
  page->number = number;
  page->region = index;
  page->low = begin < spec.base ? static_cast<int32_t>(spec.base - begin) : 0;
  page->high = static_cast<int32_t>(std::min<uint64_t>(kPageBytes, end - begin));
  const uint64_t last_byte = spec.base + static_cast<uint64_t>(spec.operand_bytes) - 1;
  page->ends = 0;
  if (spec.operand_bytes > 0) {
    if (number == spec.base >> kPageBits) page->ends |= kFirstElement;
    if (number == last_byte >> kPageBits) page->ends |= kLastElement;
  }
  page->has_undefined = spec.undefined;
  page->written = false;
  std::memset(page->state, spec.undefined ? kUndefined : 0, kPageBytes);
  const int64_t first = static_cast<int64_t>(begin + page->low - spec.base);
  const int64_t count = page->high - page->low;
  if (const int64_t defined = std::max<int64_t>(spec.undefined_from - first, 0); defined < count) {
    std::memset(page->state + page->low + defined, kUndefined,
                static_cast<size_t>(count - defined));
    page->has_undefined = true;
  }
  if (spec.fill) {
    spec.fill(first, count, page->data + page->low);
  } else {
    std::memset(page->data + page->low, 0, count);
  }
  if (region.direct.empty()) {
    region.sparse.emplace(number, page);
  } else {
    region.direct[number - region.first_page] = page;
  }
  touched_.push_back(page);
  cache_[number & (kCacheEntries - 1)] = page;
  return page;
}

void Memory::begin_launch() {
  for (Page* page : touched_) {
    page->written = false;
    }
}

void Memory::refill(int index) {
  const RegionSpec& spec = regions_[index].spec;
  for (Page* page : touched_) {
    if (page->region != index || !spec.fill) continue;
    const uint64_t begin = (page->number << kPageBits) + static_cast<uint64_t>(page->low);
    spec.fill(static_cast<int64_t>(begin - spec.base), page->high - page->low,
              page->data + page->low);
  }
}

void Memory::read(int index, int64_t first, int64_t count, uint8_t* bytes, uint8_t* written) const {
  const RegionSpec& spec = regions_[index].spec;
  assert(first >= 0 && first + count <= spec.bytes);
  while (count > 0) {
    const uint64_t address = spec.base + static_cast<uint64_t>(first);
    const int64_t offset = static_cast<int64_t>(address & (kPageBytes - 1));
    const int64_t here = std::min(count, kPageBytes - offset);
    if (const Page* page = touched(index, address >> kPageBits)) {
      std::memcpy(bytes, page->data + offset, here);
      for (int64_t i = 0; i < here; ++i) written[i] = page->state[offset + i] & kWritten;
    } else {
      if (spec.fill) {
        spec.fill(first, here, bytes);
      } else {
        std::memset(bytes, 0, here);
      }
      std::memset(written, 0, here);
    }
    first += here;
    count -= here;
    bytes += here;
    written += here;
  }
}

}  // namespace assay::ptx
