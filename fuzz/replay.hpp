// Replays a corpus: does every case behave as its shelf promises?
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "fuzz/check_case.hpp"
#include "fuzz/options.hpp"

namespace assay {

/// What is wrong with a case's behaviour on its shelf, "" when nothing is. On the shelf `open` it
/// must fail exactly as it records; on any other it must pass.
std::string shelf_violation(const Case& c, const CheckResult& result, bool open_shelf);

/// Runs the files given, and all files of the folders given, printing one line a case.
Exit run_replay(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);

}  // namespace assay
