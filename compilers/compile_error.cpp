// A compiler's log to an InputError at the first error's place.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "compilers/nvrtc.hpp"
#include "compilers/toolkit.hpp"

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

// What stands in messages about code and headers of the host.
constexpr const char* kHostCode = "is host code, which NVRTC does not compile: ";
constexpr const char* kHostHeader =
    "; NVRTC has no headers of the host, such as <vector>: for those, ";

/// What to write for a source that holds host code, to NVRTC no program.
std::string host_code_cure() {
  const std::string keep = "the kernels into a .cuh of their own";
  if (find_nvcc().empty()) {
    return "move " + keep + ", or install a CUDA toolkit (nvcc is not here) and write compiler = " +
           "\"nvcc\" in 'source'";
  }
  return "write compiler = \"nvcc\" in 'source', or move " + keep;
}

/// The message with its cure, where NVRTC meets code or a header of the host. NVRTC's own advice,
/// to take all of a source for device code, does not help a launcher.
std::string with_cure(CudaCompiler compiler, const std::string& message) {
  if (compiler != CudaCompiler::nvrtc) return message;
  for (const char* what : {"function", "variable"}) {
    if (message.find(std::string("host ") + what + "s are not allowed in JIT mode") !=
        std::string::npos) {
      return std::string("error: this ") + what + " " + kHostCode + host_code_cure();
    }
  }
  if (message.find("cannot open source file") == std::string::npos &&
      message.find("could not open source file") == std::string::npos) {
    return message;
  }
  return message + kHostHeader + host_code_cure();
}

std::string line_of(const std::string& path, int number) {
  std::ifstream in(path);
  std::string line;
  for (int i = 0; i < number && std::getline(in, line); ++i) {
  }
  return in ? line : "";
}

bool is_users(const CompileRequest& request, const std::string& source_text,
              const std::string& file) {
  std::error_code ignored;
  const auto same = [&](const std::string& path) {
    return path == file || std::filesystem::equivalent(path, file, ignored);
  };
  if (same(request.source)) return true;
  const auto included = included_files(request.source, source_text, request.include);
  return std::any_of(included.begin(), included.end(),
                     [&](const IncludedFile& one) { return same(one.path); });
}

/// What of the user's changes a header of the toolkit, and where it stands: a macro of the contract
/// or of the source that the failing line names, else the flags.
struct Cause {
  SourceLocation where;
  std::string what;
};

/// A macro is on a failing line by its name, or by what it puts there: `unknown`, a word that the
/// compiler quotes.
std::optional<Cause> macro_on(const std::set<std::string>& words, const std::string& unknown,
                              const CompileRequest& request, const std::string& source_text) {
  const auto cause = [&](const SourceLocation& where, const std::string& name,
                         const std::string& body) -> std::optional<Cause> {
    if (!words.contains(name) && !words_of(body).contains(unknown)) return std::nullopt;
    return Cause{where, "the macro '" + name + "'"};
  };
  for (const std::string& macro : request.macros) {
    const size_t equals = std::min(macro.find('='), macro.size());
    if (auto found = cause(request.where, macro.substr(0, equals), macro.substr(equals)))
      return found;
  }
  std::vector<IncludedFile> files{{request.source, source_text}};
  for (IncludedFile& file : included_files(request.source, source_text, request.include))
    files.push_back(std::move(file));
  for (const IncludedFile& file : files) {
    std::istringstream lines(without_comments(file.text));
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
      std::istringstream parts(line);
      std::string define, name;
      parts >> define;
      if (define == "#") parts >> define, define = "#" + define;
      if (define != "#define" || !(parts >> name)) continue;
      std::string body;
      std::getline(parts, body);
      name = name.substr(0, name.find('('));
      if (auto found = cause({file.path, number}, name, body)) return found;
    }
  }
  return std::nullopt;
}

/// Of an error in a header that is not the user's; nullopt where the header itself may be wrong.
std::optional<Cause> cause_in_header(const LogError& error, const std::string& rest,
                                     const CompileRequest& request,
                                     const std::string& source_text) {
  if (concerns_entry(error) || is_users(request, source_text, error.where.file))
    return std::nullopt;
  const std::string shown = rest.substr(0, rest.find('\n', 1));  // the log quotes the line
  const std::string text = line_of(error.where.file, error.where.line) + " " + shown;
  const size_t quote = std::min(error.message.find('"'), error.message.size() - 1);
  const std::string quoted =
      error.message.substr(quote + 1, error.message.find('"', quote + 1) - quote - 1);
  if (auto macro = macro_on(words_of(text), quoted, request, source_text)) return macro;
  std::istringstream lines(rest);
  for (std::string line; std::getline(lines, line);) {  // the user's own line comes later
    const auto other = parse_error_line(line);
    if (other && other->where.line > 0 && is_users(request, source_text, other->where.file))
      return Cause{other->where, "this line (" + other->message + ")"};
  }
  if (request.flags.empty()) return std::nullopt;
  std::string flags;
  for (const std::string& flag : request.flags) flags += (flags.empty() ? "" : " ") + flag;
  return Cause{request.where, "something of flags " + flags};
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

bool is_host_code_error(const std::string& message) {
  return message.find(kHostCode) != std::string::npos ||
         message.find(kHostHeader) != std::string::npos;
}

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
  if (const auto cause = cause_in_header(*error, rest, request, source_text)) {
    // The errors that follow in the header say nothing more.
    throw InputError(cause->where,
                     cause->what + " breaks a header of the compiler: " + error->line);
  }
  if (!concerns_entry(*error)) {
    throw InputError(error->where, with_cure(compiler, error->message) + rest);
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
