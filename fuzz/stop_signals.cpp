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

void handle_stop_signals(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  for (const int signal : kStopSignals) {
    struct sigaction old = {};
    sigaction(signal, nullptr, &old);
    if (old.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
}

StopSignals::StopSignals() {
  stop_asked = 0;
  for (size_t i = 0; i < old_.size(); ++i) sigaction(kStopSignals[i], nullptr, &old_[i]);
  handle_stop_signals(on_signal);
}

StopSignals::~StopSignals() {
  stop_asked = 0;
  for (size_t i = 0; i < old_.size(); ++i) sigaction(kStopSignals[i], &old_[i], nullptr);
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
