#include <csignal>
#include <iostream>

#include "fuzz/program.hpp"

int main(int argc, char** argv) {
  // A limit on file sizes is then an error of write(), reported like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  return assay::run_program({argv + 1, argv + argc}, {std::cout, std::cerr});
}
