#include "fuzz/freed_memory.hpp"

#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace assay {

void keep_freed_memory() {
#ifdef __GLIBC__
  // mallopt(3): DEFAULT_MMAP_THRESHOLD_MAX on 64-bit machines, above which a block is mapped by
  // itself and unmapped when it is freed. A case's large buffers are far below.
  constexpr int kMappedFrom = 32 << 20;
  // Free bytes at the end of the heap that are kept: above what a case of the largest work needs.
  constexpr int kKept = 256 << 20;
  mallopt(M_MMAP_THRESHOLD, kMappedFrom);
  mallopt(M_TRIM_THRESHOLD, kKept);
#endif
}

}  // namespace assay
