// Relations that outputs must satisfy, by name: what no formula over an output's own dimensions
// says (kernels_under_test/relations.hpp lists them with their roles; docs/judging/relations.md
// derives what each accepts).
//
// To add one: its row in kernels_under_test/relations.hpp, its check in a file here, its row in
// registry.cpp, its rule in oracles/RULES.md, and a test that plants wrong outputs.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oracles/case_judge.hpp"

namespace assay {

/// One line of a value along a dimension: element j lies at base + step j of the arrays. Null e,
/// lo, hi are zero; of integers, `i` is set in place of `v`.
struct Line {
  const Value* value = nullptr;
  int node = -1;  ///< whose value it is, over this chunk
  const Chunk* chunk = nullptr;
  int64_t base = 0;
  int64_t step = 1;
  int64_t n = 0;
  /// The line's coordinates, by dimension of the graph; -1 for dimensions that the value does not
  /// have.
  std::vector<int64_t> at;

  bool integral() const { return value->i != nullptr; }
  __int128 integer(int64_t j) const { return value->i[base + step * j]; }
  bool known(int64_t j) const {
    return value->status == nullptr || value->status[base + step * j] == kKnown;
  }
  double v(int64_t j) const { return value->v[base + step * j]; }
  double e(int64_t j) const { return of(value->e, j); }
  double lo(int64_t j) const { return of(value->lo, j); }
  double hi(int64_t j) const { return of(value->hi, j); }

 private:
  double of(const double* array, int64_t j) const {
    return array == nullptr ? 0 : array[base + step * j];
  }
};

/// One element that a kernel wrote.
struct Got {
  uint64_t bits = 0;
  bool written = false;
};

/// An element that breaks a relation.
struct WrongElement {
  const Tensor* output = nullptr;
  int64_t logical = 0;
  const char* rule = "";
  ElementNote note;  ///< of the watched element
};

/// What a relation may ask of a case, and where it says what is wrong.
class RelationCase {
 public:
  /// `reading`: the one that the state's rows are in.
  RelationCase(CaseState& state, const RelationRoot& root, const Reading& reading = {});

  const Contract& contract() const { return state_.contract; }
  const EvaluationSettings& settings() const { return state_.settings; }
  Tally& tally() { return state_.tally; }

  bool has(std::string_view role) const { return spec_.find(role) != nullptr; }
  /// Null when the contract leaves the role out, or the operand is absent in this case.
  const Tensor* output(std::string_view role) const;
  int64_t number(std::string_view role) const;
  /// The first of its choices when the contract leaves the role out.
  std::string_view choice(std::string_view role) const;
  /// Extent of the dimension that a role names.
  int64_t extent(std::string_view role) const;
  /// The value of a role that varies over no dimension.
  double real(std::string_view role);

  /// Every line of a value along a dimension role.
  void each_line(std::string_view role, std::string_view along,
                 const std::function<void(const Line&)>& visit);
  /// All elements of a value, in its own order of dimensions, as one line.
  void whole(std::string_view role, const std::function<void(const Line&)>& visit);

  /// Elements of an output.
  std::vector<Got> read(const Tensor& output, int64_t first, int64_t count) const;
  /// Logical indices of the output's line that stands beside a line of a value: the coordinates of
  /// the dimensions that both have, and all elements of the one axis that only the output has.
  /// Throws InputError when it has none, or several.
  std::vector<int64_t> beside(const Tensor& output, const Line& line) const;

  /// Counts an element as judged; false (and R1) when it was not written.
  bool judged(const Tensor& output, int64_t logical, const Got& got);
  /// `accepted` and `error` are asked for only where somebody wants to read them.
  void wrong(const Tensor& output, int64_t logical, const char* rule,
             const std::function<std::string()>& accepted,
             const std::function<std::string()>& error);
  /// Nothing is documented of this element.
  void no_bound() { ++state_.tally.verdict.no_bound; }

  /// Is this what an output may hold whose exact value is that of the line's element?
  Decision decide_element(const Tensor& output, uint64_t bits, const Line& line, int64_t j) const;

  const SourceLocation& where() const { return spec_.where; }
  /// In the order in which they were found, each once.
  const std::vector<WrongElement>& wrong_elements() const { return wrong_elements_; }

 private:
  int node(std::string_view role) const { return root_.values.at(std::string(role)); }
  const OracleRole& role(std::string_view name) const { return *spec_.find(name); }

  CaseState& state_;
  const RelationRoot& root_;
  const OracleSpec& spec_;
  const Reading reading_;
  std::set<std::pair<int, int64_t>> wrong_;  ///< position of the output, element
  std::vector<WrongElement> wrong_elements_;
};

/// What a relation checks. What is wrong stays with the case until other readings have had their
/// say; all other counts go to the tally at once.
using RelationCheck = void (*)(RelationCase&);
/// Null for a relation that is read in contracts and judged by nothing.
RelationCheck find_relation(std::string_view name);
/// It compares what a kernel may have computed, so that what is wrong in the plain reading may be
/// right after an overflow, or a flush to 0 (rules R7, R12).
bool compares_enclosures(std::string_view name);

void judge_relation(CaseState& state, const RelationRoot& relation);
/// Some relation of the contract names this output.
bool judged_by_relation(const Contract& contract, const Tensor& output);

// The checks, a file each.
void check_topk(RelationCase& c);
void check_sort(RelationCase& c);
void check_permutation(RelationCase& c);
void check_grouped(RelationCase& c);
void check_bernoulli(RelationCase& c);

}  // namespace assay
