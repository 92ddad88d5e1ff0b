// The replay engine: runs case files, or all files of folders, and says which do not behave as
// their shelf promises. No libFuzzer, no search: the engine of the corpus tests.
//
//   replay [--contract PATH] FILE_OR_FOLDER...
//   replay --misplaced PATH     says that PATH is on no shelf: the test of a file that would never
//   run
//
// A file in a folder named `open` must fail exactly as it records (kind, rule, file, line); any
// other must pass. Exit status: 0 all do, 1 some do not, 2 bad input, 3 missing dependency, 4 some
// skipped.
#include <iostream>

#include "fuzz/freed_memory.hpp"
#include "fuzz/options.hpp"
#include "fuzz/replay.hpp"

int main(int argc, char** argv) {
  assay::keep_freed_memory();
  return static_cast<int>(assay::run_replay({argv + 1, argv + argc}, std::cout, std::cerr));
}
