// A finding as every JSON report shows it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "fuzz/report.hpp"

namespace assay {

/// Kernel, kind, rule, place and message, and the file that repeats it ("" without one).
nlohmann::ordered_json finding_json(const Finding& finding, const std::string& case_file);

}  // namespace assay
