// One worker process of `assay fuzz`: the fuzz target under an engine, for a slice of time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "kernels_under_test/input_error.hpp"

namespace assay {

enum class WorkerEnd {
  finished,   ///< the slice is over
  bad_input,  ///< it said so on its log (exit status 2): a source with an error, a full disk
  missing,    ///< a dependency (exit status 3)
  died,       ///< a signal, or an engine's report of a crash, a time-out, too much memory
};

struct WorkerProcess {
  pid_t pid = -1;
  std::string kernel;
  std::string log;
  int64_t most_cases = 0;  ///< of this slice; 0: no limit
  double slice_seconds = 0;
  std::chrono::steady_clock::time_point start;
  int64_t kept_before = 0;  ///< inputs in the corpus when it began

  bool running() const { return pid > 0; }
};

/// Starts a program with its stderr and stdout in `log`; it dies with this process. Throws
/// InputError when it cannot be started.
pid_t start_process(const std::vector<std::string>& arguments, const std::string& log);

/// Looks whether the process has ended, without waiting. Returns true and its end when it has.
bool has_ended(pid_t pid, WorkerEnd& end, std::string& reason);

/// Asks a process to end (SIGINT) and returns at once.
void ask_to_end(pid_t pid);

/// Ends a process: SIGINT first, SIGKILL after `patience`.
void end_process(pid_t pid, std::chrono::milliseconds patience);

/// The last line that a process wrote, without its "assay: "; as an error, with the place that it
/// begins with.
std::string last_line(const std::string& log);
InputError error_in_log(const std::string& log);

/// Folder of the running program.
std::string program_folder();

}  // namespace assay
