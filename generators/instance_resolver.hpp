// Private to generators: resolves a case against its contract, in the files that it names.
#pragma once

#include <string>
#include <vector>

#include "generators/instance.hpp"
#include "generators/scope.hpp"
#include "kernels_under_test/expression.hpp"

namespace assay {

/// Fills an Instance in the order in which its parts depend on each other.
class InstanceResolver {
 public:
  InstanceResolver(const Contract& contract, const Case& c, const std::string& file,
                   Instance& instance)
      : contract_(contract), file_(file), out_(instance) {
    out_.contract = &contract;
    out_.the_case = c;
    scope_ = scope_of(out_);
  }

  void resolve() {
    check_kernel();
    resolve_types();
    resolve_sizes();
    resolve_choices();
    for (const NamedExpr& derived : contract_.derive) {
      out_.names[derived.name] = evaluate_integer(*derived.expr, scope_);
    }
    check_operand_names();
    resolve_shapes();
    resolve_aliases();
    resolve_strides();
    resolve_scalars();
    resolve_launches();
    check_relations();
    check_blocks();
    check_property();
    resolve_values();
  }

 private:
  Case& the_case() { return out_.the_case; }
  [[noreturn]] void fail(const std::string& key, const std::string& message) const {
    SourceLocation where = out_.the_case.places.find(key, file_);
    // What the case lacks has no place of its own: its first line speaks for it.
    if (where.line == 0) where = out_.the_case.places.find("kernel", file_);
    throw InputError(where, message);
  }
  [[noreturn]] void fail_unknown(const std::string& key, const char* what,
                                 const std::string& given,
                                 const std::vector<std::string>& known) const;

  void check_kernel();
  void resolve_types();
  void resolve_sizes();
  void resolve_choices();
  void check_operand_names();
  void resolve_scalars();
  void resolve_scalar(Tensor& tensor);
  void check_relations();
  void check_property();
  void resolve_values();

  // instance_layouts.cpp
  void resolve_shapes();
  void resolve_aliases();
  void resolve_strides();
  void stride_shared(Tensor& tensor);
  void stride_tensor(Tensor& tensor, const Layout& layout, bool with_rules);
  void check_layout(Tensor& tensor);
  void check_nested(const Tensor& tensor);

  // instance_launches.cpp
  void resolve_launches();
  void resolve_launch(const LaunchSpec& spec, int position);
  void check_blocks();

  const Contract& contract_;
  const std::string& file_;
  Instance& out_;
  IntegerScope scope_;
};

}  // namespace assay
