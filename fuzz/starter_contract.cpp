#include "fuzz/starter_contract.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "fuzz/starter_compile.hpp"
#include "fuzz/starter_sizes.hpp"
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
    }
    for (KernelTemplateParameter& parameter : kernel_.templates) {
      const std::string written = parameter.name;
      rename(parameter.name);
      for (KernelParameter& p : kernel_.parameters) {
        if (p.type == written) p.type = parameter.name;
      }
    }
  }

  /// The contract's text, for the types with which the kernel compiles.
  std::string text() {
    compiled_ = compile_kernel(source_, kernel_, contract_path_);
    for (const KernelParameter& p : compiled_.parameters) check_parameter(p);
    const auto& all = compiled_.parameters;
    const auto writes = [&](const KernelParameter& p) { return is_output(p); };
    if (std::none_of(all.begin(), all.end(), writes))
      fail("writes through none of its parameters: there is nothing to judge");
    std::vector<bool> integers, whole;
    std::vector<std::string> names;
    for (const KernelParameter& p : all) {
      integers.push_back(is_integer_scalar(p));
      whole.push_back(is_whole(p));
      names.push_back(p.name);
    }
    for (const KernelTemplateParameter& p : kernel_.templates) names.push_back(p.name);
    shapes_ = guess_shapes(all, integers, whole, names);
    return settled_text();
  }

 private:
  [[noreturn]] void fail(const std::string& message) const { refuse(source_, kernel_, message); }

  /// What the compiled kernel does with a pointer; where that is not known, what its type allows.
  PointerUse use_of(const KernelParameter& p) const {
    const size_t i = static_cast<size_t>(&p - compiled_.parameters.data());
    const bool known =
        i < compiled_.uses.size() && (compiled_.uses[i].read || compiled_.uses[i].written);
    return known ? compiled_.uses[i] : PointerUse{p.pointee_const, !p.pointee_const};
  }
  bool is_output(const KernelParameter& p) const { return p.pointer && use_of(p).written; }

  bool is_type_parameter(const std::string& type) const {
    return std::any_of(compiled_.types.begin(), compiled_.types.end(),
                       [&](const StarterType& t) { return t.name == type; });
  }

  /// Whether a type is one of integers: where the contract chooses it, all that it chooses.
  bool is_integer_type(const std::string& type) const {
    for (const StarterType& t : compiled_.types) {
      if (t.name != type) continue;
      return std::all_of(t.dtypes.begin(), t.dtypes.end(), [](const std::string& dtype) {
        return is_integer(parse_dtype(dtype).value());
      });
    }
    const auto dtype = dtype_of_cxx(type);
    return dtype && is_integer(*dtype) && *dtype != DType::boolean;
  }

  /// The text with the first stand-in for each output's formula with which it loads.
  std::string settled_text() {
    for (const KernelParameter& p : compiled_.parameters) {
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
    if (is_type_parameter(p.type) || (p.pointer && p.type == "void")) return;
    if (!dtype_of_cxx(p.type)) {
      fail("takes '" + p.name + "' of type '" + p.type + (p.pointer ? "*" : "") +
           "', which is neither a pointer to a plain type nor a scalar: a contract cannot pass it");
    }
    if (!p.pointer && lanes_of_cxx(p.type) > 1) {
      fail("takes '" + p.name + "' of type '" + p.type +
           "' by value: a contract passes pointers and scalars alone");
    }
  }

  std::string dtype_text(const KernelParameter& p) const {
    if (is_type_parameter(p.type)) return p.type;
    if (p.type == "void") return "u8";
    return std::string(name(*dtype_of_cxx(p.type)));
  }

  bool is_integer_scalar(const KernelParameter& p) const {
    return !p.pointer && is_integer_type(p.type);
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
    std::vector<std::string> extents = shapes_.extents.at(p.name);
    const int lanes = lanes_of_cxx(p.type);
    if (lanes > 1) {
      const std::string factor = std::to_string(lanes);
      extents.back() += "_x" + factor + ": " + factor + " * " + extents.back();
    }
    std::string text = "[" + quoted_list(extents) + "]";
    if (shapes_.rows_at_a_stride.contains(p.name) && extents.size() == 2)
      text += ", strides = [\"any\", 1]";
    const int align = is_type_parameter(p.type) ? 0 : alignment_of_cxx(p.type);
    if (lanes > 1 && align > byte_size(*dtype_of_cxx(p.type)))
      text += ", align = " + std::to_string(align);
    return text;
  }

  bool taken(const std::string& word) const {
    const auto named = [&](const auto& p) { return p.name == word; };
    return std::any_of(kernel_.parameters.begin(), kernel_.parameters.end(), named) ||
           std::any_of(kernel_.templates.begin(), kernel_.templates.end(), named);
  }

  std::string choices_text() const {
    std::string types, flags, knobs;
    for (const StarterType& type : compiled_.types) {
      types += (types.empty() ? "" : ", ") + type.name + " = [" + quoted_list(type.dtypes) + "]";
    }
    for (const KernelTemplateParameter& p : kernel_.templates) {
      if (p.type == "bool") {
        flags += (flags.empty() ? "\"" : ", \"") + p.name + "\"";
      } else if (is_knob(p)) {
        knobs += (knobs.empty() ? "" : ", ") + p.name + " = [" + knob_text(kernel_, p) + "]";
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
    for (const KernelParameter& in : compiled_.parameters) {
      const bool alike = in.pointer && !is_output(in) && in.type != "void" &&
                         dtype_text(in) == dtype_text(p) && shape_text(in) == shape_text(p);
      if (alike) return " May a host call it in place (may_alias = [\"" + in.name + "\"])?";
    }
    return "";
  }

  std::string kind_of(const KernelParameter& p) const {
    if (!is_output(p)) return shapes_.indices.at(p.name) ? "index" : "input";
    return use_of(p).read ? "inout" : "output";
  }

  std::string output_question(const KernelParameter& p) const {
    const std::string whether =
        use_of(p).read
            ? "the kernel loads from it, too: is what it held before an input (inout), or has the "
              "kernel stored that itself (output, or workspace for scratch)?"
            : "is it only written (output), read first too (inout), or scratch (workspace)?";
    return "  # ? " + p.name + ": its shape; " + whether + in_place_question(p) + "\n";
  }

  std::string argument_text(const KernelParameter& p) const {
    const std::string head = "  { name = \"" + p.name + "\", kind = \"";
    const std::string dtype = "\", dtype = \"" + dtype_text(p) + "\"";
    if (p.pointer) {
      std::string question;
      if (p.type == "void")
        question += "  # ? " + p.name + ": what does the void pointer point to?\n";
      if (is_output(p))
        return question + output_question(p) + head + kind_of(p) + dtype +
               ", shape = " + shape_text(p) + " },\n";
      const bool whole = is_whole(p) && p.type != "void";
      const bool indices = shapes_.indices.at(p.name);
      question += "  # ? " + p.name + ": its shape and strides";
      question += indices ? "; are its values indices, and of what (domain)?\n"
                  : whole ? "; if its values are indices: kind = \"index\" and their domain\n"
                          : "\n";
      const std::string domain =
          indices ? ", domain = \"0.." + shapes_.extents.at(p.name).front() + " - 1\"" : "";
      return question + head + kind_of(p) + dtype + ", shape = " + shape_text(p) + domain + " },\n";
    }
    if (is_integer_scalar(p)) {
      return "  # ? " + p.name + ": which size, or what else, is passed here?\n" + head + "scalar" +
             dtype + ", value = \"" + shapes_.values.at(p.name) + "\" },\n";
    }
    const bool truth = !is_type_parameter(p.type) && dtype_of_cxx(p.type) == DType::boolean;
    return "  # ? " + p.name + ": which values does the host pass?\n" + head + "scalar" + dtype +
           ", value = " + (truth ? "[0, 1]" : "[1.0]") + " },\n";
  }

  bool is_whole(const KernelParameter& p) const {
    return p.type == "void" || p.type == "bool" || is_integer_type(p.type);
  }

  /// Formulas that stand in for an output's, the fullest first: its inputs' sum, where they are
  /// numbers of its kind, or 0.
  std::vector<std::string> stand_ins(const KernelParameter& out) const {
    std::string inputs;  // of the output's own shape
    for (const KernelParameter& in : compiled_.parameters) {
      const bool alike = in.pointer && !is_output(in) && !shapes_.indices.at(in.name) &&
                         lanes_of_cxx(in.type) == lanes_of_cxx(out.type) &&
                         (is_whole(in) || !is_whole(out));
      if (alike) inputs += (inputs.empty() ? "" : " + ") + in.name;
    }
    if (inputs.empty()) return {"0"};
    return {inputs, "0"};
  }

  std::string formula_text() const {
    std::string text;
    for (const KernelParameter& p : compiled_.parameters) {
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
    const bool by_nvcc = compiled_.compiler == CudaCompiler::nvcc;
    if (by_nvcc)
      text += "# nvcc: the source holds code of the host, or NVRTC does not compile it.\n";
    text += "source = { cuda = \"" + source_beside(source_, contract_path_) + "\", entry = \"" +
            compiled_.entry + (by_nvcc ? "\", compiler = \"nvcc\" }\n" : "\" }\n");
    text += choices_text();
    text +=
        "# ? sizes: which are there, from the least to the largest that the kernel must serve?\n";
    std::string sizes;
    for (const StarterSize& size : shapes_.sizes)
      sizes += (sizes.empty() ? "" : ", ") + size.name + " = " + size.range;
    text += "sizes = { " + sizes + " }\n";
    const BlockLimits& limits = compiled_.limits;
    const std::string& first = shapes_.sizes.front().name;
    const std::string grid =
        shapes_.has_rows ? first : "ceil_div(" + first + ", " + block_text(kernel_, limits) + ")";
    text += "# ? launch: how does the host launch it?";
    text += shapes_.has_rows ? " Here a block for each row." : "";
    text += limits.are_stated() ? " The block is as large as the compiled kernel admits\n" : "\n";
    text +=
        "launch = { grid = [\"" + grid + "\"], block = [" + block_list(kernel_, limits) + "] }\n";
    text += "args = [  # in the kernel's own order\n";
    for (const KernelParameter& p : compiled_.parameters) text += argument_text(p);
    text += "]\n\n[formula]\n" + formula_text();
    text +=
        "\n[policy]\n# ? nan: does a NaN among the inputs reach the outputs (\"propagate\"), is "
        "it passed over (\"ignore\"), or never there (\"exclude\")?\nnan = \"propagate\"\n";
    return text;
  }

  const std::string source_;
  KernelSignature kernel_;
  const std::string contract_path_;
  CompiledKernel compiled_;
  StarterShapes shapes_;
  std::string renamed_;                          ///< a comment a name
  std::map<std::string, std::string> formulas_;  ///< by output
};

}  // namespace

std::string starter_contract(const std::string& source, const KernelSignature& kernel,
                             const std::string& contract_path) {
  return Starter(source, kernel, contract_path).text();
}

}  // namespace assay
