#include <iostream>

#include "fuzz/program.hpp"

int main(int argc, char** argv) {
  return assay::run_program({argv + 1, argv + argc}, {std::cout, std::cerr});
}
