#include <csignal>
#include <iostream>

#include "fuzz/freed_memory.hpp"
#include "fuzz/program.hpp"
#include "fuzz/program_name.hpp"
#include "fuzz/stop_signals.hpp"

int main(int argc, char** argv) {
  // A limit on file sizes is then an error of write(), reported like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  // Commands that keep what they have done take these over (fuzz/stop_signals.hpp).
  assay::handle_stop_signals(assay::end_at_once);
  assay::keep_freed_memory();
  if (argc > 0) assay::set_program_name(argv[0]);
  return assay::run_program({argv + 1, argv + argc}, {std::cout, std::cerr});
}
