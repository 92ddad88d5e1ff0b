// The relations that `oracle = { op = "..." }` may name: one table for the contract's checks and
// for the judge.
//
// A relation says of outputs what no formula over their own dimensions can: that they hold the k
// largest, a permutation, the members of each group. Its roles are what the contract fills in.
#pragma once

#include <array>
#include <string_view>

namespace assay {

enum class RoleForm {
  value,      ///< an expression of the formula's language, over named dimensions
  output,     ///< the name of an output or inout operand, which the relation judges
  number,     ///< an integer expression over sizes, knobs, flags and scalars
  dimension,  ///< the name of a dimension
  choice,     ///< one of `choices`
};

struct RelationRole {
  std::string_view name;
  RoleForm form = RoleForm::value;
  bool required = true;
  std::array<std::string_view, 3> choices{};  ///< the first one holds when the role is left out
};

inline constexpr size_t kMostRoles = 8;

struct RelationForm {
  std::string_view name;
  std::array<RelationRole, kMostRoles> roles{};  ///< unused: name is empty
};

inline constexpr std::array kRelationForms = std::to_array<RelationForm>({
    {"topk",
     {{{"of", RoleForm::value},
       {"along", RoleForm::dimension},
       {"k", RoleForm::number},
       {"values", RoleForm::output, false},
       {"indices", RoleForm::output, false},
       {"largest", RoleForm::choice, false, {"true", "false"}},
       {"sorted", RoleForm::choice, false, {"true", "false"}}}}},
    {"sort",
     {{{"of", RoleForm::value},
       {"along", RoleForm::dimension},
       {"values", RoleForm::output, false},
       {"indices", RoleForm::output, false},
       {"descending", RoleForm::choice, false, {"false", "true"}}}}},
    {"permutation",
     {{{"of", RoleForm::value}, {"along", RoleForm::dimension}, {"out", RoleForm::output}}}},
    {"grouped",
     {{{"keys", RoleForm::value},
       {"groups", RoleForm::number},
       {"block", RoleForm::number},
       {"fill", RoleForm::number},
       {"ids", RoleForm::output},
       {"group_of", RoleForm::output, false},
       {"count", RoleForm::output, false},
       {"order", RoleForm::choice, false, {"free", "stable"}}}}},
    {"bernoulli",
     {{{"mask", RoleForm::output},
       {"p", RoleForm::value},
       {"independent_of", RoleForm::value, false}}}},
});

/// The relation of that name, or null.
constexpr const RelationForm* find_relation_form(std::string_view name) {
  for (const RelationForm& form : kRelationForms)
    if (form.name == name) return &form;
  return nullptr;
}

/// The role of that name, or null.
constexpr const RelationRole* find_role(const RelationForm& form, std::string_view name) {
  for (const RelationRole& role : form.roles)
    if (!role.name.empty() && role.name == name) return &role;
  return nullptr;
}

}  // namespace assay
