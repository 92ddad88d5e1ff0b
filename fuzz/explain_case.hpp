// The explanation that `assay repro` prints: enough for a reviewer to believe a failure at first
// sight. Equal cases give equal text: no times, no addresses, nothing of caches.
#pragma once

#include <string>

#include "fuzz/check_case.hpp"

namespace assay {

/// `command` is the line that repeats the explanation.
std::string explain_case(Checker& checker, const Case& c, const CheckResult& result,
                         const std::string& command);

/// Where the wrong elements of an output lie, in characters: `.` right, `+` some wrong, `#` all
/// wrong of the elements that a character stands for. `wrong` holds logical indices.
std::string picture(const Tensor& output, const std::vector<int64_t>& wrong);

/// Lines around `line` of a file, numbered, the line itself marked; "" when the file is not there.
std::string source_excerpt(const std::string& path, int line, int around = 3);

/// The text of a rule in oracles/RULES.md; "" when there is none.
std::string rule_text(const std::string& rule);

/// "same", or what differs between the failure that a case records and what it shows now.
std::string compare_with_recorded(const Case& c, const CheckResult& result);

}  // namespace assay
