// `assay init FILE.cu:kernel`: which kernel is meant, and where its starter contract goes.
#include <algorithm>
#include <filesystem>
#include <ostream>
#include <sstream>

#include "compilers/request.hpp"
#include "compilers/signature.hpp"
#include "fuzz/findings.hpp"
#include "fuzz/lint.hpp"
#include "fuzz/program.hpp"
#include "fuzz/program_name.hpp"
#include "fuzz/starter_contract.hpp"
#include "fuzz/text_table.hpp"

namespace assay {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void throw_overloaded(const std::string& file, const std::string& name,
                                   const std::vector<KernelSignature>& kernels) {
  std::string lines;
  for (const KernelSignature& kernel : kernels)
    lines += (lines.empty() ? "" : ", ") + std::to_string(kernel.line);
  throw InputError({file, kernels[1].line},
                   "'" + name + "' is overloaded (lines " + lines +
                       "): a contract names one kernel; give each a name of its own");
}

/// A macro with arguments that makes kernels; "": there is none.
std::string kernel_macro(const std::string& source_text) {
  std::istringstream lines(without_comments(source_text));
  std::string line, name;
  for (bool goes_on = false; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string define;
    words >> define;
    if (define == "#define") words >> name;
    const bool is_macro = (define == "#define" || goes_on) && name.find('(') != std::string::npos;
    if (is_macro && line.find("__global__") != std::string::npos)
      return name.substr(0, name.find('('));
    goes_on = (define == "#define" || goes_on) && line.ends_with('\\');
  }
  return "";
}

/// The kernel that FILE.cu:kernel names.
KernelSignature find_kernel(const std::string& file, const std::string& wanted) {
  const std::string text = read_text(file, {file});
  const std::vector<KernelSignature> all = kernel_signatures(text);
  std::vector<std::string> names;
  std::vector<KernelSignature> found;
  for (const KernelSignature& kernel : all) {
    if (std::find(names.begin(), names.end(), kernel.name) == names.end()) {
      names.push_back(kernel.name);
    }
    const std::string whole = "::" + kernel.scope + kernel.name;
    if (!wanted.empty() && whole.ends_with("::" + wanted)) found.push_back(kernel);
  }
  const std::string macro = kernel_macro(text);
  const std::string hidden = macro.empty() ? ""
                                           : "; the macro '" + macro +
                                                 "' makes some, and macros with arguments are not "
                                                 "read: write the kernel out in a file of its own";
  if (all.empty()) throw InputError({file}, "defines no __global__ function" + hidden);
  if (wanted.empty()) {
    if (all.size() == 1) return all.front();
    if (names.size() == 1) throw_overloaded(file, names.front(), all);
    throw InputError({file}, "has several kernels: " + joined(names) + "; name one, " + file + ":" +
                                 names.front());
  }
  if (found.empty()) {
    const std::string near = nearest_name(wanted, names);
    throw InputError({file}, "has no kernel '" + wanted + "'" +
                                 (near.empty() ? "" : " (did you mean '" + near + "'?)") +
                                 "; its kernels: " + joined(names) + hidden);
  }
  if (found.size() > 1) throw_overloaded(file, wanted, found);
  return found.front();
}

/// FILE.cu:kernel; the kernel is "" when it is left out.
std::pair<std::string, std::string> split_place(const std::string& text) {
  std::error_code ignored;
  if (fs::exists(text, ignored)) return {text, ""};
  size_t colon = text.rfind(':');
  while (colon != std::string::npos && colon > 0 && text[colon - 1] == ':') {
    colon = colon > 1 ? text.rfind(':', colon - 2) : std::string::npos;  // a::b
  }
  if (colon == std::string::npos) throw InputError({text}, "no such source file");
  const std::string file = text.substr(0, colon);
  if (!fs::exists(file, ignored)) throw InputError({file}, "no such source file");
  return {file, text.substr(colon + 1)};
}

}  // namespace

Exit run_init(const Options& options, Streams streams) {
  const auto [file, kernel] = split_place(options.file);
  if (fs::is_directory(file))
    throw InputError({file}, "is a folder, expected a source: FILE.cu:kernel");
  const KernelSignature signature = find_kernel(file, kernel);
  const std::string path =
      options.out.empty() ? (fs::path(file).parent_path() / (signature.name + ".toml")).string()
                          : options.out;
  if (!options.out.empty() && fs::exists(options.out) && fs::is_regular_file(options.out)) {
    throw InputError({options.out}, "is there already; init does not replace a contract");
  }
  const std::string text = starter_contract(file, signature, path);
  if (options.out.empty()) {
    streams.out << text;
  } else {
    write_file(options.out, text);
    streams.err << "assay: wrote " << options.out << " with "
                << counted(static_cast<int64_t>(questions_in(text, path).size()), "question")
                << "; `" << program_name() << " check " << shell_word(options.out)
                << "` lists them\n";
  }
  return Exit::clean;
}

}  // namespace assay
