#include "fuzz/stop_signals.hpp"

#include <unistd.h>

#include "fuzz/options.hpp"

namespace assay {

namespace {

/// Signals after which the program ends at once, whatever it would still write.
constexpr int kPatience = 3;

volatile std::sig_atomic_t stop_asked = 0;

void on_signal(int signal) {
  stop_asked = stop_asked + 1;
  if (stop_asked >= kPatience) end_at_once(signal);
}

}  // namespace

StopSignals::StopSignals() {
  stop_asked = 0;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, &old_int_);
  sigaction(SIGTERM, &action, &old_term_);
}

StopSignals::~StopSignals() {
  stop_asked = 0;
  sigaction(SIGINT, &old_int_, nullptr);
  sigaction(SIGTERM, &old_term_, nullptr);
}

bool StopSignals::asked() { return stop_asked != 0; }

void end_at_once(int) {
  // Only what may be called in a handler.
  constexpr char kLine[] = "assay: interrupted\n";
  if (write(STDERR_FILENO, kLine, sizeof kLine - 1) < 0) {
  }
  _exit(static_cast<int>(Exit::interrupted));
}

}  // namespace assay
