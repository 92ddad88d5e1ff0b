#include "fuzz/program_name.hpp"

#include "fuzz/text_table.hpp"

namespace assay {

namespace {

std::string& current() {
  static std::string name = "assay";
  return name;
}

}  // namespace

const std::string& program_name() { return current(); }

void set_program_name(const std::string& typed) {
  if (!typed.empty()) current() = shell_word(typed);
}

}  // namespace assay
