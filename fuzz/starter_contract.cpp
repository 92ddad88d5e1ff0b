#include "fuzz/starter_contract.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "compilers/program.hpp"
#include "compilers/request.hpp"
#include "devices/ptx/module.hpp"
#include "fuzz/starter_block.hpp"
#include "kernels_under_test/contract_reader.hpp"
#include "oracles/verdict.hpp"

namespace assay {

namespace {

namespace fs = std::filesystem;

std::string quoted_list(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "\"" : ", \"") + word + "\"";
  return text;
}

class Starter {
 public:
  Starter(std::string source, KernelSignature kernel, std::string contract_path)
      : source_(std::move(source)),
        kernel_(std::move(kernel)),
        contract_path_(std::move(contract_path)) {
    if (kernel_.is_cut_off) fail("is cut off: its parameter list has no end");
    for (size_t i = 0; i < kernel_.parameters.size(); ++i) {
      KernelParameter& parameter = kernel_.parameters[i];
      if (parameter.name.empty()) parameter.name = "arg" + std::to_string(i);
      rename(parameter.name);
      check_parameter(parameter);
    }
    const bool writes =
        std::any_of(kernel_.parameters.begin(), kernel_.parameters.end(), is_output);
    if (!writes) fail("writes through none of its parameters: there is nothing to judge");
    for (KernelTemplateParameter& parameter : kernel_.templates) {
      check_template(parameter);
      const std::string written = parameter.name;
      rename(parameter.name);
      for (KernelParameter& p : kernel_.parameters) {
        if (p.type == written) p.type = parameter.name;
      }
    }
    choose_size();
  }

  /// The contract's text, for the types with which the kernel compiles.
  std::string text() {
    std::vector<KernelTemplateParameter*> open;  // knobs of which neither default nor name tells
    for (KernelTemplateParameter& p : kernel_.templates) {
      if (is_knob(p) && knob_text(p) == "1" && p.fallback.empty()) open.push_back(&p);
    }
    std::string error;
    for (const char* value : {"1", "16", "64", "128"}) {
      for (KernelTemplateParameter* p : open) p->fallback = value;
      if (compiles(error)) return settled_text();
      if (open.empty()) break;
    }
    if (open.empty() && !has_type_parameters()) throw InputError({}, error);
    const std::string knobs = open.empty() ? "" : " and " + open.front()->name + " = 1";
    throw InputError(
        {}, "no usual choice of types and knobs compiles; with f32" + knobs + ": " + error);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw InputError({source_, kernel_.line}, "kernel '" + kernel_.name + "' " + message);
  }

  static bool is_output(const KernelParameter& p) { return p.pointer && !p.pointee_const; }

  bool is_type_parameter(const std::string& type) const {
    return std::any_of(kernel_.templates.begin(), kernel_.templates.end(),
                       [&](const auto& p) { return p.type == "typename" && p.name == type; });
  }
  bool has_type_parameters() const {
    return std::any_of(kernel_.templates.begin(), kernel_.templates.end(),
                       [](const auto& p) { return p.type == "typename"; });
  }

  /// Sets the types to those with which the kernel compiles; whether there are any. `error`: what
  /// the first refusal of all says.
  bool compiles(std::string& error) {
    std::vector<std::string> compiled;
    const auto attempt = [&](const std::string& type) {
      types_ = {type};
      try {
        check_compiles(type);
        compiled.push_back(type);
      } catch (const InputError& refused) {
        if (error.empty()) error = refused.what();
      }
    };
    if (!has_type_parameters()) {
      attempt("f32");
      return !compiled.empty();
    }
    for (const char* type : {"f32", "f16", "bf16"}) attempt(type);
    if (compiled.empty()) {  // else the usual ones serve
      for (const char* type : {"f64", "i32", "i8", "u8"}) attempt(type);
    }
    types_ = compiled;
    return !compiled.empty();
  }

  /// The text with the first stand-in for each output's formula with which it loads.
  std::string settled_text() {
    for (const KernelParameter& p : kernel_.parameters) {
      if (!is_output(p)) continue;
      for (const std::string& formula : stand_ins(p)) {
        formulas_[p.name] = formula;
        if (loads(contract_text())) break;
      }
    }
    const std::string text = contract_text();
    Judge(parse_contract(text, contract_path_));  // says what is wrong with it, if anything is
    return text;
  }

  bool loads(const std::string& text) const {
    try {
      Judge(parse_contract(text, contract_path_));
      return true;
    } catch (const InputError&) {
      return false;
    }
  }

  void check_parameter(const KernelParameter& p) const {
    if (is_type_parameter(p.type) || dtype_of_cxx(p.type)) return;
    if (p.pointer && p.type == "void") return;
    fail("takes '" + p.name + "' of type '" + p.type +
         "', which is neither a pointer to a plain type nor a scalar: a contract cannot pass it");
  }

  void check_template(const KernelTemplateParameter& p) const {
    if (p.name.empty() || p.type.find("...") != std::string::npos ||
        p.type.find("template") != std::string::npos) {
      fail("has a template parameter that a contract cannot choose ('" + p.type + "')");
    }
  }

  std::string dtype_text(const KernelParameter& p) const {
    if (is_type_parameter(p.type)) return p.type;
    if (p.type == "void") return "u8";
    return std::string(name(*dtype_of_cxx(p.type)));
  }

  bool is_integer_scalar(const KernelParameter& p) const {
    if (p.pointer || is_type_parameter(p.type)) return false;
    const DType type = *dtype_of_cxx(p.type);
    return is_integer(type) && type != DType::boolean;
  }

  /// A contract's names need not be the source's: a word of its language gets an underscore.
  void rename(std::string& name) {
    if (!is_reserved_word(name)) return;
    const std::string written = name;
    std::string chosen = name + "_";
    while (taken(chosen)) chosen += "_";  // `name` itself is still among the taken
    name = chosen;
    renamed_ += "# " + name + " is `" + written +
                "` in the source, which is a word of the contract's language.\n";
  }

  /// Vectors are arrays of their elements: 4 * n4 floats for n4 of float4.
  std::string shape_text(const KernelParameter& p) const {
    const int lanes = lanes_of_cxx(p.type);
    if (lanes == 1) return "[\"" + size_ + "\"]";
    const std::string factor = std::to_string(lanes);
    return "[\"" + size_ + "_x" + factor + ": " + factor + " * " + size_ + "\"], align = " +
           std::to_string(lanes * byte_size(*dtype_of_cxx(p.type)));
  }

  bool taken(const std::string& word) const {
    const auto named = [&](const auto& p) { return p.name == word; };
    return std::any_of(kernel_.parameters.begin(), kernel_.parameters.end(), named) ||
           std::any_of(kernel_.templates.begin(), kernel_.templates.end(), named);
  }

  void choose_size() {
    for (const KernelParameter& p : kernel_.parameters) {
      if (is_integer_scalar(p)) {
        size_ = p.name;
        return;
      }
    }
    size_ = "n";
    while (taken(size_)) size_ += "_";
  }

  std::string entry() const {
    std::string entry = kernel_.scope + kernel_.name;
    if (kernel_.templates.empty()) return entry;
    entry += "<";
    for (size_t i = 0; i < kernel_.templates.size(); ++i) {
      const KernelTemplateParameter& p = kernel_.templates[i];
      const std::string chosen = "{" + p.name + "}";
      const bool plain = p.type == "typename" || dtype_of_cxx(p.type);
      entry +=
          (i > 0 ? ", " : "") + (plain ? chosen : "static_cast<" + p.type + ">(" + chosen + ")");
    }
    return entry + ">";
  }

  std::string choices_text() const {
    std::string types, flags, knobs;
    for (const KernelTemplateParameter& p : kernel_.templates) {
      if (p.type == "typename") {
        types += (types.empty() ? "" : ", ") + p.name + " = [" + quoted_list(types_) + "]";
      } else if (p.type == "bool") {
        flags += (flags.empty() ? "\"" : ", \"") + p.name + "\"";
      } else {
        knobs += (knobs.empty() ? "" : ", ") + p.name + " = [" + knob_text(p) + "]";
      }
    }
    std::string text;
    if (!types.empty()) {
      text += "# ? types: which of those that compile does the kernel serve?\n";
      text += "types = { " + types + " }\n";
    }
    if (!knobs.empty()) {
      text += "# ? knobs: which values does the host choose among?\nknobs = { " + knobs + " }\n";
    }
    if (!flags.empty()) text += "flags = [" + flags + "]\n";
    return text;
  }

  /// Of an output for which a host may pass the buffer of an input of its type.
  std::string in_place_question(const KernelParameter& p) const {
    for (const KernelParameter& in : kernel_.parameters) {
      if (in.pointer && !is_output(in) && in.type != "void" && dtype_text(in) == dtype_text(p))
        return " May a host call it in place (may_alias = [\"" + in.name + "\"])?";
    }
    return "";
  }

  std::string argument_text(const KernelParameter& p) const {
    const std::string head = "  { name = \"" + p.name + "\", kind = \"";
    const std::string dtype = "\", dtype = \"" + dtype_text(p) + "\"";
    if (p.pointer) {
      std::string question;
      if (p.type == "void")
        question += "  # ? " + p.name + ": what does the void pointer point to?\n";
      if (is_output(p)) {
        question += "  # ? " + p.name +
                    ": its shape; is it only written (output), read first too (inout), or scratch "
                    "(workspace)?" + in_place_question(p) + "\n";
      } else {
        question += "  # ? " + p.name + ": its shape and strides";
        const auto type = dtype_of_cxx(p.type);
        const bool whole = type && is_integer(*type) && !is_type_parameter(p.type);
        question +=
            whole ? "; if its values are indices: kind = \"index\" and their domain\n" : "\n";
      }
      return question + head + (is_output(p) ? "output" : "input") + dtype +
             ", shape = " + shape_text(p) + " },\n";
    }
    if (is_integer_scalar(p)) {
      return "  # ? " + p.name + ": which size, or what else, is passed here?\n" + head + "scalar" +
             dtype + ", value = \"" + size_ + "\" },\n";
    }
    const bool truth = !is_type_parameter(p.type) && dtype_of_cxx(p.type) == DType::boolean;
    return "  # ? " + p.name + ": which values does the host pass?\n" + head + "scalar" + dtype +
           ", value = " + (truth ? "[0, 1]" : "[1.0]") + " },\n";
  }

  bool is_whole(const KernelParameter& p) const {
    if (is_type_parameter(p.type)) return false;
    return p.type == "void" || is_integer(*dtype_of_cxx(p.type));
  }

  /// Formulas that stand in for an output's, the fullest first: its inputs' sum, where they are
  /// numbers of its kind, or 0.
  std::vector<std::string> stand_ins(const KernelParameter& out) const {
    std::string inputs;  // of the output's own shape
    for (const KernelParameter& in : kernel_.parameters) {
      const bool alike = in.pointer && !is_output(in) &&
                         lanes_of_cxx(in.type) == lanes_of_cxx(out.type) &&
                         (is_whole(in) || !is_whole(out));
      if (alike) inputs += (inputs.empty() ? "" : " + ") + in.name;
    }
    if (inputs.empty()) return {"0"};
    return {inputs, "0"};
  }

  std::string formula_text() const {
    std::string text;
    for (const KernelParameter& p : kernel_.parameters) {
      if (!is_output(p)) continue;
      const auto settled = formulas_.find(p.name);
      text += "# ? " + p.name + ": what must it equal? This line only stands for the answer\n" +
              p.name + " = \"" + (settled == formulas_.end() ? "0" : settled->second) + "\"\n";
    }
    return text;
  }

  std::string contract_text() const {
    std::string text =
        "# A starter contract, made by `assay init` from the kernel's signature at " +
        fs::path(source_).filename().string() + ":" + std::to_string(kernel_.line) +
        ".\n# Lines that begin with \"# ?\" ask for what a signature does not say: answer each and "
        "delete it.\n# `assay check` lists those that are left; docs/contract.md explains every "
        "key.\n" +
        renamed_;
    text += "name = \"" + kernel_.name + "\"\n";
    text += "source = { cuda = \"" + relative_source() + "\", entry = \"" + entry() + "\" }\n";
    text += choices_text();
    text +=
        "# ? sizes: which are there, from the least to the largest that the kernel must serve?\n";
    text += "sizes = { " + size_ + " = { min = 0, max = 1000000 } }\n";
    text +=
        "# ? launch: how does the host launch it?" +
        std::string(limits_.are_stated() ? " The block is as large as the compiled kernel admits\n"
                                         : "\n");
    text += "launch = { grid = [\"ceil_div(" + size_ + ", " + block_text(kernel_, limits_) +
            ")\"], block = [" + block_list(kernel_, limits_) + "] }\n";
    text += "args = [  # in the kernel's own order\n";
    for (const KernelParameter& p : kernel_.parameters) text += argument_text(p);
    text += "]\n\n[formula]\n" + formula_text();
    text +=
        "\n[policy]\n# ? nan: does a NaN among the inputs reach the outputs (\"propagate\"), is "
        "it passed over (\"ignore\"), or never there (\"exclude\")?\nnan = \"propagate\"\n";
    return text;
  }

  std::string relative_source() const {
    std::error_code ignored;
    const fs::path folder = fs::absolute(contract_path_).parent_path();
    const fs::path relative = fs::relative(fs::absolute(source_), folder, ignored);
    return relative.empty() ? fs::absolute(source_).string() : relative.string();
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
        fail("is cut off, the source ends: " +
             message.substr(first, message.find('\n', first) - first));
      }
      const size_t first = message.find(": ") + 2;
      fail("does not compile by its name: " +
           message.substr(first, message.find('\n', first) - first));
    }
  }

  /// Compiles and compares the entry's parameters with what was read.
  void check_compiles(const std::string& type) {
    const Contract contract = parse_contract(contract_text(), contract_path_);
    Variant variant;
    for (const TypeParameter& parameter : contract.types) {
      variant.types[parameter.name] = parse_dtype(type).value();
    }
    for (const Knob& knob : contract.knobs) variant.knobs[knob.name] = knob.values.front();
    for (const std::string& flag : contract.flags) variant.flags[flag] = 0;
    const Program program = compiled(contract, variant);
    const ptx::Module module = ptx::decode(program.ptx, program.source);
    const ptx::Function* function = module.find(program.entry);
    if (function == nullptr) fail("is not in what was compiled");
    limits_ = block_limits(*function);
    bool same = function->params.size() == kernel_.parameters.size();
    for (size_t i = 0; same && i < kernel_.parameters.size(); ++i) {
      const KernelParameter& p = kernel_.parameters[i];
      const int64_t bytes = p.pointer                   ? 8
                            : is_type_parameter(p.type) ? byte_size(parse_dtype(type).value())
                                                        : byte_size(*dtype_of_cxx(p.type));
      same = function->params[i].bytes == bytes;
    }
    if (!same) {
      fail("has other parameters when it is compiled than its text shows (a macro or an alias?)");
    }
  }

  const std::string source_;
  KernelSignature kernel_;
  const std::string contract_path_;
  std::string size_;
  std::string renamed_;  ///< a comment a name
  std::map<std::string, std::string> formulas_;  ///< by output
  BlockLimits limits_;
  std::vector<std::string> types_;
};

}  // namespace

std::string starter_contract(const std::string& source, const KernelSignature& kernel,
                             const std::string& contract_path) {
  return Starter(source, kernel, contract_path).text();
}

}  // namespace assay
