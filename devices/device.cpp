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
    case DiagnosticKind::trap:
      return "trap";
    case DiagnosticKind::hang:
      return "hang";
    case DiagnosticKind::unsupported:
      return "unsupported";
  }
  return "";
}

}  // namespace assay
