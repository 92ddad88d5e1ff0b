// Sparse memory of the emulated device: regions at far-apart virtual addresses, backed by pages
// that are filled on first touch from the region's value function.
//
// Every byte carries a state: written by the kernel (bit 0), undefined (bit 1). Pages are recycled
// between runs, so a small run allocates nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace assay::ptx {

inline constexpr int kPageBits = 12;
inline constexpr int64_t kPageBytes = int64_t{1} << kPageBits;

/// State bits of one byte.
inline constexpr uint8_t kWritten = 1;
inline constexpr uint8_t kUndefined = 2;

/// Fills bytes [first, first + count) of a region.
using FillFunction = std::function<void(int64_t first, int64_t count, uint8_t* out)>;

/// What a region is. Addresses and sizes in bytes.
struct RegionSpec {
  std::string name;  ///< the operand's or variable's name, for messages
  uint64_t base = 0;
  int64_t bytes = 0;       ///< exact: one byte further is out of bounds
  int element_bytes = 1;   ///< messages count elements
  bool writable = true;    ///< false: a store is a stray write (and is done)
  bool constant = false;   ///< const or param memory: a store is a fault
  bool undefined = false;  ///< bytes count as uninitialised until stored
  int64_t undefined_from = std::numeric_limits<int64_t>::max();  ///< so do bytes from here on
  bool judged = false;     ///< storing an undefined value here is a finding
  bool owned = false;      ///< each element is written by one block alone
  int64_t operand_bytes = 0;  ///< of an operand: its own bytes, of which coverage watches both ends
  FillFunction fill;       ///< null: zeros
};

struct Page {
  alignas(64) uint8_t data[kPageBytes];
  alignas(64) uint8_t state[kPageBytes];
  uint64_t number = 0;  ///< address >> kPageBits
  int32_t region = -1;
  int32_t low = 0;  ///< bytes [low, high) of the page belong to the region
  int32_t high = 0;
  uint8_t ends = 0;  ///< kFirstElement, kLastElement: the page holds that byte of an operand
  bool has_undefined = false;
  bool written = false;      ///< by the current launch
};

struct Region {
  RegionSpec spec;
  uint64_t first_page = 0;
  std::vector<Page*> direct;                   ///< small regions: one entry a page
  std::unordered_map<uint64_t, Page*> sparse;  ///< large ones
};

class Memory {
 public:
  Memory();
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Forgets all regions; their pages are kept for reuse.
  void reset();
  /// Adds a region that overlaps no page of another; returns its index.
  int add(RegionSpec spec);

  /// Forgets which pages were written and by which micro-op: a launch's code names its own.
  void begin_launch();

  /// Fills a region's touched pages anew.
  void refill(int region);

  const std::vector<Region>& regions() const { return regions_; }
  /// Region that holds the address, or the nearest one of those whose neighbourhood (half way to
  /// the next) holds it; -1 without regions.
  int nearest(uint64_t address) const;
  /// Region that begins at the address; -1: none does.
  int region_at(uint64_t base) const;

  /// The page of an address, or null when no region covers any byte of that page.
  Page* page(uint64_t address) {
    const uint64_t number = address >> kPageBits;
    Page* cached = cache_[number & (kCacheEntries - 1)];
    return cached != nullptr && cached->number == number ? cached : find(number);
  }
  /// A page that was touched, or null: never fills.
  const Page* touched(int region, uint64_t page_number) const;
  /// Pages touched since reset, in order of first touch.
  const std::vector<Page*>& touched_pages() const { return touched_; }

  /// Reads bytes of one region as they are now without touching pages: untouched ones come from the
  /// fill function. `written[i]` gets each byte's written flag.
  void read(int region, int64_t first, int64_t count, uint8_t* bytes, uint8_t* written) const;

 private:
  static constexpr size_t kCacheEntries = 256;
  Page* find(uint64_t number);
  Page* allocate();

  std::vector<Region> regions_;
  std::vector<Page*> touched_;
  std::vector<Page*> free_;
  std::vector<std::unique_ptr<Page[]>> slabs_;
  std::vector<Page*> cache_;
  std::vector<int> by_address_;  ///< regions sorted by base
};

}  // namespace assay::ptx
