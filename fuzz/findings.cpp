#include "fuzz/findings.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <tuple>

#include "fuzz/text_table.hpp"
#include "kernels_under_test/input_error.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {
constexpr int kLastRule = 24;  // oracles/RULES.md
constexpr const char* kStep = "led there: ";
constexpr const char* kStoredAt = "the worst element is stored at ";
constexpr const char* kOrigin = "the value is first read at ";
}

bool FindingSet::add(Finding finding, int64_t order) {
  const auto [at, fresh] = entries_.try_emplace(finding.cause());
  Entry& entry = at->second;
  ++entry.seen;
  if (fresh || order < entry.order) {
    entry.order = order;
    entry.finding = std::move(finding);
  }
  return fresh;
}

void FindingSet::merge(FindingSet other) {
  for (auto& [cause, theirs] : other.entries_) {
    const auto [at, fresh] = entries_.try_emplace(cause, theirs);
    if (fresh) continue;
    Entry& ours = at->second;
    ours.seen += theirs.seen;
    if (theirs.order < ours.order) {
      ours.order = theirs.order;
      ours.finding = std::move(theirs.finding);
    }
  }
}

std::vector<FindingSet::Entry> FindingSet::sorted() const {
  std::vector<Entry> all;
  for (const auto& [cause, entry] : entries_) all.push_back(entry);
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) {
    const auto key = [](const Entry& e) {
      return std::tuple(e.order, cause_rank(e.finding.kind), e.finding.identity());
    };
    return key(a) < key(b);
  });
  return all;
}

std::string slug(const Finding& finding) {
  std::string text = finding.kind;
  if (finding.rule != finding.kind && !finding.rule.empty()) text += "-" + finding.rule;
  text += "-" + base_name(finding.file);
  // The judge's findings stand at the entry's line, which a kernel has one of; where the wrong
  // value was stored is not known before the case has run again.
  const bool judged =
      finding.kind == "mismatch" || finding.kind == "unwritten" || finding.kind == "undecided";
  if (!judged && finding.line > 0) text += "-" + std::to_string(finding.line);
  for (char& c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || std::strchr("._-", c);
    if (!plain) c = '_';
  }
  return text;
}

std::vector<std::string> finding_comments(const std::string& found_by, const Finding& finding) {
  std::vector<std::string> comments{found_by};
  if (finding.stored_line > 0) {
    comments.push_back(kStoredAt + fs::path(finding.stored_file).filename().string() + ":" +
                       std::to_string(finding.stored_line));
  }
  if (!finding.origin.empty()) comments.push_back(kOrigin + finding.origin);
  for (const Step& step : finding.steps) comments.push_back(kStep + step.text());
  comments.push_back(finding.message);
  return comments;
}

void read_places(const std::vector<std::string>& comments, Finding& finding) {
  finding.unstored = finding.message.find(kNoneStored) != std::string::npos;
  for (const std::string& comment : comments) {
    if (comment.starts_with(kStep)) {
      Step step;
      step.what = comment.substr(std::strlen(kStep));
      finding.steps.push_back(std::move(step));
      continue;
    }
    if (comment.starts_with(kOrigin)) finding.origin = comment.substr(std::strlen(kOrigin));
    const size_t colon = comment.rfind(':');
    if (!comment.starts_with(kStoredAt) || colon == std::string::npos) continue;
    finding.stored_file = comment.substr(std::strlen(kStoredAt), colon - std::strlen(kStoredAt));
    finding.stored_line = std::atoi(comment.c_str() + colon + 1);
  }
}

std::vector<std::string> cause_comment(const CheckResult& result, const Finding& finding) {
  const std::string first = first_cause(result, finding);
  if (first.empty()) return {};
  return {kCauseComment + first};
}

void make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw InputError({folder}, "cannot make this folder: " + error.message());
}

void check_folder(const std::string& folder) {
  std::error_code error;
  fs::path nearest = fs::absolute(folder, error).lexically_normal();
  while (!fs::exists(nearest, error) && nearest.has_relative_path())
    nearest = nearest.parent_path();
  const auto fail = [&](int number) {
    throw InputError({folder}, std::string("cannot write here: ") + std::strerror(number));
  };
  if (!fs::is_directory(nearest, error)) fail(ENOTDIR);
  std::string probe = (nearest / ".assay-XXXXXX").string();
  if (mkdtemp(probe.data()) == nullptr) fail(errno);
  rmdir(probe.c_str());
}

void write_file(const std::string& path, const std::string& content) {
  const std::string temporary = path + ".tmp" + std::to_string(getpid());
  const auto fail = [&](int error) {
    unlink(temporary.c_str());
    throw InputError({path}, std::string("cannot write: ") + std::strerror(error));
  };
  // A device such as /dev/full cannot be replaced by renaming: write to it directly.
  std::error_code ignored;
  const bool special = fs::exists(path, ignored) && !fs::is_regular_file(path, ignored);
  const std::string& target = special ? path : temporary;
  const int file = open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) fail(errno);
  for (size_t done = 0; done < content.size();) {
    const ssize_t n = write(file, content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int error = n < 0 ? errno : ENOSPC;
      close(file);
      fail(error);
    }
    done += static_cast<size_t>(n);
  }
  if (close(file) != 0) fail(errno);
  if (!special && rename(temporary.c_str(), path.c_str()) != 0) fail(errno);
}

namespace {

/// The kind or the rule of a record that there is not, and what there is; "" where both are known.
std::string unknown_record(const Recorded& recorded) {
  const std::vector<std::string> judged{"mismatch", "unwritten", "undecided"};
  std::vector<std::string> kinds = checker_kinds();
  kinds.insert(kinds.end(), judged.begin(), judged.end());
  kinds.push_back("property");
  const auto has = [](const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  };
  if (!has(kinds, recorded.kind)) {
    const std::string near = nearest_name(recorded.kind, kinds);
    return "unknown kind '" + recorded.kind + "'" +
           (near.empty() ? "" : " (did you mean '" + near + "'?)") + "; there are " + joined(kinds);
  }
  if (!has(judged, recorded.kind) || recorded.rule.empty()) return "";
  const char* digits = recorded.rule.c_str() + 1;
  const int number = std::atoi(digits);
  if (recorded.rule == "R" + std::to_string(number) && number >= 1 && number <= kLastRule)
    return "";
  return "unknown rule '" + recorded.rule + "'; the judge's are R1 to R" +
         std::to_string(kLastRule);
}

}  // namespace

Case read_case(const std::string& path) {
  const std::string text = read_text(path);
  Case c = parse_case(text, path);
  const std::string unknown = c.recorded.kind.empty() ? "" : unknown_record(c.recorded);
  if (unknown.empty()) return c;
  std::istringstream lines(text);
  std::string line;
  int number = 1;
  while (std::getline(lines, line) && !line.starts_with("recorded ")) ++number;
  throw InputError({path, number, 1}, unknown);
}

std::string read_text(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) throw InputError({path}, "is a folder, expected a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError({path}, "cannot read: " + std::string(std::strerror(errno)));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace assay
