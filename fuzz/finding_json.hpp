// A finding as every JSON report shows it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "fuzz/report.hpp"

namespace assay {

/// Kernel, kind, rule, place and message, and the file that repeats it ("" without one).
nlohmann::ordered_json finding_json(const Finding& finding, const std::string& case_file);

/// What could not be run or written: file and line ("" and 0 where not known), and the message.
nlohmann::ordered_json error_json(const InputError& error);

/// The steps of a finding that was written so.
std::vector<Step> read_steps(const nlohmann::ordered_json& finding);

}  // namespace assay
