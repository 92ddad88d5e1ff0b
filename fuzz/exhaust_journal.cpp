// The journal: a first line that says what the results belong to, then one line a finished unit.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <tuple>

#include "fuzz/exhaust.hpp"
#include "fuzz/findings.hpp"

namespace assay {

namespace {

/// The number is that of the lines' form.
constexpr const char* kFirstLine = "assay-exhaust 2 ";
constexpr const char* kAnyFirstLine = "assay-exhaust ";

}  // namespace

ExhaustJournal::ExhaustJournal(std::string path, std::string identity) : path_(std::move(path)) {
  if (path_.empty()) return;
  file_.descriptor = open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_.descriptor < 0)
    throw InputError({path_}, std::string("cannot write: ") + std::strerror(errno));
  // A run that was just killed may hold it for a moment.
  for (int wait = 0; flock(file_.descriptor, LOCK_EX | LOCK_NB) != 0; ++wait) {
    if (wait < 100) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    throw InputError({path_}, "another run of assay exhaust is writing here");
  }
  const std::string text = read_text(path_);
  const std::string head = kFirstLine + identity + "\n";
  if (text.empty()) {
    write(head);
    return;
  }
  // A first line that was cut short holds nothing.
  const size_t head_end = text.find('\n');
  if (head_end == std::string::npos && head.starts_with(text)) {
    if (ftruncate(file_.descriptor, 0) != 0) throw InputError({path_}, std::strerror(errno));
    write(head);
    return;
  }
  if (!text.starts_with(kAnyFirstLine)) {
    throw InputError({path_, 1}, "this is no journal of exhaust");
  }
  if (!text.starts_with(kFirstLine)) {
    throw InputError(
        {path_, 1},
        "these results were written by another version of exhaust: give another --out, "
        "or delete the file");
  }
  if (!text.starts_with(head)) {
    throw InputError({path_, 1}, "these results are of another contract or other options (" +
                                     text.substr(0, head_end).substr(std::strlen(kFirstLine)) +
                                     "); expected " + identity +
                                     ": give another --out, or delete the file");
  }
  std::map<std::tuple<std::string, std::string, int64_t>, size_t> places;
  size_t at = head.size();
  while (at < text.size()) {
    const size_t end = text.find('\n', at);
    if (end == std::string::npos) break;
    if (auto result = parse_unit_line(text.substr(at, end - at))) {
      const auto [place, fresh] =
          places.try_emplace({result->variant, result->space, result->unit.first}, known_.size());
      if (fresh) known_.emplace_back();
      known_[place->second] = std::move(*result);
    }
    at = end + 1;
  }
  // What was being written when the run was killed.
  if (at < text.size() && ftruncate(file_.descriptor, static_cast<off_t>(at)) != 0) {
    throw InputError({path_}, std::strerror(errno));
  }
}

ExhaustJournal::File::~File() {
  if (descriptor >= 0) close(descriptor);
}

void ExhaustJournal::append(const UnitResult& result) {
  if (file_.descriptor >= 0) write(unit_line(result) + "\n");
}

void ExhaustJournal::write(const std::string& line) {
  for (size_t done = 0; done < line.size();) {
    const ssize_t n = ::write(file_.descriptor, line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      throw InputError({path_},
                       std::string("cannot write: ") + std::strerror(n < 0 ? errno : ENOSPC));
    }
    done += static_cast<size_t>(n);
  }
}

}  // namespace assay
