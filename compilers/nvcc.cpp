#include "compilers/nvcc.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include "compilers/child_process.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

/// A folder of its own under the system's temporary folder, removed with everything in it.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const SourceLocation& where) {
    std::error_code error;
    std::string pattern = (fs::temp_directory_path(error) / "assay-nvcc-XXXXXX").string();
    if (error || !mkdtemp(pattern.data())) {
      throw InputError(where,
                       "cannot make a temporary folder for nvcc (TMPDIR: '" + pattern + "')");
    }
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string demangle(const std::string& mangled) {
  int status = 0;
  char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  const std::string demangled = status == 0 && text ? text : mangled;
  std::free(text);
  return demangled;
}

constexpr const char* kMarker = "assay_marker";

/// Markers are kernels whose template arguments are an entry's number and the entry, so their
/// mangled names say which of the module's entries is meant, however the contract spells its types.
std::string wrapper(const CompileRequest& request, const std::string& added) {
  std::string text = "#include \"" + request.source + "\"\n" + added +
                     "template <int Number, auto Kernel> __global__ void " + kMarker + "() {}\n";
  for (size_t i = 0; i < request.entries.size(); ++i) {
    const std::string number = std::to_string(i);
    text += "__attribute__((used)) static const void* assay_keep" + number +
            "() {\n  return reinterpret_cast<const void*>(&" + kMarker + "<" + number + ", &" +
            request.entries[i] + ">);\n}\n";
  }
  return text;
}

std::string find_entry(const std::string& ptx, const CompileRequest& request) {
  const std::vector<std::string> names = ptx_entries(ptx);
  const auto place = std::find(request.entries.begin(), request.entries.end(), request.entry);
  const std::string marker =
      std::string(kMarker) + "<" + std::to_string(place - request.entries.begin()) + ", &";
  std::string wanted;
  for (const std::string& mangled : names) {
    const std::string text = demangle(mangled);
    const size_t at = text.find(marker);
    if (at == std::string::npos) continue;
    wanted = text.substr(at + marker.size());
    if (wanted.starts_with('(')) {
      wanted = wanted.substr(1, wanted.rfind(")>(") - 1);
    } else {
      wanted = wanted.substr(0, wanted.rfind(">("));
    }
  }
  for (const std::string& mangled : names) {
    const std::string text = demangle(mangled);
    if (text == wanted) return mangled;
    // The demangler leaves out the parameters of a plain function in a namespace.
    if (!wanted.empty() && text.starts_with(wanted + "(")) return mangled;
    // An extern "C" entry has no parameter list in its name; the marker knows it.
    if (text == mangled && wanted.substr(0, wanted.find('(')) == mangled) return mangled;
  }
  throw InputError(request.where, "nvcc compiled '" + request.source +
                                      "' but its PTX holds no entry '" + request.entry + "'");
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

std::string nvcc_version(const std::string& nvcc) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::lock_guard lock(mutex);
  std::string& version = known[nvcc];
  if (!version.empty()) return version;
  const ChildResult asked = run_child({nvcc, "--version"});
  static constexpr std::string_view kRelease = "release ";
  const size_t at = asked.output.find(kRelease);
  if (asked.status != 0 || at == std::string::npos) {
    throw MissingDependency("'" + nvcc + " --version' does not work: " + asked.output);
  }
  const size_t begin = at + kRelease.size();
  version = "nvcc " + asked.output.substr(begin, asked.output.find_first_of(", \n", begin) - begin);
  return version;
}

std::vector<std::string> nvcc_options(const CompileRequest& request) {
  std::vector<std::string> options = {"-ptx", "-lineinfo",
                                      "-arch=" + request.virtual_architecture()};
  const std::vector<std::string> flags = flags_for(CudaCompiler::nvcc, request.flags);
  bool names_standard = false;
  for (const std::string& flag : flags) names_standard |= flag.starts_with("--std=");
  if (!names_standard) options.push_back("--std=c++17");
  options.insert(options.end(), flags.begin(), flags.end());
  for (const std::string& macro : request.macros) options.push_back("-D" + macro);
  for (const std::string& folder : request.include) options.push_back("-I" + folder);
  return options;
}

CompiledText compile_with_nvcc(const std::string& nvcc, const CompileRequest& request,
                               const std::string& source_text, const std::string& added) {
  const TemporaryFolder folder(request.where);
  const fs::path source = folder.path() / "entry.cu";
  const fs::path output = folder.path() / "entry.ptx";
  std::ofstream(source) << wrapper(request, added);
  std::vector<std::string> arguments = {nvcc};
  for (const std::string& option : nvcc_options(request)) arguments.push_back(option);
  arguments.insert(arguments.end(), {source.string(), "-o", output.string()});
  const ChildResult result = run_child(arguments);
  if (result.status != 0)
    throw_compile_error(request, source_text, result.output, CudaCompiler::nvcc);
  CompiledText compiled;
  compiled.ptx = read_file(output);
  compiled.entry = find_entry(compiled.ptx, request);
  return compiled;
}

}  // namespace assay
