// Ctrl-C as a request to stop, for commands that keep what they have done.
#pragma once

#include <csignal>

namespace assay {

/// A handler of signals for all other commands: one line on stderr, status 130.
void end_at_once(int signal);

/// SIGINT and SIGTERM ask for an end while this lives; the third ends at once. One at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  static bool asked();  ///< false when none lives

 private:
  struct sigaction old_int_ = {};
  struct sigaction old_term_ = {};
};

}  // namespace assay
