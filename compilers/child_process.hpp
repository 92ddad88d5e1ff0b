// Runs a program to its end and keeps what it prints. No shell is involved.
#pragma once

#include <string>
#include <vector>

namespace assay {

struct ChildResult {
  int status = 0;      ///< exit status; 128 + signal when killed; 127 when it could not start
  std::string output;  ///< standard output and error, in order
};

/// `arguments[0]` is the program's file.
ChildResult run_child(const std::vector<std::string>& arguments);

}  // namespace assay
