#include "fuzz/stop_signals.hpp"

namespace assay {

namespace {

volatile std::sig_atomic_t stop_asked = 0;
void on_signal(int) { stop_asked = 1; }

}  // namespace

StopSignals::StopSignals() {
  stop_asked = 0;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, &old_int_);
  sigaction(SIGTERM, &action, &old_term_);
}

StopSignals::~StopSignals() {
  sigaction(SIGINT, &old_int_, nullptr);
  sigaction(SIGTERM, &old_term_, nullptr);
}

bool StopSignals::asked() { return stop_asked != 0; }

}  // namespace assay
