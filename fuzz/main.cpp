#include <csignal>
#include <iostream>

#include "fuzz/program.hpp"
#include "fuzz/program_name.hpp"

int main(int argc, char** argv) {
  // A limit on file sizes is then an error of write(), reported like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  if (argc > 0) assay::set_program_name(argv[0]);
  return assay::run_program({argv + 1, argv + argc}, {std::cout, std::cerr});
}
