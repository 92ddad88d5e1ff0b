// Distinct findings: one a bug, in memory and as case files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fuzz/check_case.hpp"

namespace assay {

/// The first finding of each cause, by the order of its case; equal whatever the threads did.
class FindingSet {
 public:
  struct Entry {
    Finding finding;
    int64_t order = 0;  ///< number of the case that showed it first
    int64_t seen = 0;
  };
  /// Returns true when the cause is new.
  bool add(Finding finding, int64_t order);
  void merge(FindingSet other);
  bool contains(const Finding& finding) const { return entries_.contains(finding.cause()); }
  size_t size() const { return entries_.size(); }
  /// In order of the first case; those of one case by cause.
  std::vector<Entry> sorted() const;

 private:
  std::map<std::string, Entry> entries_;
};

/// "wrap-softmax.cu-31", "mismatch-R5-softmax.cu": file name for a finding, without folder and
/// ending. Distinct identities of one kernel have distinct slugs.
std::string slug(const Finding& finding);

/// Before the identity of another finding that the same case shows, in a case file's comments.
inline const std::string kCauseComment = "with, in the same case: ";
/// The comments of a finding's case file: who found it, where a mismatch's worst element was
/// stored or an undefined value first read, the message.
std::vector<std::string> finding_comments(const std::string& found_by, const Finding& finding);
/// What the case of `result` shows before `finding`, as a comment; nothing when that comes first.
std::vector<std::string> cause_comment(const CheckResult& result, const Finding& finding);
/// Takes the stored place, the origin and the steps out of such comments, each step as its text;
/// leaves `finding` alone when they name none.
void read_places(const std::vector<std::string>& comments, Finding& finding);

/// Creates a folder and those above it; throws InputError naming it when that fails.
void make_folder(const std::string& folder);

/// Throws InputError unless files can be written in the folder, which need not be there yet. Leaves
/// nothing behind: a command that files only what it finds asks before it searches.
void check_folder(const std::string& folder);

/// Writes a file whole or not at all (temporary file, then rename). Throws InputError "cannot
/// write" with the system's reason: no permission, disk full.
void write_file(const std::string& path, const std::string& content);

/// Reads a case file. Throws InputError as `parse_case` does, and where it records a failure of a
/// kind or by a rule that there is not.
Case read_case(const std::string& path);

/// Reads a whole file; throws InputError when it is not there, is a folder or cannot be read.
std::string read_text(const std::string& path);

}  // namespace assay
