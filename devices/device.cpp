#include "devices/device.hpp"

namespace assay {

std::string_view name(DiagnosticKind kind) {
  switch (kind) {
    case DiagnosticKind::out_of_bounds:
      return "out_of_bounds";
    case DiagnosticKind::misaligned:
      return "misaligned";
    case DiagnosticKind::uninitialised:
      return "uninitialised";
    case DiagnosticKind::wrap:
      return "wrap";
    case DiagnosticKind::race:
      return "race";
    case DiagnosticKind::barrier:
      return "barrier";
    case DiagnosticKind::launch_limit:
      return "launch_limit";
    case DiagnosticKind::stray_write:
      return "stray_write";
    case DiagnosticKind::narrow_accumulation:
      return "narrow_accumulation";
    case DiagnosticKind::exceptional:
      return "exceptional";
    case DiagnosticKind::trap:
      return "trap";
    case DiagnosticKind::hang:
      return "hang";
    case DiagnosticKind::unsupported:
      return "unsupported";
  }
  return "";
}

std::string coordinates_text(const std::array<int64_t, 3>& at) {
  return "(" + std::to_string(at[0]) + "," + std::to_string(at[1]) + "," + std::to_string(at[2]) +
         ")";
}

std::string Step::text() const {
  std::string text = what;
  if (!file.empty() && line > 0)
    text += " at " + file.substr(file.rfind('/') + 1) + ":" + std::to_string(line);
  if (!instruction.empty()) text += " (" + instruction + ")";
  if (thread[0] >= 0) text += " by thread " + coordinates_text(thread);
  if (thread[0] >= 0 && block[0] >= 0) text += " of block " + coordinates_text(block);
  return value.empty() ? text : text + ": " + value;
}

Diagnostic* count_again(std::vector<Diagnostic>& found, const Diagnostic& d) {
  for (Diagnostic& known : found) {
    const bool same_line = d.file.empty() ? known.ptx_line == d.ptx_line : known.line == d.line;
    if (known.kind != d.kind || known.note != d.note || known.file != d.file || !same_line)
      continue;
    ++known.count;
    return &known;
  }
  return nullptr;
}

}  // namespace assay
