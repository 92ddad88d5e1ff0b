// Ctrl-C as a request to stop, for commands that keep what they have done.
#pragma once

#include <array>
#include <csignal>

namespace assay {

/// Ctrl-C, `kill`, and the end of the terminal or the connection that a program runs in.
inline constexpr std::array<int, 3> kStopSignals{SIGINT, SIGTERM, SIGHUP};

/// Gives every signal that asks for an end to a handler, but those that the program was started to
/// ignore (`nohup`, a shell's background).
void handle_stop_signals(void (*handler)(int));

/// A handler of signals for all other commands: one line on stderr, status 130.
void end_at_once(int signal);

/// Signals that ask for an end are a request while this lives; the third ends at once. One at a
/// time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  static bool asked();  ///< false when none lives

 private:
  std::array<struct sigaction, kStopSignals.size()> old_ = {};
};

}  // namespace assay
