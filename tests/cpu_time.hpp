// Time that tests may assert on: what this process computed, not what a loaded machine made it
// wait.
#pragma once

#include <ctime>

namespace assay::test {

/// Processor seconds of this process, over all of its threads.
inline double cpu_seconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace assay::test
