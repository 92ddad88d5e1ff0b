#include "fuzz/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <utility>

namespace assay {

namespace {

using SteadyClock = std::chrono::steady_clock;

struct Log {
  std::shared_ptr<spdlog::logger> logger;
  std::ostream* stream = nullptr;
  bool terminal = false;
  bool open_line = false;  ///< a progress line stands on the terminal
  SteadyClock::time_point next_progress{};
};

Log& current() {
  static Log log;
  return log;
}

/// Around everything that touches `current()`: a slow step speaks from a thread of its own.
std::recursive_mutex& guard() {
  static std::recursive_mutex mutex;
  return mutex;
}

constexpr auto kSlow = std::chrono::seconds(4);
constexpr auto kTerminalPeriod = std::chrono::milliseconds(200);
constexpr auto kLogPeriod = std::chrono::seconds(10);

}  // namespace

LogTo::LogTo(std::ostream& stream) {
  const std::lock_guard lock(guard());
  Log& log = current();
  auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(stream, true);
  log.logger = std::make_shared<spdlog::logger>("assay", sink);
  log.logger->set_pattern("%v");
  log.stream = &stream;
  log.terminal = &stream == &std::cerr && isatty(STDERR_FILENO) == 1;
  log.open_line = false;
  log.next_progress = SteadyClock::now() + (log.terminal ? SteadyClock::duration(kTerminalPeriod)
                                                         : SteadyClock::duration(kLogPeriod));
}

LogTo::~LogTo() {
  const std::lock_guard lock(guard());
  end_progress();
  current() = {};
}

void log_info(const std::string& line) {
  const std::lock_guard lock(guard());
  end_progress();
  if (current().logger) current().logger->info(line);
}

void log_warning(const std::string& line) {
  const std::lock_guard lock(guard());
  end_progress();
  if (current().logger) current().logger->warn("warning: {}", line);
}

void log_progress(const std::string& line) {
  const std::lock_guard lock(guard());
  Log& log = current();
  const auto now = SteadyClock::now();
  if (!log.logger || now < log.next_progress) return;
  if (log.terminal) {
    *log.stream << "\r\033[K" << line << std::flush;
    log.open_line = true;
    log.next_progress = now + kTerminalPeriod;
  } else {
    log.logger->info(line);
    log.next_progress = now + kLogPeriod;
  }
}

void end_progress() {
  const std::lock_guard lock(guard());
  Log& log = current();
  if (!log.open_line) return;
  *log.stream << "\r\033[K" << std::flush;
  log.open_line = false;
}

SlowStep::SlowStep(std::string line)
    : watcher_([this, line = std::move(line)] {
        std::unique_lock lock(mutex_);
        if (!ended_.wait_for(lock, kSlow, [this] { return over_; })) log_info(line);
      }) {}

SlowStep::~SlowStep() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_all();
  watcher_.join();
}

}  // namespace assay
