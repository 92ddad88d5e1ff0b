// What the user typed to run the program, for the commands that it prints.
#pragma once

#include <string>

namespace assay {

/// As a shell takes it back: "assay", "build/assay". "assay" until it is set.
const std::string& program_name();
void set_program_name(const std::string& typed);

}  // namespace assay
