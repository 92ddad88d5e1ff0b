// Ctrl-C as a request to stop, for commands that keep what they have done.
#pragma once

#include <csignal>

namespace assay {

/// SIGINT and SIGTERM ask for an end while this lives. One at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  static bool asked();

 private:
  struct sigaction old_int_ = {};
  struct sigaction old_term_ = {};
};

}  // namespace assay
