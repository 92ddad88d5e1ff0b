// `source`: where the kernel's code is and how it is compiled.
#include <algorithm>
#include <array>
#include <filesystem>
#include <regex>

#include "kernels_under_test/compiler_flags.hpp"
#include "kernels_under_test/contract_parts.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

// Compiler options that change neither where output goes nor what is read. `--x` is the same as
// `-x`; an option with '=' is followed by a value without spaces.
constexpr std::array kAllowedFlags = std::to_array<const char*>({
    "-use_fast_math",
    "-ftz=",
    "-prec-div=",
    "-prec-sqrt=",
    "-fmad=",
    "-std=",
    "-maxrregcount=",
    "-extra-device-vectorization",
    "-default-device",
    "-expt-relaxed-constexpr",
    "-expt-extended-lambda",
    "-extended-lambda",
    "-restrict",
    "-dopt=",
    "-O0",
    "-O1",
    "-O2",
    "-O3",
    "-G",
    "-device-debug",
    "-no-source-include",
});

std::string resolved(const std::string& path, const std::string& folder) {
  return fs::absolute(fs::path(folder) / path).lexically_normal().string();
}

std::string existing_file(const TomlValue& value, const std::string& text,
                          const std::string& folder) {
  const std::string path = resolved(text, folder);
  std::error_code error;
  if (!fs::is_regular_file(path, error))
    throw InputError(value.text_where, "source file '" + text + "' not found in " +
                                           fs::absolute(folder).lexically_normal().string());
  return path;
}

void check_flag(const TomlValue& value, const std::string& flag) {
  const std::string single = flag.rfind("--", 0) == 0 ? flag.substr(1) : flag;
  const size_t equals = single.find('=');
  const std::string head = equals == std::string::npos ? single : single.substr(0, equals + 1);
  const bool plain = flag.find_first_of(" \t\n;\"'") == std::string::npos;
  const bool valued = equals == std::string::npos || equals + 1 < single.size();
  const std::vector<std::string> allowed(kAllowedFlags.begin(), kAllowedFlags.end());
  if (contains(allowed, head) && plain && valued) return;
  throw InputError(value.text_where, "compiler flag '" + flag +
                                         "' is not on the list of allowed flags" +
                                         suggestion(head, allowed));
}

void read_defines(const TomlValue& value, Source& source) {
  for (const TomlEntry& entry : expect_table(value, "'defines' of 'source'").entries) {
    if (!is_identifier(entry.key))
      throw InputError(entry.where, "'" + entry.key + "' is no macro name");
    const TomlValue& definition = entry.value;
    std::string text;
    if (definition.kind == TomlValue::Kind::integer)
      text = std::to_string(definition.integer);
    else if (definition.kind == TomlValue::Kind::boolean)
      text = definition.boolean ? "1" : "0";
    else
      text = expect_string(definition, "macro '" + entry.key + "'");
    source.defines[entry.key] = text;
  }
}

void read_cxx_names(const TomlValue& value, Source& source) {
  std::vector<std::string> known;
  for (int i = 0; i <= static_cast<int>(DType::i4); ++i)
    known.emplace_back(name(static_cast<DType>(i)));
  for (const TomlEntry& entry : expect_table(value, "'cxx' of 'source'").entries) {
    const std::optional<DType> type = parse_dtype(entry.key);
    if (!type)
      throw InputError(entry.where,
                       "unknown dtype '" + entry.key + "'" + suggestion(entry.key, known));
    source.cxx[*type] = expect_string(entry.value, "'cxx." + entry.key + "'");
  }
}

void read_target(const TableReader& table, Source& source) {
  const TomlValue* value = table.find("target");
  if (value == nullptr) return;
  source.target = expect_string(*value, "'target' of 'source'");
  static const std::regex kTarget("sm_[1-9][0-9]+[af]?");
  if (!std::regex_match(source.target, kTarget))
    throw InputError(value->text_where,
                     "target '" + source.target + "' is no architecture; expected e.g. \"sm_80\"");
}

void read_cuda(const TomlValue& value, const std::string& folder, Contract& contract) {
  const TableReader table(
      value, "'source'",
      {"cuda", "entry", "compiler", "include", "defines", "flags", "target", "cxx"});
  Source& source = contract.source;
  source.language = Language::cuda;
  const TomlValue& file = table.need("cuda");
  source.path = existing_file(file, expect_string(file, "'cuda' of 'source'"), folder);
  if (const TomlValue* compiler = table.find("compiler"))
    source.compiler = expect_choice<CudaCompiler>(
        *compiler, "'compiler'", {{"nvrtc", CudaCompiler::nvrtc}, {"nvcc", CudaCompiler::nvcc}});
  if (const TomlValue* include = table.find("include")) {
    for (const TomlValue& item : expect_array(*include, "'include' of 'source'").items) {
      const std::string& text = expect_string(item, "an entry of 'include'");
      source.include.push_back(resolved(text, folder));
      std::error_code error;
      if (!fs::is_directory(source.include.back(), error))
        throw InputError(item.text_where, "include folder '" + text + "' not found");
    }
  }
  if (const TomlValue* defines = table.find("defines")) read_defines(*defines, source);
  if (const TomlValue* flags = table.find("flags")) {
    source.flags = expect_strings(*flags, "'flags' of 'source'");
    for (const TomlValue& item : flags->items) check_flag(item, item.text);
    // Unless it says more. Division or roots alone: oracles/accuracy_table.hpp, MathFigures.
    if (has_flag(source, "-use_fast_math")) contract.accuracy.math = MathMode::fast;
  }
  if (const TomlValue* cxx = table.find("cxx")) read_cxx_names(*cxx, source);
  read_target(table, source);
}

void read_triton(const TomlValue& value, const std::string& folder, Contract& contract) {
  const TableReader table(value, "'source'",
                          {"triton", "constexpr", "num_warps", "num_stages", "target"});
  contract.source.language = Language::triton;
  const TomlValue& file = table.need("triton");
  const std::string& text = expect_string(file, "'triton' of 'source'");
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || !is_identifier(text.substr(colon + 1)))
    throw InputError(file.text_where, "expected \"file.py:kernel\", not '" + text + "'");
  contract.source.path = existing_file(file, text.substr(0, colon), folder);
  contract.source.entry = text.substr(colon + 1);
  if (const TomlValue* constexprs = table.find("constexpr"))
    expect_table(*constexprs, "'constexpr' of 'source'");
  for (const char* key : {"num_warps", "num_stages"})
    if (const TomlValue* number = table.find(key)) expect_integer(*number, table.label(key));
  read_target(table, contract.source);
  note_later(contract, file.where, "source.triton");
}

void read_ptx(const TomlValue& value, const std::string& folder, Contract& contract) {
  const TableReader table(value, "'source'", {"ptx", "entry"});
  contract.source.language = Language::ptx;
  const TomlValue& file = table.need("ptx");
  contract.source.path = existing_file(file, expect_string(file, "'ptx' of 'source'"), folder);
}

void read_torch(const TomlValue& value, const std::string& folder, Contract& contract) {
  const TableReader table(value, "'source'", {"torch", "library"});
  contract.source.language = Language::torch;
  const TomlValue& op = table.need("torch");
  contract.source.path = expect_string(op, "'torch' of 'source'");
  static const std::regex kOperator(
      "[A-Za-z_][A-Za-z0-9_]*::[A-Za-z_][A-Za-z0-9_]*(\\.[A-Za-z0-9_]+)?");
  if (!std::regex_match(contract.source.path, kOperator))
    throw InputError(op.text_where, "expected an operator such as \"aten::softmax.int\", not '" +
                                        contract.source.path + "'");
  if (const TomlValue* library = table.find("library"))
    existing_file(*library, expect_string(*library, "'library' of 'source'"), folder);
  note_later(contract, op.where, "source.torch");
}

}  // namespace

bool has_flag(const Source& source, std::string_view flag) {
  return std::any_of(source.flags.begin(), source.flags.end(), [&](const std::string& text) {
    return std::string_view(text).substr(text.starts_with("--") ? 1 : 0) == flag;
  });
}

bool Source::flushes_subnormals() const {
  return has_flag(*this, "-ftz=true") || has_flag(*this, "-use_fast_math");
}

void read_source(const TomlValue& value, const std::string& folder, Contract& contract) {
  expect_table(value, "'source'");
  const std::vector<std::string> languages{"cuda", "triton", "ptx", "torch"};
  std::vector<std::string> named;
  for (const TomlEntry& entry : value.entries)
    if (contains(languages, entry.key)) named.push_back(entry.key);
  if (named.empty()) {
    for (const TomlEntry& entry : value.entries)
      if (const std::string near = nearest_name(entry.key, languages); !near.empty())
        throw InputError(entry.where, "unknown key '" + entry.key +
                                          "' in 'source' (did you mean '" + near + "'?)");
    throw InputError(value.where, "'source' needs one of cuda, triton, ptx, torch");
  }
  if (named.size() > 1)
    throw InputError(value.find(named[1])->where, "'source' is " + named[0] + " already; '" +
                                                      named[1] + "' cannot stand beside it");
  contract.source.where = value.where;
  if (named[0] == "cuda") read_cuda(value, folder, contract);
  if (named[0] == "triton") read_triton(value, folder, contract);
  if (named[0] == "ptx") read_ptx(value, folder, contract);
  if (named[0] == "torch") read_torch(value, folder, contract);
  if (const TomlEntry* entry = value.find("entry")) {
    contract.source.entry = expect_string(entry->value, "'entry' of 'source'");
    contract.source.where = entry->value.text_where;
  }
}

}  // namespace assay
