// The program `cuda_server SOCKET MEMORY`: holds a CUDA context for devices/cuda/process.cpp, which
// starts it with an open socket and an open memory file. A program of its own because libcuda does
// not survive fork(), and NVRTC brings libcuda into the process that compiles.
#include <sys/mman.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "devices/cuda/mailbox.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "cuda_server is started by assay\n");
    return 2;
  }
  std::signal(SIGINT, SIG_IGN);  // the parent decides
  void* memory = mmap(nullptr, sizeof(assay::cuda::Mailbox), PROT_READ | PROT_WRITE, MAP_SHARED,
                      std::atoi(argv[2]), 0);
  if (memory == MAP_FAILED) return 3;
  assay::cuda::serve(*static_cast<assay::cuda::Mailbox*>(memory), std::atoi(argv[1]));
}
