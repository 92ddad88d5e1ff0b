#include "fuzz/worker_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <regex>
#include <thread>

namespace assay {

namespace {

constexpr int kCannotStart = 127;

/// In the child: only async-signal-safe calls until exec.
[[noreturn]] void become(char* const* arguments, int log_file, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kCannotStart);  // the parent died before prctl
  dup2(log_file, STDOUT_FILENO);
  dup2(log_file, STDERR_FILENO);
  execv(arguments[0], arguments);
  _exit(kCannotStart);
}

}  // namespace

pid_t start_process(const std::vector<std::string>& arguments, const std::string& log) {
  if (access(arguments.front().c_str(), X_OK) != 0) {
    throw InputError({arguments.front()}, std::string("cannot run: ") + std::strerror(errno));
  }
  const int log_file = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (log_file < 0) throw InputError({log}, std::string("cannot write: ") + std::strerror(errno));
  std::vector<char*> pointers;
  for (const std::string& argument : arguments)
    pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) become(pointers.data(), log_file, parent);
  close(log_file);
  if (pid < 0) throw InputError({}, std::string("cannot start a process: ") + std::strerror(errno));
  return pid;
}

bool has_ended(pid_t pid, WorkerEnd& end, std::string& reason) {
  int status = 0;
  if (waitpid(pid, &status, WNOHANG) != pid) return false;
  if (WIFSIGNALED(status)) {
    end = WorkerEnd::died;
    reason = std::string("signal ") + strsignal(WTERMSIG(status));
    return true;
  }
  const int code = WEXITSTATUS(status);
  reason = "exit status " + std::to_string(code);
  switch (code) {
    case 0:
    case 1:   // the seeded engine: there were findings
    case 72:  // libFuzzer: interrupted
      end = WorkerEnd::finished;
      break;
    case 2:
      end = WorkerEnd::bad_input;
      break;
    case 3:
      end = WorkerEnd::missing;
      break;
    case 70:
      end = WorkerEnd::died, reason = "time-out of one case";
      break;
    case 71:
      end = WorkerEnd::died, reason = "out of memory";
      break;
    case kCannotStart:
      end = WorkerEnd::bad_input;
      break;
    default:
      end = WorkerEnd::died;
  }
  return true;
}

void ask_to_end(pid_t pid) { kill(pid, SIGINT); }

void end_process(pid_t pid, std::chrono::milliseconds patience) {
  ask_to_end(pid);
  const auto until = std::chrono::steady_clock::now() + patience;
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > until) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

std::string last_line(const std::string& path) {
  std::ifstream in(path);
  std::string last;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) last = line;
  }
  const std::string prefix = "assay: ";
  return last.starts_with(prefix) ? last.substr(prefix.size()) : last;
}

InputError error_in_log(const std::string& path) {
  static const std::regex placed("(.+?):(\\d+):(?:(\\d+):)? (.*)");
  const std::string line = last_line(path);
  std::smatch found;
  if (!std::regex_match(line, found, placed)) return {{}, line};
  const int column = found[3].matched ? std::atoi(found[3].str().c_str()) : 0;
  return {{found[1].str(), std::atoi(found[2].str().c_str()), column}, found[4].str()};
}

std::string program_folder() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  const std::string text(path, size > 0 ? static_cast<size_t>(size) : 0);
  return text.substr(0, text.rfind('/'));
}

}  // namespace assay
