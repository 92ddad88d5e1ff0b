#include "fuzz/starter_types.hpp"

#include <algorithm>
#include <cctype>
#include <regex>

#include "fuzz/starter_sizes.hpp"

namespace assay {

namespace {

bool has_any(const std::string& type_name, const std::vector<const char*>& wanted) {
  std::string lower = type_name;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](const char* word) { return lower.find(word) != std::string::npos; });
}

bool occurs(const std::string& body, const std::string& pattern) {
  return std::regex_search(body, std::regex(pattern));
}

/// "x[...]", an element of a pointer, up to its closing bracket or further.
std::string element(const std::string& name) { return "\\b" + name + "\\s*\\[[^;=]*\\]\\s*"; }

/// "out[i].__x = ...", "out[i] = __nv_fp8_e4m3(...)".
bool is_made_fp8(const std::string& body, const KernelParameter& p) {
  return p.pointer && occurs(body, element(p.name) + "(\\.\\s*__x\\b|=\\s*__nv_fp8_e[45]m[23]\\b)");
}

/// "out[i] = __nv_cvt_float_to_fp8(...)", which gives an unsigned char (cuda_fp8.h).
bool is_made_storage(const std::string& body, const KernelParameter& p) {
  return p.pointer && occurs(body, element(p.name) + "=\\s*__nv_cvt_\\w+_to_fp8\\b");
}

/// Whether an element is used as a subscript, or through an integer variable that is one.
bool is_subscript(const std::string& body, const std::string& name) {
  if (occurs(body, "\\[[^\\[\\];]*\\b" + name + "\\s*\\[")) return true;
  const std::regex copy("\\b(int|long|unsigned|size_t|u?int\\d+_t)\\s+(\\w+)\\s*=[^;=]*\\b" + name +
                        "\\s*\\[");
  for (std::sregex_iterator at(body.begin(), body.end(), copy), end; at != end; ++at) {
    if (occurs(body, "\\[[^\\];]*\\b" + (*at)[2].str() + "\\b")) return true;
  }
  return false;
}

/// Whether a parameter holds indices, positions or, by value, a size.
bool is_index(const std::string& body, const KernelParameter& p) {
  if (!p.pointer) return occurs(body, "(<|%)\\s*=?\\s*" + p.name + "\\b");
  static const std::vector<std::string> names{"idx",    "index",   "indices", "ids",    "slot",
                                              "slots",  "map",     "mapping", "perm",   "positions",
                                              "pos",    "label",   "labels",  "target", "targets",
                                              "offset", "offsets", "position"};
  const std::vector<std::string> parts = name_parts(p.name);
  const bool is_named = std::any_of(parts.begin(), parts.end(), [](const std::string& part) {
    return std::find(names.begin(), names.end(), part) != names.end();
  });
  return (p.pointee_const && is_named) || is_subscript(body, p.name);
}

}  // namespace

std::string searchable_body(const KernelSignature& kernel) {
  constexpr size_t kLongest = 2000;
  std::string text;
  for (size_t at = 0; at < kernel.body.size();) {
    const size_t end = std::min(kernel.body.find(';', at), kernel.body.size() - 1) + 1;
    text += end - at > kLongest ? ";" : kernel.body.substr(at, end - at);
    at = end;
  }
  return text;
}

const std::vector<std::string>& dtypes_of(TypeFamily family) {
  static const std::vector<std::string> floating{"f32", "f16", "bf16"}, fp8{"e4m3", "e5m2"},
      index{"i32", "i64"}, storage{"u8"}, any{"f64", "i32", "i8", "u8"};
  switch (family) {
    case TypeFamily::floating:
      return floating;
    case TypeFamily::fp8:
      return fp8;
    case TypeFamily::index:
      return index;
    case TypeFamily::storage:
      return storage;
    case TypeFamily::any:
      break;
  }
  return any;
}

TypeFamily likely_family(const KernelSignature& kernel, const KernelTemplateParameter& type) {
  if (has_any(type.name, {"fp8", "float8", "e4m3", "e5m2"})) return TypeFamily::fp8;
  if (has_any(type.name, {"idx", "index", "offset"})) return TypeFamily::index;
  std::vector<KernelParameter> of_type;
  for (const KernelParameter& p : kernel.parameters)
    if (p.type == type.name) of_type.push_back(p);
  const std::string body = searchable_body(kernel);
  const auto holds = [&](const auto& says) {
    return [&, says](const KernelParameter& p) { return says(body, p); };
  };
  if (std::any_of(of_type.begin(), of_type.end(), holds(is_made_fp8))) return TypeFamily::fp8;
  if (std::any_of(of_type.begin(), of_type.end(), holds(is_made_storage)))
    return TypeFamily::storage;
  const bool of_indices =
      !of_type.empty() && std::all_of(of_type.begin(), of_type.end(), holds(is_index));
  return of_indices ? TypeFamily::index : TypeFamily::floating;
}

}  // namespace assay
