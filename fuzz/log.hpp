// Progress and log lines; the only user of spdlog. On a terminal one line that is rewritten, in a
// log plain lines, less often.
#pragma once

#include <condition_variable>
#include <iosfwd>
#include <mutex>
#include <string>
#include <thread>

namespace assay {

/// Sends log lines to `stream` while it lives.
class LogTo {
 public:
  explicit LogTo(std::ostream& stream);
  ~LogTo();
  LogTo(const LogTo&) = delete;
  LogTo& operator=(const LogTo&) = delete;
};

void log_info(const std::string& line);
void log_warning(const std::string& line);

/// Says that a step goes on when it takes longer than a few seconds, such as a compilation; while
/// it lives. From any thread.
class SlowStep {
 public:
  explicit SlowStep(std::string line);
  ~SlowStep();
  SlowStep(const SlowStep&) = delete;
  SlowStep& operator=(const SlowStep&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::thread watcher_;
};

/// Shows where a long run stands; called as often as one likes.
void log_progress(const std::string& line);
/// Ends the progress line, before other output.
void end_progress();

}  // namespace assay
