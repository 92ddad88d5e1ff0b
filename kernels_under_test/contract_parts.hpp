// The steps of reading a contract, one file each. Internal to the contract parser.
#pragma once

#include <string>
#include <vector>

#include "kernels_under_test/contract.hpp"
#include "kernels_under_test/contract_reader.hpp"

namespace assay {

/// Notes an accepted key whose part is not built yet.
void note_later(Contract& contract, const SourceLocation& where, const std::string& key);

/// `source`: files and folders are resolved from `folder` and must be there.
void read_source(const TomlValue& value, const std::string& folder, Contract& contract);
/// `args`, with `strides_of` expanded. Needs `types`.
void read_operands(const TomlValue& value, Contract& contract);
/// An operand's `when` and `absent`, and its `may_alias`; `operands` are all names of `args`.
void read_presence(const TableReader& table, const std::vector<std::string>& operands,
                   OperandSpec& operand);
void read_aliases(const TableReader& table, const std::vector<std::string>& operands,
                  OperandSpec& operand);
/// `pack`: the operand becomes the array of its words.
void read_packing(const TableReader& table, OperandSpec& operand);
/// Formulas and relations that name a packed operand's elements take them out of its words.
void unpack_elements(Contract& contract);
/// Operands that may share memory are of one type, shape and layout.
void check_aliases(const Contract& contract);
/// `launch`: a table or an array of tables. Needs `args` and `source`.
void read_launches(const TomlValue& value, Contract& contract);
/// `formula`, `oracle`, `owns`, `accuracy` and `policy`.
void read_formula(const TomlValue& value, Contract& contract);
void read_oracle(const TomlValue& value, Contract& contract);
void read_ownership(const TomlValue& value, Contract& contract);
void read_accuracy(const TomlValue& value, Contract& contract);
void read_policy(const TomlValue& value, Contract& contract);
/// `properties`, checked against the formula. Needs all of the above.
void read_properties(const TomlValue& value, Contract& contract);

/// Every name in every expression outside the formula is known, and names are distinct.
void check_names(const Contract& contract);
/// Templates of entries name types, knobs and flags only.
void check_entry(const std::string& entry, const SourceLocation& where, const Contract& contract);
/// Names, dimensions, functions and argument counts of the formula; every output has its line.
void check_formula(const Contract& contract);
/// No output is judged by itself, through `given` of it or of others that follow from it.
void check_given_outputs(const Contract& contract);
/// Alignments, overreads, depths and block lengths are such numbers in some case at least, and the
/// formula's constants have a value.
void check_numbers(const Contract& contract);

/// The types that an operand's `dtype` may stand for.
std::vector<DType> kinds_of(const std::string& dtype, const Contract& contract);

/// Names of one section, for suggestions and look-ups.
std::vector<std::string> names_of_types(const Contract& contract);
std::vector<std::string> names_of_operands(const Contract& contract);
/// Sizes, derived values, knobs, flags and type parameters: what expressions may use as values.
std::vector<std::string> names_of_values(const Contract& contract);
/// Every dimension's name that some operand has.
std::vector<std::string> names_of_dimensions(const Contract& contract);

bool contains(const std::vector<std::string>& names, const std::string& name);

}  // namespace assay
