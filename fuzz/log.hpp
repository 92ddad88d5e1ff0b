// Progress and log lines; the only user of spdlog. On a terminal one line that is rewritten, in a
// log plain lines, less often.
#pragma once

#include <iosfwd>
#include <string>

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

/// Shows where a long run stands; called as often as one likes, from one thread.
void log_progress(const std::string& line);
/// Ends the progress line, before other output.
void end_progress();

}  // namespace assay
