// What the process that tests and the process that holds the CUDA context say to each other: one
// request at a time through shared memory, with a byte on a socket as the bell.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::cuda {

enum class Verb : uint8_t {
  start,        ///< opens the driver and the card
  load,         ///< `bytes` of PTX text in `staging` become module `answer`
  unload,       ///< all modules
  allocate,     ///< `bytes`; `answer` is the address
  release,      ///< all allocations become free for reuse
  free_memory,  ///< `answer`: bytes that allocations can have
  set_bytes,    ///< `bytes` at `address` become `value`
  upload,       ///< `staging` to `address`
  download,     ///< `address` to `staging`
  launch,
};

inline constexpr size_t kStagingBytes = size_t{8} << 20;

struct Mailbox {
  Verb verb{};
  uint64_t module = 0;
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint8_t value = 0;
  uint32_t grid[3]{};
  uint32_t block[3]{};
  uint32_t shared_bytes = 0;
  uint32_t parameter_bytes = 0;
  char entry[4096]{};
  alignas(16) uint8_t parameters[32768]{};  ///< PTX ISA 9.0, 5.1.6.1: at most 32,764 bytes

  int code = 0;  ///< CUresult; 0: done
  uint64_t answer = 0;
  char message[16384]{};  ///< of a failure
  char card[256]{};       ///< start: the card's name
  int capability = 0;     ///< start: 90 for sm_90
  int cuda_version = 0;   ///< start: 13000 for 13.0

  alignas(64) uint8_t staging[kStagingBytes];
};

/// Answers requests until `socket` closes. Runs in `cuda_server`, never returns.
[[noreturn]] void serve(Mailbox& mailbox, int socket);

}  // namespace assay::cuda
