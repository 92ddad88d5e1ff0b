// A compiler's log to an InputError at the first error's place.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <sstream>

#include "compilers/nvrtc.hpp"

namespace assay {
namespace {

struct LogError {
  SourceLocation where;
  std::string message;  ///< "error: identifier "foo" is undefined"
  std::string line;     ///< the whole line of the log
};

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// `file(12): error: text` (NVIDIA's front end) or `file:12:3: error: text` (the host compiler).
std::optional<LogError> parse_error_line(const std::string& line) {
  size_t colon = line.find(": error");
  const size_t fatal = line.find(": fatal error");
  const size_t severe = line.find(": catastrophic error");
  colon = std::min({colon, fatal, severe});
  if (colon == std::string::npos) return std::nullopt;
  LogError error{{line.substr(0, colon)}, line.substr(colon + 2), line};
  std::string& place = error.where.file;
  if (place.ends_with(')')) {
    const size_t open = place.rfind('(');
    const auto found =
        open == std::string::npos
            ? std::nullopt
            : number(std::string_view(place).substr(open + 1, place.size() - open - 2));
    if (found) error.where.line = *found, place.resize(open);
    return error;
  }
  for (int* field : {&error.where.column, &error.where.line}) {
    const size_t last = place.rfind(':');
    if (last == std::string::npos) break;
    const auto found = number(std::string_view(place).substr(last + 1));
    if (!found) break;
    *field = *found;
    place.resize(last);
  }
  if (error.where.line == 0) std::swap(error.where.line, error.where.column);
  return error;
}

std::optional<LogError> first_error(const std::string& log) {
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (auto error = parse_error_line(line)) return error;
  }
  return std::nullopt;
}

/// NVRTC compiles name expressions in a file of that name; nvcc sees ours.
bool concerns_entry(const LogError& error) {
  return error.where.file.starts_with("__nv_name_map") ||
         std::filesystem::path(error.where.file).filename() == "entry.cu";
}

/// NVRTC has CUDA's headers and the user's, none of the host's.
std::string header_hint(CudaCompiler compiler, const std::string& message) {
  const bool missing = message.find("cannot open source file") != std::string::npos;
  if (compiler != CudaCompiler::nvrtc || !missing) return "";
  return "; for headers of the host, such as <vector>, write compiler = \"nvcc\" in 'source'";
}

/// The log below the one line that was told already; "" when nothing is left.
std::string rest_of_log(const std::string& log, const std::string& told) {
  std::istringstream lines(log);
  std::string rest;
  bool dropped = false;
  for (std::string line; std::getline(lines, line);) {
    if (!dropped && line == told) {
      dropped = true;
    } else if (line.find_first_not_of(" \t\r") != std::string::npos) {
      rest += "\n" + line;
    }
  }
  return rest;
}

std::string available(const std::vector<std::string>& names) {
  if (names.empty()) return "it defines no __global__ function";
  std::string text = "its __global__ functions: ";
  for (size_t i = 0; i < names.size(); ++i) text += (i ? ", " : "") + names[i];
  return text;
}

}  // namespace

void throw_compile_error(const CompileRequest& request, const std::string& source_text,
                         const std::string& log, CudaCompiler compiler) {
  const std::optional<LogError> error = first_error(log);
  // Complaints about options name no place: "nvrtc: error: invalid value for --gpu-architecture".
  if (!error || error->where.line == 0) {
    const std::string first_line = log.substr(0, log.find('\n'));
    throw InputError(request.where, "'" + request.source + "' does not compile: " + first_line +
                                        rest_of_log(log, first_line));
  }
  const std::string rest = rest_of_log(log, error->line);
  if (!concerns_entry(*error)) {
    throw InputError(error->where, error->message + header_hint(compiler, error->message) + rest);
  }
  const std::vector<std::string> names = kernel_names(source_text);
  const std::string wanted = unqualified_name(request.entry);
  const std::string file = std::filesystem::path(request.source).filename().string();
  if (std::find(names.begin(), names.end(), wanted) == names.end()) {
    const std::string near = nearest_name(wanted, names);
    throw InputError(request.where, "entry '" + request.entry + "' is not in " + file +
                                        (near.empty() ? "" : " (did you mean '" + near + "'?)") +
                                        "; " + available(names));
  }
  throw InputError(request.where, "entry '" + request.entry + "' does not fit " + file + ": " +
                                      error->message + rest);
}

}  // namespace assay
