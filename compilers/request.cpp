#include "compilers/request.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace assay {
namespace fs = std::filesystem;
namespace {

/// NVRTC takes the short name with one dash alone, and this one with two.
constexpr std::string_view kDefaultDevice = "default-device";
constexpr const char* kDefaultDeviceInFull = "--device-as-default-execution-space";

/// Allowed flags (the contract's parser holds the list) that only one compiler knows. The other
/// compiles device code as they ask without being told.
struct OneSidedFlag {
  std::string_view spelling;  ///< without leading dashes
  CudaCompiler compiler;
};
constexpr OneSidedFlag kOneSidedFlags[] = {
    {"O0", CudaCompiler::nvcc},
    {"O1", CudaCompiler::nvcc},
    {"O2", CudaCompiler::nvcc},
    {"O3", CudaCompiler::nvcc},
    {"expt-relaxed-constexpr", CudaCompiler::nvcc},
    {"expt-extended-lambda", CudaCompiler::nvcc},
    {"extended-lambda", CudaCompiler::nvcc},
    {kDefaultDevice, CudaCompiler::nvrtc},
    {"no-source-include", CudaCompiler::nvrtc},
};

std::string_view without_dashes(std::string_view flag) {
  return flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
}

bool known_to(CudaCompiler compiler, std::string_view flag) {
  for (const OneSidedFlag& one : kOneSidedFlags) {
    if (without_dashes(flag) == one.spelling) return one.compiler == compiler;
  }
  return true;
}

std::string type_spelling(const Source& source, const std::string& parameter, DType type) {
  const auto chosen = source.cxx.find(type);
  const std::string spelling = chosen != source.cxx.end() ? chosen->second : cxx_spelling(type);
  if (spelling.empty()) {
    throw InputError(source.where, "type " + std::string(name(type)) + " of {" + parameter +
                                       "} has no C++ spelling: state cxx = { " +
                                       std::string(name(type)) + " = \"...\" }");
  }
  return spelling;
}

/// Every name of the variant with its C++ text.
std::map<std::string, std::string> substitutions(const Contract& contract, const Variant& variant,
                                                 bool as_macro) {
  std::map<std::string, std::string> texts;
  for (const auto& [parameter, type] : variant.types) {
    texts[parameter] = type_spelling(contract.source, parameter, type);
  }
  for (const auto& [knob, value] : variant.knobs) texts[knob] = std::to_string(value);
  for (const auto& [flag, value] : variant.flags) {
    texts[flag] = as_macro ? (value ? "1" : "0") : (value ? "true" : "false");
  }
  return texts;
}

const std::string& entry_of(const Contract& contract, const LaunchSpec& launch) {
  return launch.entry.empty() ? contract.source.entry : launch.entry;
}

std::string substitute(const std::string& entry, const std::map<std::string, std::string>& texts,
                       const SourceLocation& where) {
  std::string out;
  for (size_t at = 0; at < entry.size();) {
    const size_t open = entry.find('{', at);
    out += entry.substr(at, open - at);
    if (open == std::string::npos) break;
    const size_t close = entry.find('}', open);
    if (close == std::string::npos) {
      throw InputError(where, "entry '" + entry + "' lacks a closing brace");
    }
    const std::string key = entry.substr(open + 1, close - open - 1);
    const auto found = texts.find(key);
    if (found == texts.end()) {
      std::vector<std::string> known;
      for (const auto& [known_key, text] : texts) known.push_back(known_key);
      const std::string near = nearest_name(key, known);
      throw InputError(where, "entry names {" + key + "}, which is no type, knob or flag" +
                                  (near.empty() ? "" : " (did you mean {" + near + "}?)"));
    }
    out += found->second;
    at = close + 1;
  }
  return out;
}

std::vector<std::string> macros_of(const Contract& contract, const Variant& variant) {
  std::string entries = contract.source.entry;
  for (const LaunchSpec& launch : contract.launches) entries += launch.entry;
  std::vector<std::string> macros;
  for (const auto& [key, text] : substitutions(contract, variant, true)) {
    const bool named = entries.find("{" + key + "}") != std::string::npos;
    if (!named && key.size() > 1) macros.push_back(key + "=" + text);
  }
  for (const auto& [key, text] : contract.source.defines) {
    macros.push_back(text.empty() ? key : key + "=" + text);
  }
  return macros;
}

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

std::string CompileRequest::virtual_architecture() const {
  return target.starts_with("sm_") ? "compute_" + target.substr(3) : target;
}

std::string cxx_spelling(DType type) {
  switch (type) {
    case DType::f64:
      return "double";
    case DType::f32:
      return "float";
    case DType::f16:
      return "__half";
    case DType::bf16:
      return "__nv_bfloat16";
    case DType::e4m3:
      return "__nv_fp8_e4m3";
    case DType::e5m2:
      return "__nv_fp8_e5m2";
    case DType::i64:
      return "long long";
    case DType::i32:
      return "int";
    case DType::i16:
      return "short";
    case DType::i8:
      return "signed char";
    case DType::u64:
      return "unsigned long long";
    case DType::u32:
      return "unsigned int";
    case DType::u16:
      return "unsigned short";
    case DType::u8:
      return "unsigned char";
    case DType::boolean:
      return "bool";
    case DType::u4:
    case DType::i4:
      return "";
  }
  return "";
}

std::vector<std::string> flags_for(CudaCompiler compiler, const std::vector<std::string>& flags) {
  std::vector<std::string> kept;
  for (const std::string& flag : flags) {
    if (!known_to(compiler, flag)) continue;
    const std::string bare(without_dashes(flag));
    if (bare == kDefaultDevice) {
      kept.push_back(kDefaultDeviceInFull);
      continue;
    }
    // Long options take two dashes; -O3 and -G keep one.
    kept.push_back((bare.size() <= 2 ? "-" : "--") + bare);
  }
  return kept;
}

CompileRequest make_request(const Contract& contract, const Variant& variant, int launch) {
  const Source& source = contract.source;
  CompileRequest request;
  request.source = source.path;
  request.target = source.target;
  request.include = source.include;
  request.flags = source.flags;
  request.where = source.where;
  const bool known = launch >= 0 && launch < static_cast<int>(contract.launches.size());
  const std::string& entry = known ? entry_of(contract, contract.launches[launch]) : source.entry;
  const SourceLocation& where = known && !contract.launches[launch].entry.empty()
                                    ? contract.launches[launch].where
                                    : source.where;
  if (entry.empty()) throw InputError(where, "source names no entry");
  const auto texts = substitutions(contract, variant, false);
  request.entry = substitute(entry, texts, where);
  for (const LaunchSpec& each : contract.launches) {
    std::string other = substitute(entry_of(contract, each), texts, each.where);
    if (std::find(request.entries.begin(), request.entries.end(), other) == request.entries.end()) {
      request.entries.push_back(std::move(other));
    }
  }
  if (!known) request.entries = {request.entry};
  request.macros = macros_of(contract, variant);
  return request;
}

std::string unqualified_name(const std::string& entry) {
  std::string name = entry.substr(0, entry.find('<'));
  const size_t scope = name.rfind("::");
  if (scope != std::string::npos) name = name.substr(scope + 2);
  std::erase_if(name, [](char c) { return !is_name_character(c); });
  return name;
}

std::string without_comments(const std::string& text) {
  std::string out = text;
  enum { code, line_comment, block_comment, literal } state = code;
  char quote = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    const char c = text[i];
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (state == code) {
      if (c == '/' && next == '/') state = line_comment;
      if (c == '/' && next == '*') state = block_comment;
      // 1'000 is a number with a separator, no character literal.
      const bool separator = c == '\'' && i > 0 && is_name_character(text[i - 1]);
      if ((c == '"' || c == '\'') && !separator) state = literal, quote = c;
      if (state != code) out[i] = ' ';
      if (state == block_comment) out[++i] = ' ';
      continue;
    }
    if (c != '\n') out[i] = ' ';
    if (state == line_comment && c == '\n') state = code;
    if (state == block_comment && c == '*' && next == '/') out[++i] = ' ', state = code;
    if (state == literal && c == '\\' && next != '\n')
      out[++i] = ' ';
    else if (state == literal && (c == quote || c == '\n'))
      state = code;
  }
  return out;
}

std::set<std::string> words_of(const std::string& text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += c;
    } else if (!word.empty()) {
      words.insert(word);
      word.clear();
    }
  }
  return words;
}

std::vector<std::string> kernel_names(const std::string& source_text) {
  const std::string text = without_comments(source_text);
  static constexpr std::string_view kGlobal = "__global__";
  std::vector<std::string> names;
  for (size_t at = text.find(kGlobal); at != std::string::npos;
       at = text.find(kGlobal, at + kGlobal.size())) {
    // The kernel's name is the identifier before the first '(' that opens no attribute.
    size_t scan = at + kGlobal.size();
    std::string identifier;
    for (; scan < text.size() && text[scan] != ';' && text[scan] != '{'; ++scan) {
      if (is_name_character(text[scan])) {
        size_t end = scan;
        while (end < text.size() && is_name_character(text[end])) ++end;
        identifier = text.substr(scan, end - scan);
        scan = end - 1;
      } else if (text[scan] == '(') {
        if (identifier != "__launch_bounds__" && identifier != "__attribute__" &&
            identifier != "__cluster_dims__") {
          break;
        }
        int depth = 1;
        while (++scan < text.size() && depth > 0)
          depth += (text[scan] == '(') - (text[scan] == ')');
        --scan;
      }
    }
    if (!identifier.empty() && std::find(names.begin(), names.end(), identifier) == names.end()) {
      names.push_back(identifier);
    }
  }
  return names;
}

std::vector<std::string> ptx_entries(const std::string& ptx) {
  static constexpr std::string_view kEntry = ".entry ";
  std::vector<std::string> names;
  for (size_t at = ptx.find(kEntry); at != std::string::npos; at = ptx.find(kEntry, at)) {
    at += kEntry.size();
    names.push_back(ptx.substr(at, ptx.find_first_of("( \t\r\n", at) - at));
  }
  return names;
}

std::string read_text(const std::string& path, const SourceLocation& where) {
  std::error_code error;
  std::ifstream in(path, std::ios::binary);
  if (!in || fs::is_directory(path, error)) {
    throw InputError(where, "cannot read source file '" + path + "'");
  }
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

namespace {

struct IncludeLine {
  std::string name;
  bool quoted = false;
};

std::vector<IncludeLine> include_lines(const std::string& text) {
  std::vector<IncludeLine> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    size_t at = line.find_first_not_of(" \t");
    if (at == std::string::npos || line[at] != '#') continue;
    at = line.find_first_not_of(" \t", at + 1);
    if (at == std::string::npos || line.compare(at, 7, "include") != 0) continue;
    at = line.find_first_of("\"<", at + 7);
    if (at == std::string::npos) continue;
    const bool quoted = line[at] == '"';
    const size_t end = line.find(quoted ? '"' : '>', at + 1);
    if (end != std::string::npos) found.push_back({line.substr(at + 1, end - at - 1), quoted});
  }
  return found;
}

}  // namespace

std::vector<IncludedFile> included_files(const std::string& source_path,
                                         const std::string& source_text,
                                         const std::vector<std::string>& folders) {
  std::vector<IncludedFile> found;
  std::set<std::string> seen = {fs::path(source_path).lexically_normal().string()};
  std::vector<IncludedFile> queue = {{source_path, source_text}};
  for (size_t next = 0; next < queue.size(); ++next) {
    const fs::path includer = queue[next].path;
    for (const IncludeLine& line : include_lines(queue[next].text)) {
      std::vector<fs::path> places;
      if (line.quoted) places.push_back(includer.parent_path());
      if (line.quoted) places.push_back(fs::path(source_path).parent_path());
      places.insert(places.end(), folders.begin(), folders.end());
      for (const fs::path& place : places) {
        const std::string path = (place / line.name).lexically_normal().string();
        std::error_code error;
        if (!fs::is_regular_file(path, error)) continue;
        if (seen.insert(path).second) {
          queue.push_back({path, read_text(path, {})});
          found.push_back(queue.back());
        }
        break;
      }
    }
  }
  return found;
}

}  // namespace assay
