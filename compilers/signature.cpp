#include "compilers/signature.hpp"

#include <algorithm>
#include <map>

#include "compilers/request.hpp"

namespace assay {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Words, "::" chains joined, and single characters.
std::vector<std::string> tokens_of(const std::string& text) {
  std::vector<std::string> out;
  for (size_t i = 0; i < text.size();) {
    if (std::isspace(static_cast<unsigned char>(text[i])) != 0) {
      ++i;
    } else if (is_word(text[i])) {
      const size_t start = i;
      while (i < text.size() && (is_word(text[i]) || text.compare(i, 2, "::") == 0)) {
        i += is_word(text[i]) ? 1 : 2;
      }
      out.push_back(text.substr(start, i - start));
    } else {
      out.emplace_back(1, text[i++]);
    }
  }
  return out;
}

/// Preprocessor lines blanked; newlines stay.
std::string without_directives(std::string text) {
  bool directive = false;
  bool start = true;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      directive = directive && i > 0 && text[i - 1] == '\\';
      start = true;
      continue;
    }
    if (start && text[i] == '#') directive = true;
    if (std::isspace(static_cast<unsigned char>(text[i])) == 0) start = false;
    if (directive && text[i] != '\\') text[i] = ' ';
  }
  return text;
}

/// The text with its macros put in that stand for `__global__`: `#define KERNEL __global__ void`.
std::string with_kernel_macros(const std::string& text) {
  std::map<std::string, std::string> bodies;
  for (size_t at = text.find("#define"); at != std::string::npos;
       at = text.find("#define", at + 1)) {
    size_t end = at;
    do {
      end = std::min(text.find('\n', end + 1), text.size());
    } while (end < text.size() && text[end - 1] == '\\');
    size_t name = at + 7;
    while (name < end && std::isblank(static_cast<unsigned char>(text[name])) != 0) ++name;
    size_t body = name;
    while (body < end && is_word(text[body])) ++body;
    if (body == name || (body < end && text[body] == '(')) continue;
    std::string value = text.substr(body, end - body);
    std::replace_if(
        value.begin(), value.end(), [](char c) { return c == '\\' || c == '\n'; }, ' ');
    if (value.find("__global__") != std::string::npos)
      bodies[text.substr(name, body - name)] = value;
  }
  std::string out = without_directives(text);
  for (const auto& [name, body] : bodies) {
    for (size_t at = out.find(name); at != std::string::npos; at = out.find(name, at)) {
      const size_t end = at + name.size();
      const bool whole =
          (at == 0 || !is_word(out[at - 1])) && (end == out.size() || !is_word(out[end]));
      if (whole) out.replace(at, name.size(), body);
      at += whole ? body.size() : name.size();
    }
  }
  return out;
}

/// Position after the bracket that closes the one at `open`.
size_t after_closing(const std::string& text, size_t open, char left, char right) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    depth += (text[i] == left) - (text[i] == right);
    if (depth == 0) return i + 1;
  }
  return text.size();
}

std::vector<std::string> split_arguments(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    depth += (c == '(' || c == '<' || c == '[' || c == '{') -
             (c == ')' || c == '>' || c == ']' || c == '}');
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  if (tokens_of(parts.back()).empty()) parts.pop_back();
  return parts;
}

/// Tokens as a source writes them, apart only where two words meet.
std::string source_text_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    const bool apart = !text.empty() && is_word(text.back()) && is_word(word[0]);
    text += (apart ? " " : "") + word;
  }
  return text;
}

std::pair<std::string, std::string> split_default(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) return {text, ""};
  return {text.substr(0, equals), source_text_of(tokens_of(text.substr(equals + 1)))};
}

KernelParameter parse_parameter(const std::string& text) {
  static const std::vector<std::string> dropped{"volatile", "__restrict__",      "__restrict",
                                                "restrict", "__grid_constant__", "struct",
                                                "typename", "register"};
  KernelParameter parameter;
  std::vector<std::string> words;
  int stars = 0;
  bool subscript = false;
  for (const std::string& token : tokens_of(split_default(text).first)) {
    if (token == "const") {
      parameter.pointee_const |= stars == 0;
    } else if (token == "*" || token == "[") {
      ++stars;
      subscript |= token == "[";
    } else if (token == "]") {
      subscript = false;
    } else if (!subscript && std::find(dropped.begin(), dropped.end(), token) == dropped.end()) {
      words.push_back(token);
    }
  }
  parameter.pointer = stars == 1;
  static const std::vector<std::string> bare{"int",  "long",   "short", "char",  "unsigned",
                                             "bool", "signed", "float", "double"};
  const bool named = words.size() > 1 && is_word(words.back()[0]) &&
                     std::find(bare.begin(), bare.end(), words.back()) == bare.end();
  if (named) {
    parameter.name = words.back();
    words.pop_back();
  }
  parameter.type = source_text_of(words);
  if (stars > 1) parameter.type += std::string(static_cast<size_t>(stars), '*');
  return parameter;
}

std::vector<KernelTemplateParameter> parse_templates(const std::string& text) {
  std::vector<KernelTemplateParameter> out;
  for (const std::string& part : split_arguments(text)) {
    const auto [declared, fallback] = split_default(part);
    std::vector<std::string> words = tokens_of(declared);
    KernelTemplateParameter parameter;
    parameter.fallback = fallback;
    if (words.size() > 1 && is_word(words.back()[0])) {
      parameter.name = words.back();
      words.pop_back();
    }
    parameter.type = source_text_of(words);
    if (parameter.type == "class") parameter.type = "typename";
    out.push_back(std::move(parameter));
  }
  return out;
}

/// "a::b::" of the namespaces that are open at a place.
std::string scope_at(const std::string& text, size_t place) {
  std::vector<std::string> open;
  std::vector<std::string> recent;  // words since the last bracket or semicolon
  for (size_t i = 0; i < place;) {
    const char c = text[i];
    if (is_word(c)) {
      const size_t start = i;
      while (i < place && (is_word(text[i]) || text.compare(i, 2, "::") == 0)) {
        i += is_word(text[i]) ? 1 : 2;
      }
      recent.push_back(text.substr(start, i - start));
      continue;
    }
    if (c == '{') {
      const auto at = std::find(recent.begin(), recent.end(), "namespace");
      open.push_back(at != recent.end() && at + 1 != recent.end() ? *(at + 1) + "::" : "");
    }
    if (c == '}' && !open.empty()) open.pop_back();
    if (c == '{' || c == '}' || c == ';') recent.clear();
    ++i;
  }
  std::string scope;
  for (const std::string& name : open) scope += name;
  return scope;
}

/// The `template <...>` that stands before `place`; "<none>" when there is none.
std::optional<std::string> template_before(const std::string& text, size_t place) {
  const size_t edge = text.find_last_of(";{}", place);
  const size_t begin = edge == std::string::npos ? 0 : edge + 1;
  const size_t word = text.find("template", begin);
  if (word == std::string::npos || word >= place) return std::nullopt;
  const size_t open = text.find('<', word);
  if (open == std::string::npos || open >= place) return std::nullopt;
  const size_t end = after_closing(text, open, '<', '>');
  return text.substr(open + 1, end - open - 2);
}

bool same_signature(const KernelSignature& a, const KernelSignature& b) {
  return a.name == b.name && a.scope == b.scope &&
         std::equal(a.parameters.begin(), a.parameters.end(), b.parameters.begin(),
                    b.parameters.end(), [](const auto& x, const auto& y) {
                      return x.type == y.type && x.pointer == y.pointer &&
                             x.pointee_const == y.pointee_const;
                    });
}

/// The kernel whose __global__ stands at `place`; empty name: none.
KernelSignature parse_kernel(const std::string& text, size_t place) {
  KernelSignature kernel;
  static const std::vector<std::string> attributes{"__launch_bounds__", "__attribute__",
                                                   "__cluster_dims__"};
  std::string word;
  size_t word_at = 0;
  for (size_t i = place; i < text.size() && text[i] != ';' && text[i] != '{';) {
    if (is_word(text[i])) {
      word_at = i;
      while (i < text.size() && is_word(text[i])) ++i;
      word = text.substr(word_at, i - word_at);
    } else if (text[i] == '(') {
      const size_t end = after_closing(text, i, '(', ')');
      kernel.is_cut_off = end == text.size() && text.back() != ')';
      if (std::find(attributes.begin(), attributes.end(), word) == attributes.end()) {
        kernel.name = word;
        kernel.line =
            1 + static_cast<int>(std::count(
                    text.begin(), text.begin() + static_cast<std::ptrdiff_t>(word_at), '\n'));
        kernel.parameters = parameters_in(text.substr(i + 1, end - i - 2));
        const size_t open = text.find_first_of("{;", end);
        if (open != std::string::npos && text[open] == '{')
          kernel.body = text.substr(open, after_closing(text, open, '{', '}') - open);
        return kernel;
      }
      if (word == "__launch_bounds__") {
        const auto bounds = split_arguments(text.substr(i + 1, end - i - 2));
        if (!bounds.empty()) kernel.launch_bounds = source_text_of(tokens_of(bounds.front()));
      }
      i = end;
    } else {
      ++i;
    }
  }
  return kernel;
}

}  // namespace

std::vector<KernelSignature> kernel_signatures(const std::string& source_text) {
  const std::string text = with_kernel_macros(without_comments(source_text));
  static constexpr std::string_view kGlobal = "__global__";
  std::vector<KernelSignature> all;
  for (size_t at = text.find(kGlobal); at != std::string::npos;
       at = text.find(kGlobal, at + kGlobal.size())) {
    KernelSignature kernel = parse_kernel(text, at + kGlobal.size());
    if (kernel.name.empty()) continue;
    const auto templated = template_before(text, at);
    if (templated && tokens_of(*templated).empty()) continue;  // a specialisation
    if (templated) kernel.templates = parse_templates(*templated);
    kernel.scope = scope_at(text, at);
    const bool known = std::any_of(all.begin(), all.end(), [&](const KernelSignature& other) {
      return same_signature(kernel, other);
    });
    if (!known) all.push_back(std::move(kernel));
  }
  return all;
}

std::vector<KernelParameter> parameters_in(const std::string& list) {
  std::vector<KernelParameter> parameters;
  for (const std::string& part : split_arguments(list)) {
    if (tokens_of(part) != std::vector<std::string>{"void"})
      parameters.push_back(parse_parameter(part));
  }
  return parameters;
}

std::string parameter_list_of(const std::string& demangled) {
  if (demangled.empty() || demangled.back() != ')') return "";
  int depth = 0;
  size_t open = demangled.size();
  do {
    --open;
    depth += (demangled[open] == ')') - (demangled[open] == '(');
  } while (open > 0 && depth > 0);
  return demangled.substr(open + 1, demangled.size() - open - 2);
}

namespace {

/// The vectors of vector_types.h and their element types.
const std::map<std::string, DType>& vector_elements() {
  static const std::map<std::string, DType> table{
      {"char", DType::i8},       {"uchar", DType::u8},  {"short", DType::i16},
      {"ushort", DType::u16},    {"int", DType::i32},   {"uint", DType::u32},
      {"long", DType::i64},      {"ulong", DType::u64}, {"longlong", DType::i64},
      {"ulonglong", DType::u64}, {"float", DType::f32}, {"double", DType::f64}};
  return table;
}

std::string without_std(const std::string& type) {
  if (type.starts_with("std::")) return type.substr(5);
  if (type.starts_with("cuda::std::")) return type.substr(11);
  return type.starts_with("::") ? type.substr(2) : type;
}

}  // namespace

int lanes_of_cxx(const std::string& type) {
  if (!dtype_of_cxx(type)) return 1;
  const std::string plain = without_std(type);
  if (plain.ends_with("bfloat162") || plain.ends_with("half2")) return 2;
  if (plain.starts_with("__nv_fp8x")) return plain[9] - '0';
  const char last = plain.back();
  const bool is_vector = vector_elements().contains(plain.substr(0, plain.size() - 1));
  return is_vector && last >= '1' && last <= '4' ? last - '0' : 1;
}

int alignment_of_cxx(const std::string& type) {
  const auto element = dtype_of_cxx(type);
  if (!element) return 0;
  const int lanes = lanes_of_cxx(type);
  return lanes == 3 ? byte_size(*element) : std::min(lanes * byte_size(*element), 16);
}

std::optional<DType> dtype_of_cxx(const std::string& type) {
  static const std::map<std::string, DType> table{{"float", DType::f32},
                                                  {"double", DType::f64},
                                                  {"half", DType::f16},
                                                  {"__half", DType::f16},
                                                  {"nv_bfloat16", DType::bf16},
                                                  {"__nv_bfloat16", DType::bf16},
                                                  {"__nv_fp8_e4m3", DType::e4m3},
                                                  {"__nv_fp8_e5m2", DType::e5m2},
                                                  {"__nv_fp8x2_e4m3", DType::e4m3},
                                                  {"__nv_fp8x2_e5m2", DType::e5m2},
                                                  {"__nv_fp8x4_e4m3", DType::e4m3},
                                                  {"__nv_fp8x4_e5m2", DType::e5m2},
                                                  {"half2", DType::f16},
                                                  {"__half2", DType::f16},
                                                  {"__nv_bfloat162", DType::bf16},
                                                  {"nv_bfloat162", DType::bf16},
                                                  {"int", DType::i32},
                                                  {"signed", DType::i32},
                                                  {"signed int", DType::i32},
                                                  {"int32_t", DType::i32},
                                                  {"unsigned", DType::u32},
                                                  {"unsigned int", DType::u32},
                                                  {"uint32_t", DType::u32},
                                                  {"uint", DType::u32},
                                                  {"long", DType::i64},
                                                  {"long int", DType::i64},
                                                  {"long long", DType::i64},
                                                  {"long long int", DType::i64},
                                                  {"int64_t", DType::i64},
                                                  {"ptrdiff_t", DType::i64},
                                                  {"unsigned long", DType::u64},
                                                  {"unsigned long long", DType::u64},
                                                  {"unsigned long long int", DType::u64},
                                                  {"unsigned long int", DType::u64},
                                                  {"uint64_t", DType::u64},
                                                  {"size_t", DType::u64},
                                                  {"short", DType::i16},
                                                  {"int16_t", DType::i16},
                                                  {"unsigned short", DType::u16},
                                                  {"uint16_t", DType::u16},
                                                  {"char", DType::i8},
                                                  {"signed char", DType::i8},
                                                  {"int8_t", DType::i8},
                                                  {"unsigned char", DType::u8},
                                                  {"uint8_t", DType::u8},
                                                  {"bool", DType::boolean}};
  const std::string plain = without_std(type);
  if (const auto found = table.find(plain); found != table.end()) return found->second;
  if (plain.empty() || plain.back() < '1' || plain.back() > '4') return std::nullopt;
  const auto vector = vector_elements().find(plain.substr(0, plain.size() - 1));
  return vector == vector_elements().end() ? std::nullopt : std::optional(vector->second);
}

}  // namespace assay
