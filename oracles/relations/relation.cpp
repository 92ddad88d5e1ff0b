#include "oracles/relations/relation.hpp"

#include <algorithm>
#include <cmath>

#include "kernels_under_test/relations.hpp"

namespace assay {
namespace {

/// Elements of a value that are evaluated at once.
constexpr int64_t kSlice = int64_t{1} << 16;

}  // namespace

RelationCase::RelationCase(CaseState& state, const RelationRoot& root, const Reading& reading)
    : state_(state),
      root_(root),
      spec_(state.contract.oracles[static_cast<size_t>(root.oracle)]),
      reading_(reading) {}

const Tensor* RelationCase::output(std::string_view name) const {
  const OracleRole* given = spec_.find(name);
  if (given == nullptr) return nullptr;
  const Tensor* tensor = state_.instance.find(given->text);
  return tensor != nullptr && tensor->present ? tensor : nullptr;
}

int64_t RelationCase::number(std::string_view name) const {
  return state_.instance.evaluate(*role(name).expr);
}

std::string_view RelationCase::choice(std::string_view name) const {
  const OracleRole* given = spec_.find(name);
  if (given != nullptr) return given->text;
  return find_role(*find_relation_form(spec_.op), name)->choices[0];
}

int64_t RelationCase::extent(std::string_view name) const {
  const auto& dims = state_.formula.graph.dims;
  const auto found = std::find(dims.begin(), dims.end(), role(name).text);
  return state_.formula.rows.extents()[static_cast<size_t>(found - dims.begin())];
}

double RelationCase::real(std::string_view name) {
  const Node& n = state_.formula.graph.nodes[static_cast<size_t>(node(name))];
  if (!n.dims.empty())
    throw InputError(role(name).where, "'" + std::string(name) + "' varies over a dimension");
  Chunk chunk;
  chunk.low.assign(state_.formula.graph.dims.size(), 0);
  chunk.extent = state_.formula.rows.extents();
  const Value& value = state_.formula.rows.at(node(name), chunk);
  return value.i != nullptr ? static_cast<double>(value.i[0]) : value.v[0];
}

void RelationCase::each_line(std::string_view name, std::string_view along,
                             const std::function<void(const Line&)>& visit) {
  const Graph& graph = state_.formula.graph;
  const Node& n = graph.nodes[static_cast<size_t>(node(name))];
  const auto dim = static_cast<int>(
      std::find(graph.dims.begin(), graph.dims.end(), role(along).text) - graph.dims.begin());
  if (std::find(n.dims.begin(), n.dims.end(), dim) == n.dims.end())
    throw InputError(role(along).where,
                     "'" + role(along).text + "' is no dimension of '" + std::string(name) + "'");
  Chunk chunk;
  chunk.low.assign(graph.dims.size(), 0);
  chunk.extent = state_.formula.rows.extents();
  // Slices of the outermost dimension that is not the line's own.
  int outer = -1;
  for (const int d : n.dims)
    if (outer < 0 && d != dim) outer = d;
  const Grid full = grid_of(n.dims, chunk);
  const int64_t lines = outer < 0 ? 1 : chunk.extent[static_cast<size_t>(outer)];
  const int64_t inner = std::max<int64_t>(1, full.size / std::max<int64_t>(1, lines));
  const int64_t most = std::max<int64_t>(1, kSlice / inner);
  for (int64_t first = 0; first < lines; first += most) {
    if (outer >= 0) {
      chunk.low[static_cast<size_t>(outer)] = first;
      chunk.extent[static_cast<size_t>(outer)] = std::min(most, lines - first);
    }
    const Value& value = state_.formula.rows.at(node(name), chunk);
    Chunk starts = chunk;
    starts.extent[static_cast<size_t>(dim)] = 1;
    const Grid grid = grid_of(n.dims, starts);
    Line line{&value, node(name), &chunk, 0, stride_along(value.grid, dim), 0, {}};
    line.n = chunk.extent[static_cast<size_t>(dim)];
    line.at.assign(graph.dims.size(), -1);
    for (int64_t k = 0; k < grid.size; ++k) {
      line.base = 0;
      int64_t rest = k;
      for (size_t d = grid.dims.size(); d-- > 0;) {
        const int64_t step = rest % grid.extent[d];
        rest /= grid.extent[d];
        line.base += step * stride_along(value.grid, grid.dims[d]);
        line.at[static_cast<size_t>(grid.dims[d])] = grid.dims[d] == dim ? -1 : grid.low[d] + step;
      }
      visit(line);
    }
  }
}

void RelationCase::whole(std::string_view name, const std::function<void(const Line&)>& visit) {
  Chunk chunk;
  chunk.low.assign(state_.formula.graph.dims.size(), 0);
  chunk.extent = state_.formula.rows.extents();
  const Value& value = state_.formula.rows.at(node(name), chunk);
  Line line{&value, node(name), &chunk, 0, 1, value.grid.size, {}};
  line.at.assign(state_.formula.graph.dims.size(), -1);
  visit(line);
}

std::vector<Got> RelationCase::read(const Tensor& output, int64_t first, int64_t count) const {
  const int bytes = byte_size(output.dtype);
  std::vector<uint8_t> bits(static_cast<size_t>(count * bytes));
  std::vector<uint8_t> written(static_cast<size_t>(count));
  if (count > 0) read_held(state_.outputs, output, first, count, bits.data(), written.data());
  std::vector<Got> out;
  for (int64_t k = 0; k < count; ++k)
    out.push_back({packed_bits(bits.data(), k, bytes), written[static_cast<size_t>(k)] != 0});
  return out;
}

std::vector<int64_t> RelationCase::beside(const Tensor& output, const Line& line) const {
  const auto& dims = state_.formula.graph.dims;
  std::vector<int64_t> at(output.shape.size(), 0);
  int free_axis = -1;
  for (size_t axis = 0; axis < output.shape.size(); ++axis) {
    const auto found = std::find(dims.begin(), dims.end(), output.dims[axis]);
    const int64_t own =
        found == dims.end() ? -1 : line.at[static_cast<size_t>(found - dims.begin())];
    if (own >= 0) {
      at[axis] = own;
    } else if (free_axis >= 0) {
      throw InputError(output.spec->where, "'" + output.spec->name +
                                               "' has several dimensions that the relation '" +
                                               spec_.op + "' does not know");
    } else {
      free_axis = static_cast<int>(axis);
    }
  }
  if (free_axis < 0)
    throw InputError(output.spec->where, "'" + output.spec->name +
                                             "' has no dimension of its own for the relation '" +
                                             spec_.op + "'");
  std::vector<int64_t> out;
  for (int64_t k = 0; k < output.shape[static_cast<size_t>(free_axis)]; ++k) {
    at[static_cast<size_t>(free_axis)] = k;
    out.push_back(output.linear(at));
  }
  return out;
}

bool RelationCase::judged(const Tensor& output, int64_t logical, const Got& got) {
  if (got.written) {
    state_.tally.judged(output, 1);
    return true;
  }
  state_.tally.unwritten(output, logical);
  return false;
}

void RelationCase::wrong(const Tensor& output, int64_t logical, const char* rule,
                         const std::function<std::string()>& accepted,
                         const std::function<std::string()>& error) {
  // An element may break a relation in several ways: the first is told.
  if (!wrong_.emplace(output.position, logical).second) return;
  WrongElement element{&output, logical, rule, {}};
  if (state_.tally.watched(output, logical)) element.note = {rule, accepted(), error()};
  wrong_elements_.push_back(std::move(element));
}

Decision RelationCase::decide_element(const Tensor& output, uint64_t bits, const Line& line,
                                      int64_t j) const {
  if (line.integral())
    return to_integer(output.dtype, bits) == line.integer(j) ? Decision::accepted
                                                             : Decision::rejected;
  const Cell cell = cell_of(output.dtype, bits);
  if (was_kept(reading_, state_.settings, cell.value)) return Decision::rejected;
  const auto decision = [&] {
    return decide(output.dtype, cell,
                  margins_of(cell, line.v(j), line.e(j), line.lo(j), line.hi(j)), line.lo(j),
                  line.hi(j));
  };
  if (!reading_.widen) return decision();
  const auto& sets = overflow_sets(state_, line.node, *line.chunk);
  if (sets.empty()) return Decision::rejected;
  const OverflowSet& set = sets[static_cast<size_t>(line.base + line.step * j)];
  if (!holds(set, output.dtype, cell, false)) return Decision::rejected;
  return tells_alone(set, cell, line.v(j), line.e(j)) ? Decision::accepted : decision();
}

namespace {

/// Keeps of `wrong` what another reading of the policies finds wrong too.
std::vector<WrongElement> wrong_again(CaseState& state, const RelationRoot& relation,
                                      RelationCheck check, std::vector<WrongElement> wrong,
                                      const Reading& reading) {
  state.formula.rows.restart(settings_in(reading, state.settings));
  const Tally counted = state.tally;
  RelationCase c(state, relation, reading);
  check(c);
  state.tally = counted;
  state.formula.rows.restart(state.settings);
  std::set<std::pair<int, int64_t>> again;
  for (const WrongElement& element : c.wrong_elements())
    again.emplace(element.output->position, element.logical);
  std::vector<WrongElement> left;
  for (WrongElement& element : wrong) {
    if (again.contains({element.output->position, element.logical}))
      left.push_back(std::move(element));
    else
      accept_reading(state, reading);
  }
  return left;
}

}  // namespace

void judge_relation(CaseState& state, const RelationRoot& relation) {
  const std::string& name = state.contract.oracles[static_cast<size_t>(relation.oracle)].op;
  const RelationCheck check = find_relation(name);
  RelationCase c(state, relation);
  check(c);
  std::vector<WrongElement> wrong = c.wrong_elements();
  if (compares_enclosures(name))
    for (const Reading& reading : other_readings(state))
      if (!wrong.empty()) wrong = wrong_again(state, relation, check, std::move(wrong), reading);
  for (const WrongElement& element : wrong) {
    state.tally.wrong(*element.output, element.logical, element.rule, HUGE_VAL);
    if (!element.note.rule.empty()) state.tally.note = element.note;
  }
}

bool judged_by_relation(const Contract& contract, const Tensor& output) {
  for (const OracleSpec& oracle : contract.oracles)
    for (const OracleRole& role : oracle.roles)
      if (role.expr == nullptr && role.text == output.spec->name &&
          find_role(*find_relation_form(oracle.op), role.name)->form == RoleForm::output)
        return true;
  return false;
}

}  // namespace assay
