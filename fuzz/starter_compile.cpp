#include "fuzz/starter_compile.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "compilers/compiled_signature.hpp"
#include "compilers/nvrtc.hpp"
#include "compilers/program.hpp"
#include "compilers/request.hpp"
#include "compilers/toolkit.hpp"
#include "devices/ptx/module.hpp"
#include "kernels_under_test/contract_reader.hpp"

namespace assay {

namespace {

namespace fs = std::filesystem;

bool is_type(const KernelTemplateParameter& p) { return p.type == "typename"; }

/// Whether a contract can give it a value: a type with a name, or a number with one.
bool can_choose(const KernelTemplateParameter& p) {
  if (p.name.empty() || p.type.find_first_of("(.*&") != std::string::npos) return false;
  if (p.type.starts_with("template")) return false;
  return !is_type(p) || p.fallback.empty() || dtype_of_cxx(p.fallback);
}

/// One way to compile it: which compiler, and the scope in which its enumerations are looked up.
struct Way {
  CudaCompiler compiler = CudaCompiler::nvrtc;
  std::string scope;
};

class KernelBuild {
 public:
  KernelBuild(const std::string& source, KernelSignature& kernel, const std::string& contract_path)
      : source_(source), kernel_(kernel), contract_path_(contract_path) {
    drop_defaults();
    for (const KernelTemplateParameter& p : kernel_.templates) {
      if (!can_choose(p)) {
        refuse(source_, kernel_,
               "has a template parameter that a contract cannot choose ('" + p.type +
                   (p.name.empty() ? "" : " " + p.name) +
                   "'): types that are plain and numbers can be chosen, functions and classes not");
      }
      if (is_type(p)) types_.push_back(type_of(p));
    }
  }

  CompiledKernel build() {
    std::vector<KernelTemplateParameter*> open;  // knobs of which neither default nor name tells
    for (KernelTemplateParameter& p : kernel_.templates) {
      if (is_knob(p) && knob_text(p) == "1" && p.fallback.empty()) open.push_back(&p);
    }
    std::string error;
    for (const CudaCompiler compiler : {CudaCompiler::nvrtc, CudaCompiler::nvcc}) {
      if (compiler == CudaCompiler::nvcc) {
        if (find_nvcc().empty()) break;
        if (!error.empty() && !needs_host_) break;
        error.clear();
      }
      for (const char* value : {"1", "16", "64", "128"}) {
        for (KernelTemplateParameter* p : open) p->fallback = value;
        for (const std::string& scope : scopes()) {
          way_ = {compiler, scope};
          if (compiles(error)) return settled();
        }
        if (open.empty() || needs_host_) break;
      }
    }
    if (needs_host_ || (open.empty() && !varies())) throw InputError({}, error);
    const std::string knobs = open.empty() ? "" : " and " + open.front()->name + " = 1";
    throw InputError({}, "no usual choice of types and knobs compiles; with " + first_tried_ +
                             knobs + ": " + error);
  }

 private:
  /// Of trailing parameters all of which have a default, those from the first that a contract
  /// cannot choose.
  void drop_defaults() {
    std::vector<KernelTemplateParameter>& all = kernel_.templates;
    auto first = all.end();
    while (first != all.begin() && !std::prev(first)->fallback.empty()) --first;
    all.erase(std::find_if_not(first, all.end(), can_choose), all.end());
  }

  static StarterType type_of(const KernelTemplateParameter& p) {
    if (const auto dtype = dtype_of_cxx(p.fallback); dtype && lanes_of_cxx(p.fallback) == 1)
      return {p.name, {std::string(name(*dtype))}, true};
    std::string lower = p.name;
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const bool of_indices = lower.find("idx") != std::string::npos ||
                            lower.find("index") != std::string::npos ||
                            lower.find("offset") != std::string::npos;
    if (of_indices) return {p.name, {"i32"}, true};
    return {p.name, {"f32"}, false};
  }

  bool varies() const {
    return std::any_of(types_.begin(), types_.end(), [](const auto& t) { return !t.is_fixed; });
  }

  /// Where a type that the source writes without its namespaces may lie.
  std::vector<std::string> scopes() const {
    std::vector<std::string> scopes{""};
    const bool names_one = std::any_of(
        kernel_.templates.begin(), kernel_.templates.end(),
        [](const auto& p) { return is_knob(p) && !dtype_of_cxx(p.type) && p.type != "auto"; });
    for (std::string scope = kernel_.scope; names_one && !scope.empty();) {
      scopes.push_back(scope);
      const size_t colons = scope.rfind("::", scope.size() - 3);
      scope.resize(colons == std::string::npos ? 0 : colons + 2);
    }
    return scopes;
  }

  std::string entry() const {
    std::string entry = kernel_.scope + kernel_.name;
    if (kernel_.templates.empty()) return entry;
    entry += "<";
    for (size_t i = 0; i < kernel_.templates.size(); ++i) {
      const KernelTemplateParameter& p = kernel_.templates[i];
      const std::string chosen = "{" + p.name + "}";
      const bool plain = is_type(p) || dtype_of_cxx(p.type) || p.type == "auto";
      entry += i > 0 ? ", " : "";
      entry += plain ? chosen : "static_cast<" + way_.scope + p.type + ">(" + chosen + ")";
    }
    return entry + ">";
  }

  /// As much of a contract as compiling needs.
  std::string contract_text() const {
    std::string types, flags, knobs;
    for (const StarterType& type : types_)
      types += (types.empty() ? "" : ", ") + type.name + " = [\"" + type.dtypes.front() + "\"]";
    for (const KernelTemplateParameter& p : kernel_.templates) {
      if (p.type == "bool") flags += (flags.empty() ? "\"" : ", \"") + p.name + "\"";
      if (is_knob(p)) knobs += (knobs.empty() ? "" : ", ") + p.name + " = [" + knob_text(p) + "]";
    }
    std::string text =
        "name = \"" + kernel_.name + "\"\nsource = { cuda = \"" +
        source_beside(source_, contract_path_) + "\", entry = \"" + entry() +
        (way_.compiler == CudaCompiler::nvcc ? "\", compiler = \"nvcc\" }\n" : "\" }\n");
    if (!types.empty()) text += "types = { " + types + " }\n";
    if (!knobs.empty()) text += "knobs = { " + knobs + " }\n";
    if (!flags.empty()) text += "flags = [" + flags + "]\n";
    return text + "launch = { grid = [1], block = [1] }\nargs = [{ name = \"assay_out\", kind = " +
           "\"output\", dtype = \"u8\", shape = [1] }]\n[formula]\nassay_out = \"0\"\n";
  }

  /// Sets the types to those with which the kernel compiles; whether there are any. `error`: what
  /// the first refusal of all says.
  bool compiles(std::string& error) {
    compiled_.clear();
    const auto attempt = [&](const std::string& dtype) {
      for (StarterType& type : types_)
        if (!type.is_fixed) type.dtypes = {dtype};
      if (first_tried_.empty()) first_tried_ = dtype;
      try {
        compile_once(dtype);
      } catch (const InputError& refused) {
        if (!error.empty()) return;
        error = refused.what();
        if (way_.compiler == CudaCompiler::nvrtc && is_host_code_error(error)) {
          needs_host_ = true;
          error = error.substr(0, error.find('\n'));
        }
      }
    };
    const std::vector<std::string> usual{"f32", "f16", "bf16"}, others{"f64", "i32", "i8", "u8"};
    for (const std::vector<std::string>& dtypes : {usual, others}) {
      if (!compiled_.empty()) break;
      for (const std::string& dtype : dtypes) {
        if (compiled_.empty() && needs_host_ && way_.compiler == CudaCompiler::nvrtc) return false;
        if (compiled_.empty() || varies()) attempt(dtype);
        if (!varies()) break;
      }
      if (!varies()) break;
    }
    return !compiled_.empty();
  }

  /// An error that the compiler can place nowhere in the source stands at the entry of a contract
  /// that is not written yet: the user's place is the kernel.
  Program compiled(const Contract& contract, const Variant& variant) const {
    try {
      return compile(contract, variant, 0);
    } catch (const InputError& error) {
      if (error.where().file != contract_path_) throw;
      const std::string message = error.what();
      static const std::string kEnd = "At end of source: error: ";
      const size_t end = message.find(kEnd);
      if (end != std::string::npos) {
        const size_t first = end + kEnd.size();
        refuse(source_, kernel_,
               "is cut off, the source ends: " +
                   message.substr(first, message.find('\n', first) - first));
      }
      const size_t first = message.find(": ") + 2;
      refuse(source_, kernel_,
             "does not compile by its name: " +
                 message.substr(first, message.find('\n', first) - first));
    }
  }

  void compile_once(const std::string& dtype) {
    const Contract contract = parse_contract(contract_text(), contract_path_);
    Variant variant;
    for (const StarterType& type : types_)
      variant.types[type.name] = parse_dtype(type.dtypes.front()).value();
    for (const Knob& knob : contract.knobs) variant.knobs[knob.name] = knob.values.front();
    for (const std::string& flag : contract.flags) variant.flags[flag] = 0;
    const Program program = compiled(contract, variant);
    const ptx::Module module = ptx::decode(program.ptx, program.source);
    const ptx::Function* function = module.find(program.entry);
    if (function == nullptr) refuse(source_, kernel_, "is not in what was compiled");
    limits_ = block_limits(*function);
    uses_ = pointer_uses(*function);
    std::vector<KernelParameter> parameters = mangled_parameters(program.entry);
    const bool are_known = std::all_of(parameters.begin(), parameters.end(), [](const auto& p) {
      return dtype_of_cxx(p.type) || p.type == "void";
    });
    if (parameters.empty() || !are_known) parameters = compiled_parameters(contract, variant, 0);
    if (parameters.size() != kernel_.parameters.size() ||
        function->params.size() != kernel_.parameters.size()) {
      refuse(source_, kernel_,
             "has other parameters when it is compiled than its text shows (a macro or a pack?)");
    }
    compiled_.emplace_back(dtype, std::move(parameters));
  }

  bool is_type_parameter(const std::string& type) const {
    return std::any_of(types_.begin(), types_.end(),
                       [&](const StarterType& t) { return t.name == type; });
  }

  /// A parameter's type as a contract may say it: a type parameter where the source says so, or
  /// where it follows the chosen type; else what it is in every compiled variant.
  KernelParameter resolved(size_t i) const {
    KernelParameter p = compiled_.front().second[i];
    p.name = kernel_.parameters[i].name;
    const std::string& written = kernel_.parameters[i].type;
    if (is_type_parameter(written) && kernel_.parameters[i].pointer == p.pointer) {
      p.type = written;
      return p;
    }
    const auto all = [&](const auto& holds) {
      return std::all_of(compiled_.begin(), compiled_.end(), [&](const auto& variant) {
        return holds(variant.first, variant.second[i].type);
      });
    };
    if (all([&](const auto&, const auto& type) { return type == p.type; })) return p;
    const auto follows = [](const std::string& dtype, const std::string& type) {
      return dtype_of_cxx(type) == parse_dtype(dtype) && lanes_of_cxx(type) == 1;
    };
    const auto chosen = std::find_if(types_.begin(), types_.end(),
                                     [](const StarterType& t) { return !t.is_fixed; });
    if (!all(follows) || chosen == types_.end()) {
      refuse(source_, kernel_,
             "takes '" + p.name + "' of type '" + written + "', which is " + p.type + " with " +
                 compiled_.front().first + " and " + compiled_.back().second[i].type + " with " +
                 compiled_.back().first + ": a contract cannot say that");
    }
    p.type = chosen->name;
    return p;
  }

  CompiledKernel settled() {
    CompiledKernel kernel{way_.compiler, entry(), types_, {}, limits_, uses_};
    for (StarterType& type : kernel.types) {
      if (type.is_fixed) continue;
      type.dtypes.clear();
      for (const auto& [dtype, parameters] : compiled_) type.dtypes.push_back(dtype);
    }
    for (size_t i = 0; i < kernel_.parameters.size(); ++i) kernel.parameters.push_back(resolved(i));
    return kernel;
  }

  const std::string source_;
  KernelSignature& kernel_;
  const std::string contract_path_;
  std::vector<StarterType> types_;
  Way way_;
  bool needs_host_ = false;
  std::string first_tried_;
  std::vector<std::pair<std::string, std::vector<KernelParameter>>> compiled_;  ///< by dtype
  BlockLimits limits_;
  std::vector<PointerUse> uses_;
};

}  // namespace

CompiledKernel compile_kernel(const std::string& source, KernelSignature& kernel,
                              const std::string& contract_path) {
  return KernelBuild(source, kernel, contract_path).build();
}

std::string source_beside(const std::string& source, const std::string& contract_path) {
  std::error_code ignored;
  const fs::path folder = fs::absolute(contract_path).parent_path();
  const fs::path relative = fs::relative(fs::absolute(source), folder, ignored);
  return relative.empty() ? fs::absolute(source).string() : relative.string();
}

void refuse(const std::string& source, const KernelSignature& kernel, const std::string& message) {
  throw InputError({source, kernel.line}, "kernel '" + kernel.name + "' " + message);
}

}  // namespace assay
