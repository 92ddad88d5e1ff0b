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
      if (!is_type(p)) continue;
      types_.push_back(type_of(p));
      likely_.push_back(likely_family(kernel_, p));
    }
  }

  CompiledKernel build() {
    std::vector<KernelTemplateParameter*> open;  // knobs of which neither default nor name tells
    for (KernelTemplateParameter& p : kernel_.templates) {
      if (is_knob(p) && knob_text(kernel_, p) == "1" && p.fallback.empty()) open.push_back(&p);
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
    for (size_t t = 0; t < types_.size(); ++t)
      types += (t > 0 ? ", " : "") + types_[t].name + " = [\"" + chosen_[t] + "\"]";
    for (const KernelTemplateParameter& p : kernel_.templates) {
      if (p.type == "bool") flags += (flags.empty() ? "\"" : ", \"") + p.name + "\"";
      if (is_knob(p))
        knobs += (knobs.empty() ? "" : ", ") + p.name + " = [" + knob_text(kernel_, p) + "]";
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

  /// Collects the choices of types with which the kernel compiles; whether there are any. `error`:
  /// what the first refusal of all says.
  bool compiles(std::string& error) {
    compiled_.clear();
    chosen_.clear();
    for (const StarterType& type : types_) chosen_.push_back(type.dtypes.front());
    if (!varies()) return attempt(error);
    if (serves(likely_, error)) return true;
    for (const size_t t : free_types()) {
      if (gave_up()) return false;
      // One of them may be of another kind than its name and its use say.
      for (const TypeFamily family :
           {TypeFamily::fp8, TypeFamily::index, TypeFamily::storage, TypeFamily::floating}) {
        const bool is_any = family == TypeFamily::index || family == TypeFamily::storage;
        if (family == likely_[t] || (free_types().size() == 1 && is_any)) continue;
        std::vector<TypeFamily> families = likely_;
        families[t] = family;
        choose(families, 0);
        if (attempt(error) && serves(families, error)) return true;
      }
    }
    return !gave_up() && serves(std::vector(types_.size(), TypeFamily::any), error);
  }

  std::vector<size_t> free_types() const {
    std::vector<size_t> free;
    for (size_t t = 0; t < types_.size(); ++t)
      if (!types_[t].is_fixed) free.push_back(t);
    return free;
  }

  /// Whether only the other compiler can read the source.
  bool gave_up() const {
    return compiled_.empty() && needs_host_ && way_.compiler == CudaCompiler::nvrtc;
  }

  /// Sets each free type to one dtype of its family: those of one family are one type together.
  void choose(const std::vector<TypeFamily>& families, size_t round) {
    for (const size_t t : free_types()) {
      const std::vector<std::string>& dtypes = dtypes_of(families[t]);
      chosen_[t] = dtypes[round % dtypes.size()];
    }
  }

  /// Compiles as often as the largest family has types, and where a choice of several families was
  /// refused, each type of it once by itself.
  bool serves(const std::vector<TypeFamily>& families, std::string& error) {
    size_t rounds = 0;
    for (const size_t t : free_types()) rounds = std::max(rounds, dtypes_of(families[t]).size());
    for (size_t round = 0; round < rounds && !gave_up(); ++round) {
      choose(families, round);
      attempt(error);
    }
    if (compiled_.empty()) return false;
    for (const size_t t : free_types()) {
      for (const std::string& dtype : dtypes_of(families[t])) {
        const bool together = std::all_of(families.begin(), families.end(),
                                          [&](TypeFamily one) { return one == families[t]; });
        if (together || is_compiled(t, dtype)) continue;
        chosen_ = compiled_.front().dtypes;
        chosen_[t] = dtype;
        attempt(error);
      }
    }
    families_ = families;
    return true;
  }

  bool is_compiled(size_t t, const std::string& dtype) const {
    return std::any_of(compiled_.begin(), compiled_.end(),
                       [&](const Compiled& one) { return one.dtypes[t] == dtype; });
  }

  /// Compiles with the chosen types; whether that is possible. A choice that was compiled before is
  /// not compiled again.
  bool attempt(std::string& error) {
    const auto is_known = [&](const Compiled& one) { return one.dtypes == chosen_; };
    if (std::any_of(compiled_.begin(), compiled_.end(), is_known)) return true;
    if (first_tried_.empty()) first_tried_ = chosen_text(chosen_);
    try {
      compile_once();
      return true;
    } catch (const InputError& refused) {
      if (!error.empty()) return false;
      error = refused.what();
      if (way_.compiler == CudaCompiler::nvrtc && is_host_code_error(error)) {
        needs_host_ = true;
        error = error.substr(0, error.find('\n'));
      }
      return false;
    }
  }

  /// "f32", or "f32, e4m3" where types differ.
  std::string chosen_text(const std::vector<std::string>& dtypes) const {
    std::vector<std::string> different;
    for (const size_t t : free_types()) {
      if (std::find(different.begin(), different.end(), dtypes[t]) == different.end())
        different.push_back(dtypes[t]);
    }
    return joined(different);
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

  void compile_once() {
    const Contract contract = parse_contract(contract_text(), contract_path_);
    Variant variant;
    for (size_t t = 0; t < types_.size(); ++t)
      variant.types[types_[t].name] = parse_dtype(chosen_[t]).value();
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
    compiled_.push_back({chosen_, std::move(parameters)});
  }

  bool is_type_parameter(const std::string& type) const {
    return std::any_of(types_.begin(), types_.end(),
                       [&](const StarterType& t) { return t.name == type; });
  }

  /// A parameter's type as a contract may say it: a type parameter where the source says so, or
  /// where it follows the chosen type; else what it is in every compiled variant.
  KernelParameter resolved(size_t i) const {
    KernelParameter p = compiled_.front().parameters[i];
    p.name = kernel_.parameters[i].name;
    const std::string& written = kernel_.parameters[i].type;
    if (is_type_parameter(written) && kernel_.parameters[i].pointer == p.pointer) {
      p.type = written;
      return p;
    }
    const auto all = [&](const auto& holds) {
      return std::all_of(compiled_.begin(), compiled_.end(), holds);
    };
    if (all([&](const Compiled& one) { return one.parameters[i].type == p.type; })) return p;
    for (const size_t t : free_types()) {
      const auto follows = [&](const Compiled& one) {
        const std::string& type = one.parameters[i].type;
        return dtype_of_cxx(type) == parse_dtype(one.dtypes[t]) && lanes_of_cxx(type) == 1;
      };
      if (!all(follows)) continue;
      p.type = types_[t].name;
      return p;
    }
    const auto other = std::find_if(compiled_.begin(), compiled_.end(), [&](const Compiled& one) {
      return one.parameters[i].type != p.type;
    });
    refuse(source_, kernel_,
           "takes '" + p.name + "' of type '" + written + "', which is " + p.type + " with " +
               chosen_text(compiled_.front().dtypes) + " and " + other->parameters[i].type +
               " with " + chosen_text(other->dtypes) + ": a contract cannot say that");
  }

  CompiledKernel settled() {
    CompiledKernel kernel{way_.compiler, entry(), types_, {}, limits_, uses_};
    for (const size_t t : free_types()) {
      std::vector<std::string>& dtypes = kernel.types[t].dtypes;
      dtypes.clear();
      for (const std::string& dtype : dtypes_of(families_[t]))
        if (is_compiled(t, dtype)) dtypes.push_back(dtype);
    }
    for (size_t i = 0; i < kernel_.parameters.size(); ++i) kernel.parameters.push_back(resolved(i));
    return kernel;
  }

  const std::string source_;
  KernelSignature& kernel_;
  const std::string contract_path_;
  /// A choice of types, one of `types_` each, and the kernel's parameters then.
  struct Compiled {
    std::vector<std::string> dtypes;
    std::vector<KernelParameter> parameters;
  };

  std::vector<StarterType> types_;
  std::vector<TypeFamily> likely_, families_;  ///< of each type: expected, and compiled with
  std::vector<std::string> chosen_;            ///< dtype of each type for the next compilation
  Way way_;
  bool needs_host_ = false;
  std::string first_tried_;
  std::vector<Compiled> compiled_;
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
