// How the programs hold memory between cases.
#pragma once

namespace assay {

/// Makes the C library keep what is freed for the next case:
/// by default it returns the end of its heap to the system, and the next case faults it in anew,
/// page by page. Once, at the start of a program; nothing where the C library is not glibc.
void keep_freed_memory();

}  // namespace assay
